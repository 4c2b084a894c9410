//! Any line through the reader of JSON records.
//!
//! Holds: what leaves is finite and in range; an error can be told.

#![no_main]

use geofenced::logic::gnss::record::Record;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| match Record::from_json(data) {
    Ok(record) => {
        assert!(record.accuracy_m.is_none_or(|v| v.is_finite() && v > 0.0));
        assert!(record.speed_mps.is_none_or(|v| v.is_finite() && v >= 0.0));
        assert!(record.heading_deg.is_none_or(|v| (0.0..360.0).contains(&v)));
        if let Ok(at) = record.position {
            assert!(at.lat_deg().abs() <= 90.0 && at.lon_deg().abs() <= 180.0);
        }
    }
    Err(error) => assert!(!error.to_string().is_empty()),
});

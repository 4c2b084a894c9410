//! Any line through the readers of gpsd's JSON.
//!
//! Holds: what leaves is finite and in range; no line of ours that asks can be split in two.

#![no_main]

use geofenced::logic::gnss::gpsd;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Some(gpsd::Said::Device(device)) = gpsd::said(data) {
        let plain = gpsd::watch(None).matches('\n').count();
        let request = gpsd::watch(Some(&device.path));
        assert_eq!(request.matches('\n').count(), plain, "{request:?}");
    }
    for device in [None, Some("/dev/ttyACM0")] {
        let Ok(Some(record)) = gpsd::record(data, device) else { continue };
        assert!(record.accuracy_m.is_none_or(|v| v.is_finite() && v > 0.0));
        assert!(record.speed_mps.is_none_or(|v| v.is_finite() && v >= 0.0));
        assert!(record.heading_deg.is_none_or(|v| (0.0..360.0).contains(&v)));
        assert!(record.altitude_m.is_none_or(f32::is_finite));
        if let Ok(at) = record.position {
            assert!(at.lat_deg().abs() <= 90.0 && at.lon_deg().abs() <= 180.0);
        }
    }
});

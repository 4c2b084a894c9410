//! Durations as people write them: a number and a unit, `"500ms"`, `"2s"`, `"15min"`, `"24h"`.

use crate::units::Span;

/// Units and their nanoseconds.
const UNITS: [(&str, f64); 5] =
    [("ms", 1e6), ("s", 1e9), ("min", 60e9), ("h", 3_600e9), ("d", 86_400e9)];

/// Reads a duration, or says what is wrong with it. A bare `m` could be minutes, months or
/// metres, so it is refused.
pub(super) fn parse_duration(text: &str) -> Result<Span, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = &text[digits.len()..];
    let shown: String = text.chars().take(40).collect();
    if unit == "m" {
        return Err(format!("`{shown}` is unclear: write {digits}min, or {digits}ms"));
    }
    let plain = digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let number = if plain { digits.parse::<f64>().ok() } else { None };
    let nanos = UNITS.iter().find(|(name, _)| *name == unit).map(|(_, nanos)| *nanos);
    match (number, nanos) {
        (Some(number), Some(nanos)) => Ok(Span::from_nanos((number * nanos).round() as i64)),
        _ => Err(format!(
            "`{shown}` is not a duration: write a number and a unit, such as 500ms, 2s, 15min, 24h"
        )),
    }
}

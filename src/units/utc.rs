//! The usual form of a time, `2026-11-30T12:00:00Z` with or without decimals, read at once.
//!
//! Always holds: what it gives is what `jiff` gives for the same text; any other form, and every
//! text that is no time, it leaves to that. Does not know: other offsets, leap seconds.

use super::NANOS_PER_SEC;

/// Years whose every nanosecond is in range, and in which a year that 4 divides is a leap year.
const YEARS: std::ops::Range<i64> = 1970..2100;

/// Days before each month of a year without a leap day, and in the year.
const BEFORE: [i64; 13] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365];

/// Nanoseconds since 1970.
pub(super) fn nanos(text: &[u8]) -> Option<i64> {
    let (civil, rest) = text.split_first_chunk::<19>()?;
    let [_, _, _, _, b'-', _, _, b'-', _, _, b'T', _, _, b':', _, _, b':', _, _] = civil else {
        return None;
    };
    let at = |from: usize, to: usize| number(&civil[from..to]);
    let (year, month, day) = (at(0, 4)?, at(5, 7)?, at(8, 10)?);
    let (hour, minute, second) = (at(11, 13)?, at(14, 16)?, at(17, 19)?);
    let leap = i64::from(year % 4 == 0);
    let before = |month: i64| Some(*BEFORE.get(month as usize)? + leap * i64::from(month > 1));
    let (first, next) = (before(month - 1)?, before(month)?);
    if !YEARS.contains(&year) || day < 1 || day > next - first {
        return None;
    }
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let leap_days = (year - 1969) / 4;
    let days = (year - 1970) * 365 + leap_days + first + day - 1;
    let seconds = ((days * 24 + hour) * 60 + minute) * 60 + second;
    Some(seconds * NANOS_PER_SEC + decimals(rest)?)
}

/// Digits alone.
fn number(text: &[u8]) -> Option<i64> {
    text.iter()
        .try_fold(0, |all, byte| byte.is_ascii_digit().then(|| all * 10 + i64::from(*byte - b'0')))
}

/// What follows the seconds, as nanoseconds: up to nine decimals, and `Z`.
fn decimals(rest: &[u8]) -> Option<i64> {
    let digits = match rest {
        b"Z" => return Some(0),
        [b'.', digits @ .., b'Z'] => digits,
        _ => return None,
    };
    let missing = 9_usize.checked_sub(digits.len()).filter(|missing| *missing < 9)?;
    Some(number(digits)? * 10_i64.pow(missing as u32))
}

//! One TOML value against one shape.
//!
//! Always holds: a value that is returned is in range and finite; a refusal says what would be
//! right. Does not know: keys, files, sections.

use toml::de::DeValue;

use super::Env;
use super::sections::Address;
use crate::units::{EventTime, SourceId, Span};

/// What a value must be.
#[derive(Clone, Copy)]
pub(super) enum Shape {
    /// Any text that is not empty.
    Text,
    /// An id.
    Id,
    /// A path; a leading `$CREDENTIALS_DIRECTORY` is expanded.
    Path,
    /// A list of texts.
    List,
    /// A whole number.
    Count { min: u64, max: u64 },
    /// A finite number, not negative, perhaps not zero either.
    Number { positive: bool },
    /// A duration of at least `min`.
    Duration { min: Span },
    /// A duration longer than nothing, or `"auto"`.
    DurationOrAuto,
    /// A baud rate or `"auto"`.
    BaudOrAuto,
    /// A size in bytes of at least `min`.
    Size { min: u64 },
    /// A time.
    Time,
    /// One of these.
    Choice(&'static [&'static str]),
    /// true or false.
    Flag,
    /// A URL with one of these schemes.
    Url(&'static [&'static str]),
    /// `host:port`.
    Address,
}

/// A value that fits its shape.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Value {
    Text(String),
    List(Vec<String>),
    Count(u64),
    Number(f64),
    Span(Span),
    Auto,
    Bytes(u64),
    Time(EventTime),
    Flag(bool),
}

/// A text that is not what it should be.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{what}; {fix}")]
pub struct TextError {
    /// What is wrong.
    pub what: String,
    /// What would be right.
    pub fix: String,
}

fn wrong<T>(what: impl Into<String>, fix: impl Into<String>) -> Result<T, TextError> {
    Err(TextError { what: what.into(), fix: fix.into() })
}

/// How much of a wrong text is repeated in a message, in characters.
const SAID_CHARS_MAX: usize = 60;

fn said(text: &str) -> String {
    format!("{:?}", text.chars().take(SAID_CHARS_MAX).collect::<String>())
}

/// Units of a duration, longest first, in nanoseconds.
const DURATION_UNITS: [(&str, i64); 6] = [
    ("d", 86_400_000_000_000),
    ("h", 3_600_000_000_000),
    ("min", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
];

/// Reads a duration: whole numbers with a unit (`"500ms"`, `"2s"`, `"15min"`, `"24h"`, `"90d"`),
/// or several one after another (`"1h 30min"`). A bare `m` is refused: it could be either.
pub fn parse_duration(text: &str) -> Result<Span, TextError> {
    const RIGHT: &str =
        r#"write a number and a unit, such as "500ms", "2s", "15min", "24h", "90d""#;
    let not = || format!("{} is not a duration", said(text));
    let mut rest = text.trim();
    let mut total: i64 = 0;
    if rest.is_empty() {
        return wrong(not(), RIGHT);
    }
    while !rest.is_empty() {
        let (digits, after) = split_while(rest, |c| c.is_ascii_digit());
        let (unit, after) = split_while(after.trim_start(), char::is_alphabetic);
        if digits.is_empty() || after.starts_with('.') || unit.is_empty() {
            return wrong(not(), RIGHT);
        }
        if matches!(unit, "m" | "M") {
            return wrong(
                format!("{}: a bare `m` is not a unit", said(text)),
                format!(r#"write "{digits}min" for minutes or "{digits}ms" for milliseconds"#),
            );
        }
        let Some((_, nanos)) = DURATION_UNITS.iter().find(|(name, _)| *name == unit) else {
            return wrong(not(), "the units are us, ms, s, min, h and d");
        };
        let part = digits.parse::<i64>().ok().and_then(|n| n.checked_mul(*nanos));
        match part.and_then(|part| total.checked_add(part)) {
            Some(sum) => total = sum,
            None => return wrong(not(), "it is longer than 292 years"),
        }
        rest = after.trim_start();
    }
    Ok(Span::from_nanos(total))
}

fn split_while(text: &str, keep: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !keep(c)).unwrap_or(text.len()))
}

/// A duration in the largest unit that holds it whole.
pub(super) fn write_duration(span: Span) -> String {
    let nanos = span.nanos();
    // A whole number of days reads better in hours up to a week: "24h".
    let units = DURATION_UNITS.iter().filter(|(u, n)| *u != "d" || nanos > 7 * n);
    let fits = units.clone().find(|(_, n)| nanos != 0 && nanos % n == 0);
    match fits {
        Some((unit, n)) => format!("{}{unit}", nanos / n),
        None => format!("{}us", nanos / 1_000),
    }
}

/// Units of a size, largest first.
const SIZE_UNITS: [(&str, u64); 4] =
    [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];

/// Reads a size in bytes: a whole number with a unit (`"64MiB"`, `"64KiB"`, `"1GiB"`, `"100B"`).
pub fn parse_size(text: &str) -> Result<u64, TextError> {
    let (digits, unit) = split_while(text.trim(), |c| c.is_ascii_digit());
    let unit = unit.trim_start();
    let bytes = SIZE_UNITS
        .iter()
        .find(|(name, _)| *name == unit)
        .and_then(|(_, n)| digits.parse::<u64>().ok()?.checked_mul(*n))
        // SQLite and TOML both count in i64.
        .filter(|bytes| i64::try_from(*bytes).is_ok());
    let Some(bytes) = bytes else {
        let fix = match unit {
            "KB" | "kB" | "K" | "k" | "kb" if !digits.is_empty() => {
                format!("write \"{digits}KiB\"")
            }
            "MB" | "M" | "mb" | "m" if !digits.is_empty() => format!("write \"{digits}MiB\""),
            "GB" | "G" | "gb" if !digits.is_empty() => format!("write \"{digits}GiB\""),
            _ => r#"write a number and B, KiB, MiB or GiB, such as "64MiB""#.to_owned(),
        };
        return wrong(format!("{} is not a size", said(text)), fix);
    };
    Ok(bytes)
}

/// A size in the largest unit that holds it whole.
pub(super) fn write_size(bytes: u64) -> String {
    let fits = SIZE_UNITS.iter().find(|(_, n)| bytes != 0 && bytes.is_multiple_of(*n));
    let (unit, n) = fits.unwrap_or(&("B", 1));
    format!("{}{unit}", bytes / n)
}

/// Reads `host:port`; an IPv6 number is written in brackets.
pub(super) fn parse_address(text: &str) -> Result<Address, TextError> {
    const RIGHT: &str = r#"write "host:port", such as "127.0.0.1:2947""#;
    let not = format!("{} is not an address", said(text));
    let Some((host, port)) = text.rsplit_once(':') else {
        return wrong(format!("{not}: it has no port"), RIGHT);
    };
    let inner = host.strip_prefix('[').and_then(|h| h.strip_suffix(']'));
    let host = match inner {
        Some(inner) => inner,
        None if host.contains(':') => {
            return wrong(not, "an IPv6 number stands in brackets: \"[::1]:2947\"");
        }
        None => host,
    };
    if host.is_empty() || host.contains(|c: char| c.is_whitespace() || "[]/@".contains(c)) {
        return wrong(format!("{not}: its host is not a host"), RIGHT);
    }
    match port.parse::<u16>() {
        Ok(port) if port > 0 => Ok(Address { host: host.to_owned(), port }),
        _ => wrong(format!("{} is not a port", said(port)), "a port is 1 to 65535"),
    }
}

fn check_url(text: &str, schemes: &[&str]) -> Result<(), TextError> {
    let not = format!("{} is not a URL", said(text));
    let right = format!("write it as {}://host/path", schemes[0]);
    let Some((scheme, rest)) = text.split_once("://") else {
        return wrong(not, right);
    };
    if !schemes.contains(&scheme) {
        return wrong(
            format!("{} is not a scheme for this", said(scheme)),
            format!("use one of {}", schemes.join(", ")),
        );
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return wrong(
            "the URL carries a user name or password",
            "secrets come by file: use token_file",
        );
    }
    if text.contains(|c: char| c.is_whitespace() || c.is_control()) || authority.is_empty() {
        return wrong(format!("{not}: it has no host"), right);
    }
    let port = match authority.rsplit_once(']') {
        Some((_, after)) => after.strip_prefix(':'),
        None => authority.split_once(':').map(|(_, port)| port),
    };
    let host = authority.strip_suffix(&format!(":{}", port.unwrap_or_default()));
    if host.unwrap_or(authority).is_empty() {
        return wrong(format!("{not}: it has no host"), right);
    }
    match port.map(str::parse::<u16>) {
        None | Some(Ok(1..)) => Ok(()),
        Some(_) => wrong(
            format!("{} is not a port", said(port.unwrap_or_default())),
            "a port is 1 to 65535",
        ),
    }
}

/// The variable systemd sets for `LoadCredential=`.
pub(super) const CREDENTIALS: &str = "CREDENTIALS_DIRECTORY";

fn read_path(text: &str, env: &Env) -> Result<String, TextError> {
    if text.is_empty() || text.contains('\0') {
        return wrong("is empty", "write a path");
    }
    let Some(rest) = text.strip_prefix('$') else {
        return Ok(text.to_owned());
    };
    let (name, tail) = split_while(rest, |c| c.is_ascii_alphanumeric() || c == '_');
    if name != CREDENTIALS {
        return wrong(
            format!("${name} is not expanded"),
            format!("write the path out; only ${CREDENTIALS} is known"),
        );
    }
    // Unset in a shell: the text stays, `config check` by hand must not fail on it.
    Ok(env.get(CREDENTIALS).map_or_else(|| text.to_owned(), |dir| format!("{dir}{tail}")))
}

fn found(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => said(text),
        DeValue::Integer(n) => n.to_string(),
        DeValue::Float(n) => n.to_string(),
        DeValue::Boolean(b) => b.to_string(),
        DeValue::Datetime(t) => t.to_string(),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}

fn integer(value: &DeValue<'_>) -> Option<i64> {
    let DeValue::Integer(n) = value else { return None };
    i64::from_str_radix(&n.as_str().replace('_', ""), n.radix()).ok()
}

fn number(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Float(n) => n.as_str().replace('_', "").parse().ok(),
        _ => integer(value).map(|n| n as f64),
    }
}

/// Reads one value against its shape.
pub(super) fn read(shape: Shape, value: &DeValue<'_>, env: &Env) -> Result<Value, TextError> {
    match shape {
        Shape::Count { min, max } => read_count(value, min, max),
        Shape::Number { positive } => read_number(value, positive),
        Shape::BaudOrAuto => read_baud(value),
        Shape::Flag => match value {
            DeValue::Boolean(flag) => Ok(Value::Flag(*flag)),
            _ => wrong(format!("{} is not true or false", found(value)), "write true or false"),
        },
        Shape::List => read_list(value),
        Shape::Time if matches!(value, DeValue::Datetime(_)) => read_time(&found(value)),
        _ => match value {
            DeValue::String(text) => read_text(shape, text, env),
            _ => wrong(format!("{} is not text", found(value)), right_text(shape)),
        },
    }
}

fn right_text(shape: Shape) -> String {
    match shape {
        Shape::Duration { .. } | Shape::DurationOrAuto => {
            r#"a duration is text with its unit, such as "2s""#.to_owned()
        }
        Shape::Size { .. } => r#"a size is text with its unit, such as "64MiB""#.to_owned(),
        Shape::Time => r#"write a time as "2026-01-01T00:00:00Z""#.to_owned(),
        Shape::Choice(names) => one_of(names),
        _ => "write it in quotes".to_owned(),
    }
}

fn one_of(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|n| format!("{n:?}")).collect();
    match quoted.as_slice() {
        [one] => format!("the only value is {one}"),
        _ => format!("it is one of {}", quoted.join(", ")),
    }
}

fn read_text(shape: Shape, text: &str, env: &Env) -> Result<Value, TextError> {
    match shape {
        Shape::Id => match SourceId::new(text) {
            Ok(_) => Ok(Value::Text(text.to_owned())),
            Err(e) => wrong(e.to_string(), "an id is 1 to 128 bytes of printable text without /"),
        },
        Shape::Path => Ok(Value::Text(read_path(text, env)?)),
        Shape::Duration { min } => match parse_duration(text)? {
            span if span < min => wrong(
                format!("{} is too short", said(text)),
                format!("it is at least \"{}\"", write_duration(min)),
            ),
            span => Ok(Value::Span(span)),
        },
        Shape::DurationOrAuto if text == "auto" => Ok(Value::Auto),
        Shape::DurationOrAuto => match parse_duration(text) {
            Ok(Span::ZERO) => wrong("\"0s\" is too short", r#"write a duration or "auto""#),
            Ok(span) => Ok(Value::Span(span)),
            Err(e) => wrong(e.what, format!(r#"{}, or "auto""#, e.fix)),
        },
        Shape::Size { min } => match parse_size(text)? {
            bytes if bytes < min => wrong(
                format!("{} is too small", said(text)),
                format!("it is at least \"{}\"", write_size(min)),
            ),
            bytes => Ok(Value::Bytes(bytes)),
        },
        Shape::Time => read_time(text),
        Shape::Choice(names) if names.contains(&text) => Ok(Value::Text(text.to_owned())),
        Shape::Choice(names) => wrong(format!("{} is not known", said(text)), one_of(names)),
        Shape::Url(schemes) => check_url(text, schemes).map(|()| Value::Text(text.to_owned())),
        Shape::Address => parse_address(text).map(|_| Value::Text(text.to_owned())),
        _ if text.trim().is_empty() => wrong("is empty", "write something, or leave the key out"),
        _ => Ok(Value::Text(text.to_owned())),
    }
}

fn read_time(text: &str) -> Result<Value, TextError> {
    match text.parse::<EventTime>() {
        Ok(time) => Ok(Value::Time(time)),
        Err(_) => {
            wrong(format!("{} is not a time", said(text)), r#"write it as "2026-01-01T00:00:00Z""#)
        }
    }
}

fn read_count(value: &DeValue<'_>, min: u64, max: u64) -> Result<Value, TextError> {
    let right = if min == max {
        format!("this release knows only {min}")
    } else {
        format!("write a whole number from {min} to {max}")
    };
    match integer(value).and_then(|n| u64::try_from(n).ok()) {
        Some(n) if (min..=max).contains(&n) => Ok(Value::Count(n)),
        _ if integer(value).is_some() => wrong(format!("{} is out of range", found(value)), right),
        _ => wrong(format!("{} is not a whole number", found(value)), right),
    }
}

fn read_number(value: &DeValue<'_>, positive: bool) -> Result<Value, TextError> {
    let right = if positive { "write a number above 0" } else { "write a number of 0 or more" };
    match number(value) {
        Some(n) if n.is_finite() && (n > 0.0 || n == 0.0 && !positive) => Ok(Value::Number(n)),
        Some(_) => wrong(format!("{} is out of range", found(value)), right),
        None => wrong(format!("{} is not a number", found(value)), right),
    }
}

fn read_baud(value: &DeValue<'_>) -> Result<Value, TextError> {
    match (value, integer(value)) {
        (DeValue::String(text), _) if text == "auto" => Ok(Value::Auto),
        // 50 is the slowest rate Linux names, 4,000,000 the fastest.
        (_, Some(n @ 50..=4_000_000)) => Ok(Value::Count(n as u64)),
        _ => wrong(
            format!("{} is not a baud rate", found(value)),
            r#"write a number such as 9600 or 115200, or "auto""#,
        ),
    }
}

fn read_list(value: &DeValue<'_>) -> Result<Value, TextError> {
    const RIGHT: &str = r#"write a list of texts: ["…", "…"]"#;
    let DeValue::Array(items) = value else {
        return wrong(format!("{} is not a list", found(value)), RIGHT);
    };
    let mut list = Vec::with_capacity(items.len());
    for item in items {
        match item.get_ref() {
            DeValue::String(text) if !text.trim().is_empty() => list.push(text.to_string()),
            other => return wrong(format!("{} in it is not a text", found(other)), RIGHT),
        }
    }
    if list.is_empty() { wrong("is empty", RIGHT) } else { Ok(Value::List(list)) }
}

/// A value as TOML on one line.
pub(super) fn write(value: &Value) -> String {
    match value {
        Value::Text(text) => quote(text),
        Value::List(items) => {
            let items: Vec<String> = items.iter().map(|i| quote(i)).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Count(n) => n.to_string(),
        Value::Number(n) => n.to_string(),
        Value::Span(span) => format!("\"{}\"", write_duration(*span)),
        Value::Auto => "\"auto\"".to_owned(),
        Value::Bytes(bytes) => format!("\"{}\"", write_size(*bytes)),
        Value::Time(time) => format!("\"{time}\""),
        Value::Flag(flag) => flag.to_string(),
    }
}

fn quote(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

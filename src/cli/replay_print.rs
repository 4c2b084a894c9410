//! How `replay` prints events and fixes: JSON lines, CloudEvents, CSV.

use serde_json::json;

use super::CliError;
use super::Exit;
use super::out::Out;
use super::replay::{Format, Print};
use crate::logic::engine::{FixReport, Step};
use crate::logic::event::Event;
use crate::logic::gnss::FixQuality;

/// Columns of an event; the rest is in the other formats.
const EVENT_COLUMNS: [&str; 18] = [
    "seq",
    "id",
    "kind",
    "asset",
    "layer",
    "zone",
    "inside",
    "at",
    "not_before",
    "not_after",
    "confirmed_at",
    "certainty",
    "cause",
    "visit",
    "duration_s",
    "lat",
    "lon",
    "accuracy_m",
];

/// Columns of a fix, all of them (DESIGN §7).
const FIX_COLUMNS: [&str; 11] = [
    "asset",
    "time",
    "lat",
    "lon",
    "accuracy_m",
    "speed_mps",
    "heading_deg",
    "quality",
    "time_quality",
    "usable",
    "reason",
];

/// Prints what comes of steps.
pub(super) struct Printer {
    print: Print,
    format: Format,
    out: Out,
    events: u64,
}

impl Printer {
    pub(super) fn new(print: Print, format: Format, out: Out) -> Self {
        Self { print, format, out, events: 0 }
    }

    /// The first line, where the format has one.
    pub(super) fn header(&mut self) -> Result<(), CliError> {
        match (self.format, self.print) {
            (Format::Csv, Print::Events) => self.row(&EVENT_COLUMNS.map(str::to_owned)),
            (Format::Csv, Print::Fixes) => self.row(&FIX_COLUMNS.map(str::to_owned)),
            _ => Ok(()),
        }
    }

    /// Whatever of a step was asked for.
    pub(super) fn step(&mut self, step: &Step) -> Result<(), CliError> {
        self.events += step.events.len() as u64;
        match self.print {
            Print::Events => step.events.iter().try_for_each(|event| self.event(event)),
            Print::Fixes => step.fixes.iter().try_for_each(|fix| self.fix(fix)),
        }
    }

    /// Hands over the rest; gives the number of events.
    pub(super) fn finish(self) -> Result<u64, CliError> {
        self.out.finish()?;
        Ok(self.events)
    }

    fn event(&mut self, event: &Event) -> Result<(), CliError> {
        match self.format {
            Format::Jsonl => self.out.line(&event.to_json()),
            Format::Cloudevents => self.out.line(&event.to_cloudevent().to_string()),
            Format::Csv => self.row(&columns(&serde_json::to_value(event).map_err(own_bug)?)),
        }
    }

    fn fix(&mut self, report: &FixReport) -> Result<(), CliError> {
        let fix = &report.fix;
        let position = fix.position;
        let number = |value: Option<f32>| {
            value.map_or(serde_json::Value::Null, |v| {
                ((f64::from(v) * 100.0).round() / 100.0).into()
            })
        };
        let mut record = json!({
            "asset": report.asset, "time": fix.time,
            "lat": position.lat_deg(), "lon": position.lon_deg(),
            "accuracy_m": (fix.accuracy_m * 100.0).round() / 100.0,
            "speed_mps": number(fix.speed_mps), "heading_deg": number(fix.heading_deg),
            "quality": fix.quality, "time_quality": fix.time_quality,
            "usable": report.reason.is_none() && fix.quality == FixQuality::Measured,
            "reason": report.reason,
        });
        if self.format == Format::Csv {
            let row: Vec<String> = FIX_COLUMNS.iter().map(|key| plain(&record[*key])).collect();
            return self.row(&row);
        }
        if let Some(object) = record.as_object_mut() {
            object.retain(|_, value| !value.is_null());
        }
        self.out.line(&record.to_string())
    }

    fn row(&mut self, row: &[String]) -> Result<(), CliError> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(row).map_err(own_bug)?;
        let bytes = writer.into_inner().map_err(own_bug)?;
        self.out.text(&String::from_utf8(bytes).map_err(own_bug)?)
    }
}

fn own_bug(error: impl std::fmt::Display) -> CliError {
    CliError::new(Exit::Software, format!("cannot write a record: {error}"))
}

/// An event's columns out of its flat record.
fn columns(event: &serde_json::Value) -> Vec<String> {
    let of = |key: &&str| match *key {
        "lat" | "lon" | "accuracy_m" => plain(&event["position"][*key]),
        key => plain(&event[key]),
    };
    EVENT_COLUMNS.iter().map(of).collect()
}

/// A JSON value as a cell.
fn plain(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::Null => String::new(),
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

//! Log lines on standard error: for the journal, for a terminal, or plain.
//!
//! Always holds: a repeat is folded and a line over the hour's limit is dropped, and both are
//! counted and said; a line is one line, whatever is in it. Sole user of `tracing-subscriber`.
//! Does not know: the clock, which is an argument.

use std::fmt::{self, Write as _};
use std::io::{self, IsTerminal as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::sync::{Arc, Mutex, PoisonError};

use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;

use super::Verbosity;
use super::out::{self, Colour, paint};
use crate::logic::config::{Log, LogLevel};
use crate::units::{BootTime, Span};

/// The window of `max_lines_per_hour`.
const HOUR: Span = Span::from_secs(3600);

/// How a line looks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Look {
    /// `<6>message`: the journal has the time and wants the priority.
    Journal,
    /// Seconds since the start, level, message.
    Plain {
        /// With colour.
        colour: bool,
    },
}

/// Folds repeats and holds the hour's limit.
#[derive(Debug)]
struct Limiter {
    max_lines: u32,
    /// When the running hour began.
    since: Option<BootTime>,
    lines: u32,
    dropped: u64,
    last: String,
    repeats: u64,
}

impl Limiter {
    fn new(max_lines: u32) -> Self {
        Self { max_lines, since: None, lines: 0, dropped: 0, last: String::new(), repeats: 0 }
    }

    /// The lines to write for one that comes now.
    fn take(&mut self, now: BootTime, level: Level, line: &str) -> Vec<(Level, String)> {
        let mut due = Vec::new();
        if self.since.is_none_or(|since| now - since >= HOUR) {
            due.extend(self.close());
            (self.since, self.lines) = (Some(now), 0);
        }
        if line == self.last {
            self.repeats += 1;
            return due;
        }
        due.extend(self.fold());
        if self.lines >= self.max_lines {
            if self.dropped == 0 {
                let note = format!("{} lines this hour: more are dropped and counted", self.lines);
                due.push((Level::WARN, note));
            }
            self.dropped += 1;
            // A dropped line is not the last one seen: its repeats are dropped lines as well.
            self.last.clear();
            return due;
        }
        self.lines += 1;
        line.clone_into(&mut self.last);
        due.push((level, line.to_owned()));
        due
    }

    /// What is owed for folded repeats.
    fn fold(&mut self) -> Option<(Level, String)> {
        let repeats = std::mem::take(&mut self.repeats);
        (repeats > 0).then(|| (Level::INFO, format!("(the last line came {repeats} times more)")))
    }

    /// What is owed at the end of an hour, or of the process.
    fn close(&mut self) -> Vec<(Level, String)> {
        let dropped = std::mem::take(&mut self.dropped);
        let note = (dropped > 0).then(|| {
            let limit = self.max_lines;
            (Level::WARN, format!("{dropped} lines dropped, over max_lines_per_hour = {limit}"))
        });
        self.fold().into_iter().chain(note).collect()
    }
}

/// The log of this process, held until it ends: dropping it says what is still owed.
#[must_use = "dropping it at once says what is owed before anything was logged"]
pub struct Logger {
    sink: Arc<Sink>,
}

impl fmt::Debug for Logger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Logger").finish_non_exhaustive()
    }
}

impl Logger {
    /// Lines written in the running hour, for status.
    pub fn lines_this_hour(&self) -> u32 {
        self.sink.limiter.lock().unwrap_or_else(PoisonError::into_inner).lines
    }
}

impl Drop for Logger {
    fn drop(&mut self) {
        let due = self.sink.limiter.lock().unwrap_or_else(PoisonError::into_inner).close();
        self.sink.write(&due);
    }
}

struct Sink {
    look: Look,
    now: fn() -> BootTime,
    start: BootTime,
    limiter: Mutex<Limiter>,
}

impl Sink {
    fn write(&self, lines: &[(Level, String)]) {
        let since_start = (self.now)() - self.start;
        let mut text = String::new();
        for (level, line) in lines {
            text.push_str(&render(self.look, since_start, *level, line));
            text.push('\n');
        }
        // A log that cannot be written is no reason to stop.
        drop(io::stderr().lock().write_all(text.as_bytes()));
    }
}

impl<S: Subscriber> Layer<S> for SinkLayer {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut line = Line::default();
        event.record(&mut line);
        let level = *event.metadata().level();
        let now = (self.0.now)();
        let mut limiter = self.0.limiter.lock().unwrap_or_else(PoisonError::into_inner);
        let due = limiter.take(now, level, &line.finish());
        // Written under the lock, so that lines keep the order the limiter saw.
        self.0.write(&due);
    }
}

/// [`Sink`] as a layer: the trait is foreign and the sink is shared.
struct SinkLayer(Arc<Sink>);

/// One event as one line: its message, then `name=value`.
#[derive(Default)]
struct Line {
    message: String,
    fields: String,
}

impl Line {
    fn finish(self) -> String {
        let mut line = self.message;
        line.push_str(&self.fields);
        // A device name or a server's answer must not forge a line or a terminal's escape.
        line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
    }
}

impl Visit for Line {
    fn record_str(&mut self, field: &Field, value: &str) {
        let written = if field.name() == "message" {
            self.message.write_str(value)
        } else {
            write!(self.fields, " {}={value}", field.name())
        };
        written.expect("a String takes all");
    }
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.record_str(field, &format!("{value:?}"));
    }
}

fn render(look: Look, since_start: Span, level: Level, line: &str) -> String {
    match look {
        Look::Journal => format!("<{}>{line}", priority(level)),
        Look::Plain { colour } => {
            let time = paint(Colour::Dim, &format!("{:>8.1}s", since_start.secs_f64()), colour);
            let (name, shade) = match level {
                Level::ERROR => ("error", Colour::Red),
                Level::WARN => ("warn ", Colour::Yellow),
                Level::INFO => ("info ", Colour::Green),
                Level::DEBUG => ("debug", Colour::Dim),
                Level::TRACE => ("trace", Colour::Dim),
            };
            format!("{time} {} {line}", paint(shade, name, colour))
        }
    }
}

/// sd-daemon(3): `<N>` at the start of a line is its priority.
fn priority(level: Level) -> u8 {
    match level {
        Level::ERROR => 3,
        Level::WARN => 4,
        Level::INFO => 6,
        Level::DEBUG | Level::TRACE => 7,
    }
}

fn filter(level: LogLevel, verbosity: Verbosity) -> LevelFilter {
    let base = match level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    let asked = match verbosity.verbose {
        0 => LevelFilter::OFF,
        1 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    base.max(asked)
}

/// systemd.exec(5): `JOURNAL_STREAM` is `device:inode` of the journal's stream; it is ours only
/// if standard error is that very stream (a child may have been redirected).
fn is_journal(variable: Option<&str>, stderr: Option<(u64, u64)>) -> bool {
    let (Some(variable), Some((device, inode))) = (variable, stderr) else { return false };
    variable == format!("{device}:{inode}")
}

/// Starts logging. A second call keeps the first one's destination.
pub fn init(log: &Log, verbosity: Verbosity, now: fn() -> BootTime) -> Logger {
    let variable = std::env::var("JOURNAL_STREAM").ok();
    let stderr = std::fs::metadata("/proc/self/fd/2").ok().map(|m| (m.dev(), m.ino()));
    let look = if is_journal(variable.as_deref(), stderr) {
        Look::Journal
    } else {
        Look::Plain { colour: io::stderr().is_terminal() && out::colour_on_stderr() }
    };
    let limiter = Mutex::new(Limiter::new(log.max_lines_per_hour));
    let sink = Arc::new(Sink { look, now, start: now(), limiter });
    let layer = SinkLayer(Arc::clone(&sink)).with_filter(filter(log.level, verbosity));
    // Fails only when a subscriber is already there, as under a test that started one.
    drop(tracing_subscriber::registry().with(layer).try_init());
    Logger { sink }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: i64) -> BootTime {
        BootTime::from_nanos(0) + Span::from_secs(secs)
    }

    /// What comes out for lines at seconds, with a limit of 3 an hour.
    fn check(lines: &[(i64, &str)], expected: &[&str]) {
        let mut limiter = Limiter::new(3);
        let mut written: Vec<String> = Vec::new();
        for (secs, line) in lines {
            written.extend(limiter.take(at(*secs), Level::INFO, line).into_iter().map(|l| l.1));
        }
        written.extend(limiter.close().into_iter().map(|l| l.1));
        assert_eq!(written, expected);
    }

    #[test]
    fn repeats_are_folded_and_said() {
        check(
            &[(0, "a"), (1, "a"), (2, "a"), (3, "b")],
            &["a", "(the last line came 2 times more)", "b"],
        );
        check(&[(0, "a"), (1, "a")], &["a", "(the last line came 1 times more)"]);
    }

    #[test]
    fn every_dropped_line_is_counted_and_said() {
        let lines = [(0, "a"), (1, "b"), (2, "c"), (3, "d"), (4, "d"), (5, "e"), (3601, "f")];
        check(
            &lines,
            &[
                "a",
                "b",
                "c",
                "3 lines this hour: more are dropped and counted",
                "3 lines dropped, over max_lines_per_hour = 3",
                "f",
            ],
        );
    }

    #[test]
    fn lines_look_as_their_reader_wants() {
        let span = Span::from_millis(1500);
        let plain = Look::Plain { colour: false };
        assert_eq!(render(Look::Journal, span, Level::WARN, "x"), "<4>x");
        assert_eq!(render(plain, span, Level::ERROR, "x"), "     1.5s error x");
        assert!(is_journal(Some("8:42"), Some((8, 42))));
        for (variable, stderr) in [(None, Some((8, 42))), (Some("8:42"), Some((8, 43)))] {
            assert!(!is_journal(variable, stderr));
        }
    }

    #[test]
    fn verbosity_only_adds() {
        let v = |verbose| Verbosity { verbose };
        assert_eq!(filter(LogLevel::Warn, v(0)), LevelFilter::WARN);
        assert_eq!(filter(LogLevel::Warn, v(1)), LevelFilter::DEBUG);
        assert_eq!(filter(LogLevel::Trace, v(1)), LevelFilter::TRACE);
    }

    #[test]
    fn a_line_is_one_line() {
        let line = Line { message: "a\nb".into(), fields: " c=\u{1b}[31m".into() };
        assert_eq!(line.finish(), "a b c= [31m");
    }
}

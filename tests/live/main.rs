//! The running daemon: the real binary on a real pty, a real server, real signals.
//!
//! Short runs by default; `GEOFENCED_LONG=1` makes the real-time drive ten minutes long.

#![expect(clippy::print_stdout, reason = "a test tells what it measured or why it was skipped")]
#![expect(clippy::unwrap_used, reason = "a test ends at the first thing that is not as expected")]

mod asking;
mod checkpoint;
mod demo;
mod drive;
mod equality;
mod harness;
mod kill;
mod peers;
mod port;
mod refusal;
mod segments;
mod supervision;
mod wire;

//! Floor 2: the outside, one file per kind of it.
//!
//! Always holds: whatever the world does comes back as a value or an error with words in it.
//! Does not know: the store, or what anything decided means.

mod backoff;
pub mod child;
pub mod clock;
pub mod control;
pub mod files;
pub mod gpsd;
pub mod http;
mod lines;
pub mod net;
pub mod pty;
pub mod receiver;
pub mod segments;
pub mod serial;
pub mod source;
pub mod systemd;
pub mod trackers;

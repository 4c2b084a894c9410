//! Any life of one asset with a serial, a network and a recorded source, through trust and order.
//!
//! An input is four bytes a stamp, wake or end; `tests/fleet/bytes.rs` says what they are and what
//! must hold, and runs random ones in every `cargo test`.

#![no_main]

#[path = "../../tests/fleet/bytes.rs"]
mod bytes;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| bytes::live(data));

//! Simulated drives: a vehicle, its receiver, and the truth to hold the answers against.
//!
//! Always holds: chance comes from a seed, and the same seed gives the same drive, epochs and text
//! on every machine (INV-7). Does not know: engines, events, files, clocks.
//!
//! | file | what |
//! |---|---|
//! | `chance` | numbers from a seed |
//! | `drive` | where the vehicle truly is |
//! | `route` | drives through and past zones |
//! | `receiver` | what a receiver says of a drive: noise, outliers, outages, clock faults |
//! | `scenario` | a route and a receiver that belong together |
//! | `truth` | when boundaries were truly crossed |
//! | `sentences`, `rows` | epochs as NMEA, as CSV |

pub mod chance;
pub mod drive;
pub mod receiver;
pub mod route;
pub mod rows;
pub mod scenario;
pub mod sentences;
pub mod truth;

#[cfg(test)]
mod tests;

//! The cases of the field as timelines through the real engine and the real store: each test
//! names its case and the rule it holds.

#![expect(clippy::unwrap_used, reason = "a test ends at the first thing that is not as expected")]

#[path = "field/boundary.rs"]
mod boundary;
#[path = "field/chance.rs"]
mod chance;
#[path = "field/feeds.rs"]
mod feeds;
#[expect(dead_code, reason = "the fleet that memory does not hold needs more of it")]
#[path = "field/harness.rs"]
mod harness;
#[path = "field/ledger.rs"]
mod ledger;
#[path = "field/receiver.rs"]
mod receiver;
#[path = "field/restart.rs"]
mod restart;
#[path = "field/stamps.rs"]
mod stamps;
#[path = "field/standby.rs"]
mod standby;
#[path = "field/timeline.rs"]
mod timeline;
#[path = "field/visits.rs"]
mod visits;
#[path = "field/zones.rs"]
mod zones;

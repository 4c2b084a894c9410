//! Floor 1: every decision. No I/O, no clock, no tokio, no locks, no logging: time, chance and
//! bytes come in as arguments, values come out.

pub mod config;
pub mod crossing;
pub mod engine;
pub mod event;
pub mod geometry;
pub mod gnss;
pub mod group;
pub mod hash;
pub mod health;
pub mod latency;
pub mod lines;
pub mod order;
pub mod recorder;
pub mod simulate;
pub mod uplink;
pub mod zones;

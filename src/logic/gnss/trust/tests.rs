//! Timelines of the clock-trust machine.

//! Collects arguments, calls `cli`, returns the exit code.

fn main() {}

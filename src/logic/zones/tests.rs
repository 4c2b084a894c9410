//! Tests of reading layers.

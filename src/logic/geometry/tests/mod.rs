//! Tests of the geometry.

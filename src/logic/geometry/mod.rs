//! Shapes on the ground: signed distance in metres, half-open membership, an index of many.
//!
//! Always holds: edges are straight in longitude/latitude (RFC 7946); a boundary point belongs to
//! exactly one of two neighbours; the index answers as the naive twin does (INV-6).
//! Does not know: zones' names and rules, votes, time.

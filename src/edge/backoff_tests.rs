//! What is said of a source that comes and goes, and how long it is left alone.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use tokio::sync::mpsc;

use super::*;
use crate::edge::clock;

/// What a life of a source is like.
enum Life {
    Refused,
    Empty,
    Useful,
}

/// Lives in turn, and what is said of each: `+` for Up, `-` for Down.
fn check(lives: &[(Life, &str)]) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (events, mut told) = mpsc::channel(16);
        let outlet = Outlet::new(0, events, Arc::new(AtomicUsize::new(0)));
        let min = Span::from_nanos(1000);
        let mut retry = Retry::new(min, min, || 0.5);
        for (ix, (life, expected)) in lives.iter().enumerate() {
            if !matches!(life, Life::Refused) {
                retry.opened(&outlet).await.unwrap();
            }
            if matches!(life, Life::Useful) {
                retry.useful(&outlet).await.unwrap();
                retry.useful(&outlet).await.unwrap();
            }
            let why = if matches!(life, Life::Refused) { "refused" } else { "closed" };
            retry.failed(&outlet, why.to_owned()).await.unwrap();
            let mut said = String::new();
            while let Ok(event) = told.try_recv() {
                said.push(if event.what == Happened::Up { '+' } else { '-' });
            }
            assert_eq!(said, *expected, "life {ix}");
        }
    });
}

#[test]
fn one_reason_is_said_once() {
    use Life::{Empty, Refused, Useful};
    check(&[(Refused, "-"), (Refused, ""), (Useful, "+-"), (Refused, "-"), (Refused, "")]);
    check(&[(Useful, "+-"), (Useful, "+-"), (Useful, "+-"), (Useful, "+-")]);
    check(&[
        (Empty, "+-"),
        (Empty, "+-"),
        (Empty, "+-"),
        (Empty, ""),
        (Refused, "-"),
        (Empty, "-"),
    ]);
    check(&[
        (Empty, "+-"),
        (Empty, "+-"),
        (Empty, "+-"),
        (Empty, ""),
        (Useful, "+-"),
        (Empty, "+-"),
    ]);
}

#[test]
fn waits_double_up_to_the_bound_and_shrink_after_data_only() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (events, _told) = mpsc::channel(64);
        let outlet = Outlet::new(0, events, Arc::new(AtomicUsize::new(0)));
        let (min, max) = (Span::from_millis(4), Span::from_millis(12));
        let mut retry = Retry::new(min, max, || 1.0);
        for (useful, at_least) in [(false, 4), (false, 8), (false, 12), (false, 12), (true, 4)] {
            retry.opened(&outlet).await.unwrap();
            if useful {
                retry.useful(&outlet).await.unwrap();
            }
            let start = clock::boot_now();
            retry.failed(&outlet, "closed".to_owned()).await.unwrap();
            let took = clock::boot_now() - start;
            assert!(took >= Span::from_millis(at_least), "{took:?} for {at_least} ms");
        }
    });
}

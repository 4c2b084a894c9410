//! Trying again: how long to wait, what to say meanwhile. One [`Retry`] per source.
//!
//! Always holds: between two tries lies a wait, whatever failed and however fast; it doubles up to
//! its bound, with chance in it so that a fleet does not come back as one; it shrinks only after
//! useful data, never because something opened. One reason is said once, not at every try.
//! Does not know: what is tried.
//!
//! Use: `opened` when it is open, `useful` whenever something came over it, `failed` when it ended
//! or did not open; `failed` waits.

use crate::edge::source::{Closed, Happened, Outlet};
use crate::units::Span;

/// The first wait: back within half a second of a loose plug or a restarted peer.
pub(super) const RETRY_MIN: Span = Span::from_millis(250);
/// The longest: what is absent for a day costs six tries a minute.
pub(super) const RETRY_MAX: Span = Span::from_secs(10);

/// Openings in a row that gave nothing before `Up` waits for data: a peer that takes us and hangs
/// up at once must not fill the log.
const EMPTY_MAX: u32 = 3;

/// The state of trying one source again and again.
pub(super) struct Retry<C> {
    min: Span,
    max: Span,
    wait: Span,
    chance: C,
    said: Option<String>,
    open: bool,
    had_data: bool,
    empty: u32,
}

impl<C: FnMut() -> f64> Retry<C> {
    /// Waits from `min` to `max`; `chance` gives fractions in 0..1.
    pub(super) fn new(min: Span, max: Span, chance: C) -> Self {
        let (said, open, had_data, empty) = (None, false, false, 0);
        Self { min, max, wait: min, chance, said, open, had_data, empty }
    }

    /// It is open.
    pub(super) async fn opened(&mut self, outlet: &Outlet) -> Result<(), Closed> {
        if std::mem::replace(&mut self.open, true) {
            return Ok(());
        }
        if self.empty < EMPTY_MAX { self.say_up(outlet).await } else { Ok(()) }
    }

    /// Whether it is.
    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    /// Something came that makes sense.
    pub(super) async fn useful(&mut self, outlet: &Outlet) -> Result<(), Closed> {
        if self.had_data {
            return Ok(());
        }
        (self.had_data, self.wait) = (true, self.min);
        if self.empty >= EMPTY_MAX {
            self.say_up(outlet).await?;
        }
        self.empty = 0;
        Ok(())
    }

    async fn say_up(&mut self, outlet: &Outlet) -> Result<(), Closed> {
        self.said = None;
        outlet.send(Happened::Up).await
    }

    /// Says why it is not open yet, if that is news.
    pub(super) async fn say_down(&mut self, outlet: &Outlet, why: String) -> Result<(), Closed> {
        self.open = false;
        if self.said.as_ref() != Some(&why) {
            outlet.send(Happened::Down { why: why.clone() }).await?;
            self.said = Some(why);
        }
        Ok(())
    }

    /// It ended, or did not open: says so if that is news, and waits.
    pub(super) async fn failed(&mut self, outlet: &Outlet, why: String) -> Result<(), Closed> {
        if self.open && !self.had_data {
            self.empty = self.empty.saturating_add(1);
        }
        self.had_data = false;
        self.say_down(outlet, why).await?;
        let share = 0.5 + 0.5 * (self.chance)().clamp(0.0, 1.0);
        let wait = self.wait.to_std().mul_f64(share);
        self.wait = self.wait.times(2).min(self.max);
        tokio::select! {
            () = tokio::time::sleep(wait) => Ok(()),
            () = outlet.closed() => Err(Closed),
        }
    }
}

#[cfg(test)]
#[path = "backoff_tests.rs"]
mod tests;

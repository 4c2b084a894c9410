//! The record on a disk: which segment file takes what comes next, and which go to make room.
//!
//! Always holds: the segments never take more than their bound, the one that is being written
//! included; the oldest goes first; a name is never used twice, and names sort by time without any
//! clock. Does not know: files, what is in a segment.

use std::collections::VecDeque;
use std::fmt;

/// How a segment's name begins and ends.
const PREFIX: &str = "geofenced-";
const SUFFIX: &str = ".record";

/// Digits of each number: names sort as text.
const DIGITS: usize = 8;
const NUMBER_MAX: u32 = 99_999_999;

/// A segment may have this part of the bound: what is deleted at once is no more.
const PARTS: u64 = 8;

/// The name of a segment: the daemon's run, counted over all that is there, and its place in it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Name {
    run: u32,
    number: u32,
}

impl Name {
    /// The segment that a file is, if it is one.
    pub fn parse(file_name: &str) -> Option<Self> {
        let (run, number) =
            file_name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?.split_once('-')?;
        let read = |text: &str| {
            let plain = text.len() == DIGITS && text.bytes().all(|byte| byte.is_ascii_digit());
            plain.then(|| text.parse().ok()).flatten()
        };
        Some(Self { run: read(run)?, number: read(number)? })
    }

    fn next(self) -> Self {
        match self {
            Self { run, number } if number < NUMBER_MAX => Self { run, number: number + 1 },
            Self { run, .. } => Self { run: run.saturating_add(1), number: 1 },
        }
    }

    fn next_run(self) -> Self {
        match self {
            Self { run, .. } if run < NUMBER_MAX => Self { run: run + 1, number: 1 },
            last => last.next(),
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{:0DIGITS$}-{:0DIGITS$}{SUFFIX}", self.run, self.number)
    }
}

/// More than all segments together may have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("an entry of {0} bytes is longer than all segments may be")]
pub struct TooLong(u64);

/// All segments that there are, oldest first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shelf {
    held: VecDeque<(Name, u64)>,
    bytes: u64,
    bytes_max: u64,
    next: Name,
    /// Whether the last of them is being written.
    open: bool,
}

impl Shelf {
    /// Of what was found on the disk, each with its length. `last` is the last segment of this
    /// run, where it has one.
    pub fn new(bytes_max: u64, found: Vec<(Name, u64)>, last: Option<Name>) -> Self {
        let mut held = found;
        held.sort_unstable();
        let newest = held.last().map_or(Name { run: 0, number: 0 }, |(name, _)| *name);
        let next = last.map_or(newest.next_run(), |last| last.max(newest).next());
        let bytes = held.iter().map(|(_, len)| len).sum();
        Self { held: held.into(), bytes, bytes_max, next, open: false }
    }

    /// Whether the segment that is being written is to take so many bytes more.
    pub fn takes(&self, len: u64) -> bool {
        let open = self.held.back().filter(|_| self.open);
        open.is_some_and(|(_, so_far)| so_far + len <= self.bytes_max / PARTS)
    }

    /// Ends the one that is being written and begins the next.
    pub fn begin(&mut self) -> Name {
        let name = self.next;
        self.next = name.next();
        self.held.push_back((name, 0));
        self.open = true;
        name
    }

    /// Which must be deleted before so many bytes are written; asked again until it is none.
    pub fn over(&self, len: u64) -> Result<Option<Name>, TooLong> {
        if self.bytes + len <= self.bytes_max {
            return Ok(None);
        }
        let kept = usize::from(self.open);
        let oldest = self.held.front().filter(|_| self.held.len() > kept);
        oldest.map(|(name, _)| Some(*name)).ok_or(TooLong(len))
    }

    /// The oldest has been deleted.
    pub fn deleted(&mut self) {
        if let Some((_, len)) = self.held.pop_front() {
            self.bytes -= len;
        }
    }

    /// So many bytes go into the one that is being written.
    pub fn grow(&mut self, len: u64) {
        if let Some((_, so_far)) = self.held.back_mut() {
            *so_far += len;
            self.bytes += len;
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.held.len()
    }

    /// Their bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn name(text: &str) -> Name {
        Name::parse(text).unwrap()
    }

    #[test]
    fn a_name_reads_back_and_nothing_else_is_one() {
        let first = "geofenced-00000001-00000002.record";
        assert_eq!(name(first).to_string(), first);
        for other in [
            "",
            "geofenced-1-2.record",
            "geofenced-00000001-0000000x.record",
            "geofenced-00000001-+0000002.record",
            "geofenced-00000001-00000002.record.gz",
            "tuesday.record",
        ] {
            assert_eq!(Name::parse(other), None, "{other}");
        }
    }

    /// What was found, the last of this run, and the next.
    #[test]
    fn a_restart_goes_behind_all_that_is_there() {
        let all = |run: u32, number: u32| Name { run, number };
        for (found, last, wanted) in [
            (vec![], None, all(1, 1)),
            (vec![all(2, 9), all(3, 1)], None, all(4, 1)),
            (vec![all(3, 1), all(2, 9)], None, all(4, 1)),
            (vec![all(3, 1)], Some(all(3, 4)), all(3, 5)),
            (vec![all(5, 1)], Some(all(3, 4)), all(5, 2)),
            (vec![all(3, NUMBER_MAX)], Some(all(3, 4)), all(4, 1)),
            (vec![all(NUMBER_MAX, 7)], None, all(NUMBER_MAX, 8)),
        ] {
            let found: Vec<_> = found.into_iter().map(|name| (name, 1)).collect();
            assert_eq!(Shelf::new(100, found.clone(), last).begin(), wanted, "{found:?}");
        }
    }

    proptest! {
        /// Never over the bound, the oldest first, as many kept as fit.
        #[test]
        fn the_bound_holds_whatever_is_written(
            before in prop::collection::vec(0_u64..900, 0..6),
            lines in prop::collection::vec(1_u64..300, 1..80),
        ) {
            let max = 1600;
            let found = (1..).zip(before).map(|(number, len)| (Name { run: 1, number }, len));
            let mut shelf = Shelf::new(max, found.collect(), None);
            let mut newest = None;
            for len in lines {
                if !shelf.takes(len) {
                    let began = shelf.begin();
                    prop_assert!(Some(began) > newest);
                    newest = Some(began);
                }
                while let Some(old) = shelf.over(len).unwrap() {
                    prop_assert!(shelf.bytes() + len > max, "no more goes than must");
                    prop_assert_eq!(Some(old), shelf.held.front().map(|(name, _)| *name));
                    prop_assert!(Some(old) != newest);
                    shelf.deleted();
                }
                shelf.grow(len);
                prop_assert!(shelf.bytes() <= max);
                prop_assert_eq!(shelf.bytes(), shelf.held.iter().map(|(_, len)| len).sum::<u64>());
            }
        }
    }

    #[test]
    fn what_is_longer_than_everything_is_refused() {
        let mut shelf =
            Shelf::new(100, vec![(name("geofenced-00000001-00000001.record"), 90)], None);
        shelf.begin();
        assert!(shelf.over(101).unwrap().is_some());
        shelf.deleted();
        assert_eq!(shelf.over(101), Err(TooLong(101)));
    }
}

//! The first evaluation of zones that no fix has come near: one pair stands for all of them that
//! ask for equally many votes (PAIR-6).
//!
//! Always holds: every fix is a clear outside vote for a zone that is not near; a zone counts as
//! evaluated by its own `confirm` and `confirm_for`, not by the configured ones.
//! Does not know: zones that have a pair of their own.

use serde::{Deserialize, Serialize};

use super::bracket::Context;
use super::ground::{ActiveZone, Asked, Ground};
use super::machine::{self, VoteRules};
use super::pair::{Measured, Pair, Seen, span_nanos};
use crate::units::{EventTime, LayerId, Span};

/// All zones that ask for the same.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
struct Class {
    confirm: u8,
    #[serde(with = "span_nanos")]
    confirm_for: Span,
    pair: Pair,
}

/// A first evaluation that is running.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FirstEvaluation {
    /// The layers in force with their generations: others begin it anew.
    layers: Vec<(LayerId, u64)>,
    classes: Vec<Class>,
}

/// Layers with their generations.
pub fn generations(ground: &Ground) -> Vec<(LayerId, u64)> {
    ground.layers().iter().map(|layer| (layer.id.clone(), layer.generation)).collect()
}

impl FirstEvaluation {
    /// Begins with the fix at `now`.
    pub fn new(ground: &Ground, now: EventTime) -> Self {
        let classes = ground.asked().iter().map(|&(confirm, confirm_for)| Class {
            confirm,
            confirm_for,
            pair: Pair::unevaluated(now),
        });
        Self { layers: generations(ground), classes: classes.collect() }
    }

    /// Whether it is about the layers in force.
    pub fn is_of(&self, ground: &Ground) -> bool {
        self.layers == generations(ground)
    }

    /// What a zone without a pair of its own stands for.
    pub fn pair(&self, zone: &ActiveZone) -> Option<Pair> {
        let own = |c: &&Class| (c.confirm, c.confirm_for) == zone.asked();
        self.classes.iter().find(own).map(|class| class.pair)
    }

    /// One more clear outside vote. Gives what is asked by the zones that this has evaluated.
    #[must_use]
    pub fn step(
        &mut self,
        rules: impl Fn(Asked) -> VoteRules,
        context: &Context<'_>,
        fix: &Measured,
        seen: &Seen,
    ) -> Vec<Asked> {
        let mut answered = Vec::new();
        for class in self.classes.iter_mut().filter(|class| class.pair.committed.is_none()) {
            let asked = (class.confirm, class.confirm_for);
            let (pair, commit) = machine::step(&rules(asked), context, class.pair, fix, seen);
            class.pair = Pair { was_inside: None, ..pair };
            if commit.is_some() {
                answered.push(asked);
            }
        }
        answered
    }

    /// Whether every class has answered.
    pub fn is_done(&self) -> bool {
        self.classes.iter().all(|class| class.pair.committed.is_some())
    }
}

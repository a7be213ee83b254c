//! The letters that workloads are words of.

use crate::subject::{Action, ActionOf, Step};

/// A step of one kind of store, or what is done with all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Letter<S> {
    /// A step of the kind.
    Step(S),
    /// What every kind has.
    Upkeep(Upkeep),
}

/// What is done with a store of any kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Upkeep {
    /// Sync.
    Sync,
    /// Flush.
    Flush,
    /// Compact all there is.
    Compact,
    /// Pin the store, or take the pin away.
    Pin,
    /// Close and open again.
    Reopen,
}

const UPKEEP: [(char, Upkeep); 5] = [
    ('y', Upkeep::Sync),
    ('f', Upkeep::Flush),
    ('c', Upkeep::Compact),
    ('p', Upkeep::Pin),
    ('r', Upkeep::Reopen),
];

impl<S: Step> Letter<S> {
    /// All that there are, the kind's own first.
    pub(crate) fn all() -> Vec<(char, Self)> {
        let own = S::ALPHABET.iter().map(|(letter, step)| (*letter, Self::Step(*step)));
        own.chain(UPKEEP.map(|(letter, upkeep)| (letter, Self::Upkeep(upkeep)))).collect()
    }

    /// What a letter means; `None`: nothing.
    pub(crate) fn parse(letter: char) -> Option<Self> {
        Self::all().into_iter().find(|(known, _)| *known == letter).map(|(_, meant)| meant)
    }

    /// What it does at this turn.
    pub(crate) fn actions(self, turn: usize) -> Vec<ActionOf<S>> {
        match self {
            Self::Step(step) => step.writes(turn).into_iter().map(Action::Write).collect(),
            Self::Upkeep(Upkeep::Sync) => vec![Action::Sync],
            Self::Upkeep(Upkeep::Flush) => vec![Action::Flush],
            Self::Upkeep(Upkeep::Compact) => vec![Action::Compact],
            Self::Upkeep(Upkeep::Pin) => vec![Action::Pin],
            Self::Upkeep(Upkeep::Reopen) => vec![Action::Reopen],
        }
    }
}

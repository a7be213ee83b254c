//! The letters that workloads are words of.

use crate::subject::{Action, ActionOf, Subject};

/// What is done with a store of any kind.
fn upkeep<W>() -> [(char, Action<W>); 5] {
    [
        ('y', Action::Sync),
        ('f', Action::Flush),
        ('c', Action::Compact),
        ('p', Action::Pin),
        ('r', Action::Reopen),
    ]
}

/// All letters that workloads of a kind may have, its own first.
pub(crate) fn alphabet<S: Subject>() -> Vec<char> {
    let own = S::ALPHABET.iter().map(|(letter, _)| *letter);
    own.chain(upkeep::<S::Write>().map(|(letter, _)| letter)).collect()
}

/// What a letter does at this turn; nothing if it has no meaning.
pub(crate) fn actions<S: Subject>(letter: char, turn: usize) -> Vec<ActionOf<S>> {
    if let Some((_, writes)) = S::ALPHABET.iter().find(|(own, _)| *own == letter) {
        return writes(turn).into_iter().map(Action::Write).collect();
    }
    let meant = upkeep().into_iter().filter(|(known, _)| *known == letter);
    meant.map(|(_, action)| action).collect()
}

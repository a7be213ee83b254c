//! One commit over several models.

use timestrata_engine::planted::{Plant, is_planted};
use timestrata_engine::{Changes, CommitPart, Durability, Error, ErrorKind, Result, SeqNo, Store};

/// Makes one commit of what several models are to change: all of it is there from the same moment on, with one [`SeqNo`], or nothing
/// is. Each part tells afterwards what became of it.
///
/// The parts' conditions (an offset that is expected, a version that is newer) are looked at while nobody else changes what they
/// are about. In whatever order the parts are given, locks are taken in one order, so that two such commits never wait for each
/// other.
///
/// ```
/// use timestrata::graph::{Graph, GraphChanges, GraphOptions, GraphWrite, NewBlock};
/// use timestrata::topic::{Record, Topic, TopicOptions, TopicWrite};
/// use timestrata::{Durability, Settings, Store, commit_together};
///
/// # #[cfg(all(feature = "graph", feature = "topic"))]
/// # fn main() -> timestrata::Result<()> {
/// let store = Store::memory(Settings::default())?;
/// let code = Graph::create(&store, "code", &GraphOptions::default())?;
/// let events = Topic::create(&store, "events", &TopicOptions::default())?;
///
/// let main = NewBlock { is_text: true, content: b"fn main() {}", ..NewBlock::default() };
/// let mut put = GraphWrite::new(&code, GraphChanges::new().put(main));
/// let mut told = TopicWrite::new(&events);
/// told.send(Record { value: Some(b"main was written"), ..Record::default() });
/// commit_together(&store, &mut [&mut put, &mut told], Durability::Synced)?;
/// assert_eq!(told.receipts()[0].offset, 0);
/// # Ok(())
/// # }
/// # #[cfg(not(all(feature = "graph", feature = "topic")))]
/// # fn main() {}
/// ```
///
/// # Errors
/// `InvalidArgument` for two parts of the same table, graph, log or topic, two consumers, or a part of another store; those of the parts;
/// what a commit may fail with. Nothing is changed then, unless the store is poisoned: then reopening tells.
pub fn commit_together(
    store: &Store,
    parts: &mut [&mut dyn CommitPart],
    durability: Durability,
) -> Result<SeqNo> {
    parts.sort_by_key(|part| (part.rank(), part.stream()));
    check(store, parts)?;
    let commit = &mut |changes: Changes| match changes.is_empty() {
        true => store.acknowledge(Durability::Written),
        // Synced once all are free again for others, who share the sync.
        false => store.commit_leaving_sync(changes, durability),
    };
    let seq = match parts.split_first_mut() {
        Some((first, rest)) if is_planted(Plant::CommitInTwo) => {
            first.commit(Changes::new(), commit)?;
            commit_rest(rest, Changes::new(), commit)?
        }
        _ => commit_rest(parts, Changes::new(), commit)?,
    };
    if durability == Durability::Synced && !is_planted(Plant::UnsyncedTogether) {
        store.sync_through(seq)?;
    }
    parts.iter_mut().for_each(|part| part.announce());
    Ok(seq)
}

fn check(store: &Store, parts: &[&mut dyn CommitPart]) -> Result<()> {
    let invalid = |what: String| Err(Error::new(ErrorKind::InvalidArgument, what));
    for pair in parts.windows(2) {
        if let [one, other] = pair
            && (one.rank(), one.stream()) == (other.rank(), other.stream())
        {
            let what = one.rank().name();
            return invalid(format!("a commit has two parts for one {what}: make one of them"));
        }
    }
    match parts.iter().find(|part| !part.store().is_same(store)) {
        None => Ok(()),
        Some(part) => {
            let what = part.rank().name();
            invalid(format!(
                "a part of the commit is for a {what} of another store than the one that commits: \
                 open it in that one"
            ))
        }
    }
}

/// Each part takes its locks, and has the next one go on.
fn commit_rest(
    parts: &mut [&mut dyn CommitPart],
    before: Changes,
    commit: &mut dyn FnMut(Changes) -> Result<SeqNo>,
) -> Result<SeqNo> {
    match parts.split_first_mut() {
        None => commit(before),
        Some((first, rest)) => {
            first.commit(before, &mut |changes| commit_rest(rest, changes, commit))
        }
    }
}

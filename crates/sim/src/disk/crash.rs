//! What may be found after a crash.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use timestrata_io::{Rng, SeededRng};

use super::SimDisk;
use super::fault::{Lie, means};
use super::names::{Names, closed_subset, drop_unreachable};
use super::node::{Chances, FileOp, Node};
use super::world::{State, World};

/// Of eight pieces that survive, so many are torn, where the disk tears at any byte.
const TORN_OF_8: u64 = 2;

/// What ended the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CrashKind {
    /// The process was killed: all that was written is there, though what was not synced
    /// can still be lost to a later power cut.
    Killed,
    /// The power was cut: what was not synced may be there, in part or not.
    PowerCut,
}

/// One disk that a crash may leave: no lock is held on it, no operation was counted.
#[derive(Debug, Clone)]
pub struct CrashState {
    /// What ended the run.
    pub kind: CrashKind,
    /// Which part of the unsynced work survived, for messages.
    pub label: String,
    /// The disk.
    pub disk: SimDisk,
}

/// The moment before an operation.
#[derive(Debug, Clone)]
pub struct CrashPoint {
    state: State,
}

impl CrashPoint {
    pub(super) fn new(state: State) -> Self {
        Self { state }
    }

    /// The operation that does not happen any more.
    pub fn operation(&self) -> u64 {
        self.state.operations
    }

    /// As [`SimDisk::crash_states`], at this moment.
    pub fn states(&self, subsets: usize) -> Vec<CrashState> {
        crash_states(&self.state, subsets)
    }
}

type Contents<'a> = dyn Fn(u64, &Node) -> Arc<Vec<u8>> + 'a;

pub(super) fn crash_states(state: &State, subsets: usize) -> Vec<CrashState> {
    let mut states = States { state, found: BTreeSet::new(), list: Vec::new() };
    states.add_killed("killed", state.clone());
    if let Some((id, FileOp::Write { offset, bytes })) = &state.in_flight {
        let mut half_way = state.clone();
        if let Some(node) = half_way.nodes.get_mut(id) {
            node.write(*offset, &bytes[..state.cut(state.operations, bytes.len())]);
        }
        states.add_killed("killed half-way through a write", half_way);
    }

    let durable = |_: u64, node: &Node| Arc::clone(&node.durable);
    let flushed = |_: u64, node: &Node| node.flushed();
    states.add_power_cut("nothing unsynced survives", &state.durable_names, &durable);
    states.add_power_cut("everything survives", &state.names, &flushed);
    states.add_power_cut("names survive without contents", &state.names, &durable);
    states.add_power_cut("contents survive without names", &state.durable_names, &flushed);
    for index in 0..subsets as u64 {
        states.add_mixture(index);
    }
    states.list
}

/// What the running process sees, as a disk with nothing unsynced.
pub(super) fn copy(state: &State) -> World {
    settled(state, &state.names, &|_, node| Arc::clone(&node.seen), &[])
}

struct States<'a> {
    state: &'a State,
    /// Fingerprints seen, so that equal disks are tried once for each kind of crash.
    found: BTreeSet<(u64, CrashKind)>,
    list: Vec<CrashState>,
}

impl States<'_> {
    /// A killed process leaves the page cache as it is: seen by all, not yet durable.
    fn add_killed(&mut self, label: &str, state: State) {
        self.add(CrashKind::Killed, label, World::found(state));
    }

    fn add_power_cut(&mut self, label: &str, names: &Names, contents: &Contents<'_>) {
        let world = settled(self.state, names, contents, &self.state.lies);
        self.add(CrashKind::PowerCut, label, world);
    }

    fn add(&mut self, kind: CrashKind, label: &str, world: World) {
        if self.found.insert((world.state.fingerprint(), kind)) {
            let disk = SimDisk::of(world);
            self.list.push(CrashState { kind, label: label.to_owned(), disk });
        }
    }

    /// Some names and some sectors survive: even mixtures let any changes of names survive
    /// that don't need each other, odd ones a prefix of them.
    fn add_mixture(&mut self, index: u64) {
        let state = self.state;
        let rng = SeededRng::new(state.seed ^ (state.operations << 20) ^ (index << 50) ^ index);
        let keep_of_8 = [4, 7, 1][index as usize % 3];
        let mut names = Names::clone(&state.durable_names);
        if index.is_multiple_of(2) {
            for op in closed_subset(&state.pending_names, || rng.next_u64() % 8 < keep_of_8) {
                op.apply(&mut names);
            }
        } else {
            let kept = rng.next_u64() % (state.pending_names.len() as u64 + 1);
            state.pending_names[..kept as usize].iter().for_each(|op| op.apply(&mut names));
        }
        let label = format!("mixture {index} of what was unsynced survives");
        self.add_power_cut(&label, &names, &|of, node| {
            let in_flight = state.in_flight.as_ref().filter(|(id, _)| *id == of);
            if node.is_settled() && in_flight.is_none() {
                return Arc::clone(&node.durable);
            }
            let torn_of_8 = if state.tears_anywhere { TORN_OF_8 } else { 0 };
            let chances = Chances { keep_of_8, torn_of_8 };
            Arc::new(node.mixture(in_flight.map(|(_, op)| op), &rng, chances))
        });
    }
}

/// A disk of these names and contents, all durable, as lies would have it.
fn settled(state: &State, names: &Names, contents: &Contents<'_>, lies: &[Lie]) -> World {
    let mut names = names.clone();
    drop_unreachable(&mut names);
    let (seed, tears_anywhere) = (state.seed.wrapping_add(1), state.tears_anywhere);
    let mut found = State { seed, tears_anywhere, ..State::default() };
    for (path, id) in &names.files {
        let node = &state.nodes[id];
        let bytes = contents(*id, node);
        let bytes = lies.iter().fold(bytes, |bytes, lie| lied(lie, path, node, bytes));
        found.nodes.insert(*id, Node::durable(bytes));
    }
    found.names = Arc::new(names);
    found.durable_names = Arc::clone(&found.names);
    World::found(found)
}

/// What a lying disk gives back instead of `bytes`.
fn lied(lie: &Lie, path: &Path, node: &Node, mut bytes: Arc<Vec<u8>>) -> Arc<Vec<u8>> {
    match lie {
        Lie::Stale(text) if means(text, path) => {
            node.before_last_sync.as_ref().map_or(bytes, Arc::clone)
        }
        Lie::Tear(text) if means(text, path) => {
            if let Some(write) = &node.last_synced_write {
                let second_half = write.start + write.len() / 2..write.end;
                if let Some(torn) = Arc::make_mut(&mut bytes).get_mut(second_half) {
                    torn.fill(0);
                }
            }
            bytes
        }
        Lie::Stale(_) | Lie::Tear(_) | Lie::DropFileSync(_) | Lie::DropDirSync(_) => bytes,
    }
}

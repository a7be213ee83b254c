//! What may be found after a crash.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use timestrata_io::{Rng, SeededRng};

use super::SimDisk;
use super::fault::{Lie, means};
use super::names::{Names, closed_subset};
use super::node::{FileOp, Node};
use super::world::World;

/// What ended the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CrashKind {
    /// The process was killed: all that was written is there.
    Killed,
    /// The power was cut: what was not synced may be there, in part or not.
    PowerCut,
}

/// One disk that a crash may leave.
#[derive(Debug, Clone)]
pub struct CrashState {
    /// What ended the run.
    pub kind: CrashKind,
    /// Which part of the unsynced work survived, for messages.
    pub label: String,
    /// The disk: all of it durable, no lock held, no operation counted.
    pub disk: SimDisk,
}

type Contents<'a> = dyn Fn(u64, &Node) -> Arc<Vec<u8>> + 'a;

pub(super) fn crash_states(world: &World, subsets: usize) -> Vec<CrashState> {
    let mut states = States { world, found: BTreeSet::new(), list: Vec::new() };
    let killed = CrashKind::Killed;
    states.add(killed, "killed", &world.names, &|_, node| Arc::clone(&node.seen));
    if let Some((id, FileOp::Write { offset, bytes })) = &world.in_flight {
        let part = bytes.len() / 2;
        states.add(killed, "killed half-way through a write", &world.names, &|of, node| {
            if of != *id {
                return Arc::clone(&node.seen);
            }
            let mut node = node.clone();
            node.write(*offset, &bytes[..part]);
            node.seen
        });
    }

    let cut = CrashKind::PowerCut;
    let durable = |_: u64, node: &Node| Arc::clone(&node.durable);
    let flushed = |_: u64, node: &Node| node.flushed();
    states.add(cut, "nothing unsynced survives", &world.durable_names, &durable);
    states.add(cut, "everything survives", &world.names, &flushed);
    states.add(cut, "names survive without contents", &world.names, &durable);
    states.add(cut, "contents survive without names", &world.durable_names, &flushed);
    for index in 0..subsets as u64 {
        let step = world.log.len() as u64;
        let rng = SeededRng::new(world.seed ^ (step << 20) ^ (index << 50) ^ index);
        let keep_of_8 = [4, 7, 1][index as usize % 3];
        let mut names = world.durable_names.clone();
        if index % 2 == 0 {
            for op in closed_subset(&world.pending_names, || rng.next_u64() % 8 < keep_of_8) {
                op.apply(&mut names);
            }
        } else {
            let kept = rng.next_u64() % (world.pending_names.len() as u64 + 1);
            world.pending_names[..kept as usize].iter().for_each(|op| op.apply(&mut names));
        }
        let label = format!("mixture {index} of what was unsynced survives");
        states.add(cut, &label, &names, &|of, node| {
            let in_flight = world.in_flight.as_ref().filter(|(id, _)| *id == of);
            if node.is_settled() && in_flight.is_none() {
                return Arc::clone(&node.durable);
            }
            Arc::new(node.mixture(in_flight.map(|(_, op)| op), &rng, keep_of_8))
        });
    }
    states.list
}

/// What the running process sees, as a disk with nothing unsynced.
pub(super) fn copy(world: &World) -> World {
    settled(world, &world.names, &|_, node| Arc::clone(&node.seen), false)
}

struct States<'a> {
    world: &'a World,
    /// Fingerprints seen, so that equal disks are tried once for each kind of crash.
    found: BTreeSet<(u64, bool)>,
    list: Vec<CrashState>,
}

impl States<'_> {
    fn add(&mut self, kind: CrashKind, label: &str, names: &Names, contents: &Contents<'_>) {
        let world = settled(self.world, names, contents, kind == CrashKind::PowerCut);
        let key = (world.fingerprint(), kind == CrashKind::Killed);
        if self.found.insert(key) {
            let disk = SimDisk::of(world);
            self.list.push(CrashState { kind, label: label.to_owned(), disk });
        }
    }
}

/// A disk of these names and contents. `lying`: with the lies that show after a power cut.
fn settled(world: &World, names: &Names, contents: &Contents<'_>, lying: bool) -> World {
    let mut new = World::new(world.seed.wrapping_add(1));
    new.names = names.clone();
    new.names.drop_unreachable();
    for (path, id) in &new.names.files {
        let node = &world.nodes[id];
        let mut bytes = contents(*id, node);
        if lying {
            for lie in &world.lies {
                bytes = lied(lie, path, node, bytes);
            }
        }
        new.nodes.insert(*id, Node::durable(bytes));
    }
    new.durable_names = new.names.clone();
    new
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

//! The state of a simulated disk, and the rules by which an operation happens, fails or
//! is the last one.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use timestrata_io::parts::Locks;
use timestrata_io::{Rng, SeededRng};

use super::fault::{Fault, Lie};
use super::limits::Limits;
use super::names::{NameOp, Names, synced_with};
use super::node::{FileOp, Node};

/// What an operation did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OperationKind {
    /// Made a file.
    Create,
    /// Made a directory.
    CreateDir,
    /// Renamed a file.
    Rename,
    /// Removed a file.
    Remove,
    /// Wrote to a file.
    Write,
    /// Changed a file's length.
    SetLen,
    /// Synced a file.
    SyncFile,
    /// Synced a directory.
    SyncDir,
    /// Took a lock.
    Lock,
}

/// One numbered operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// What it did.
    pub kind: OperationKind,
    /// The file or directory (of a rename, the new name).
    pub path: PathBuf,
}

/// All that decides what a crash leaves. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(super) struct State {
    pub(super) seed: u64,
    /// Operations begun before.
    pub(super) operations: u64,
    pub(super) lies: Vec<Lie>,
    /// Whether what was being written may be torn at any byte, and not between sectors only.
    pub(super) tears_anywhere: bool,
    pub(super) nodes: BTreeMap<u64, Node>,
    pub(super) names: Arc<Names>,
    pub(super) durable_names: Arc<Names>,
    /// Changes of names since the last sync of their directory, in order.
    pub(super) pending_names: Vec<NameOp>,
    /// The write that the crash interrupts.
    pub(super) in_flight: Option<(u64, FileOp)>,
}

#[derive(Debug, Default)]
pub(super) struct World {
    pub(super) state: State,
    pub(super) log: Vec<Operation>,
    pub(super) crash_at: Option<u64>,
    pub(super) crashed: bool,
    pub(super) faults: BTreeMap<u64, Fault>,
    pub(super) limits: Limits,
    file_syncs: u64,
    dir_syncs: u64,
    pub(super) locks: Locks,
    /// From this operation on, the state before each is kept.
    pub(super) capture_from: Option<u64>,
    /// One in so many of these, by their number and the seed.
    pub(super) capture_one_in: u64,
    pub(super) captured: Vec<State>,
}

fn crash() -> io::Error {
    io::Error::other("simulated crash")
}

impl World {
    pub(super) fn new(seed: u64) -> Self {
        Self::found(State { seed, ..State::default() })
    }

    /// A disk as it is found: nothing locked, nothing counted.
    pub(super) fn found(state: State) -> Self {
        Self { state: State { operations: 0, in_flight: None, ..state }, ..Self::default() }
    }

    /// Numbers an operation, and gives the fault it is to have. `in_flight` is what it writes.
    fn number(
        &mut self,
        kind: OperationKind,
        path: &Path,
        in_flight: Option<(u64, FileOp)>,
    ) -> io::Result<Option<Fault>> {
        if self.crashed {
            return Err(crash());
        }
        let n = self.state.operations;
        if self.capture_from.is_some_and(|from| from <= n) && self.is_sampled(n) {
            self.captured.push(State { in_flight: in_flight.clone(), ..self.state.clone() });
        }
        self.log.push(Operation { kind, path: path.to_path_buf() });
        if self.crash_at == Some(n) {
            self.crashed = true;
            self.state.in_flight = in_flight;
            return Err(crash());
        }
        self.state.operations += 1;
        Ok(self.faults.remove(&n))
    }

    fn is_sampled(&self, n: u64) -> bool {
        let draw = SeededRng::new(self.state.seed ^ n.rotate_left(32));
        self.capture_one_in <= 1 || draw.next_u64().is_multiple_of(self.capture_one_in)
    }

    /// Begins an operation that happens whole or not at all.
    pub(super) fn begin(&mut self, kind: OperationKind, path: &Path) -> io::Result<()> {
        match self.number(kind, path, None)? {
            Some(fault) => Err(fault.error()),
            None => Ok(()),
        }
    }

    pub(super) fn node(&mut self, id: u64) -> io::Result<&mut Node> {
        self.state
            .nodes
            .get_mut(&id)
            .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "the file is not of this disk"))
    }

    /// Makes an empty file.
    pub(super) fn create(&mut self, path: &Path) -> u64 {
        let id = self.state.nodes.keys().next_back().map_or(0, |last| last + 1);
        self.state.nodes.insert(id, Node::default());
        self.change_names(NameOp::Create { path: path.to_path_buf(), node: id });
        id
    }

    pub(super) fn change_names(&mut self, op: NameOp) {
        op.apply(Arc::make_mut(&mut self.state.names));
        self.state.pending_names.push(op);
    }

    /// Writes, counted: whole, in part, or not at all.
    pub(super) fn write(
        &mut self,
        id: u64,
        path: &Path,
        offset: u64,
        bytes: &[u8],
    ) -> io::Result<()> {
        let bytes: Arc<[u8]> = Arc::from(bytes);
        let op = FileOp::Write { offset, bytes: Arc::clone(&bytes) };
        let n = self.state.operations;
        match self.number(OperationKind::Write, path, Some((id, op)))? {
            None => {
                self.check_room(id, offset + bytes.len() as u64)?;
                self.node(id)?.write(offset, &bytes);
                Ok(())
            }
            Some(fault) => {
                if fault == Fault::ShortWrite {
                    let cut = self.state.cut(n, bytes.len());
                    self.node(id)?.write(offset, &bytes[..cut]);
                }
                Err(fault.error())
            }
        }
    }

    /// Changes a file's length, counted.
    pub(super) fn set_len(&mut self, id: u64, path: &Path, bytes: u64) -> io::Result<()> {
        self.begin(OperationKind::SetLen, path)?;
        self.check_room(id, bytes)?;
        self.node(id)?.set_len(bytes);
        Ok(())
    }

    /// Syncs a file, counted.
    pub(super) fn sync_file(&mut self, id: u64, path: &Path) -> io::Result<()> {
        if let Some(fault) = self.number(OperationKind::SyncFile, path, None)? {
            if fault == Fault::SyncLosesPages {
                self.node(id)?.lose_pages();
            }
            return Err(fault.error());
        }
        let n = self.file_syncs;
        self.file_syncs += 1;
        let dropped = |lie: &Lie| matches!(lie, Lie::DropFileSync(which) if which.holds(n));
        if !self.state.lies.iter().any(dropped) {
            self.node(id)?.sync();
        }
        Ok(())
    }

    /// Makes the names of `dir` durable.
    pub(super) fn sync_dir(&mut self, dir: &Path) {
        let n = self.dir_syncs;
        self.dir_syncs += 1;
        let dropped = |lie: &Lie| matches!(lie, Lie::DropDirSync(which) if which.holds(n));
        if self.state.lies.iter().any(dropped) {
            return;
        }
        let state = &mut self.state;
        let (synced, rest) = synced_with(dir, std::mem::take(&mut state.pending_names));
        state.pending_names = rest;
        for op in synced {
            op.apply(Arc::make_mut(&mut state.durable_names));
        }
    }

    /// Opens a log file, or makes it in the steps of the real disk: the name, the zeros,
    /// their sync. A file that could not be made whole is taken away again.
    pub(super) fn open_log(&mut self, path: &Path, bytes: u64) -> io::Result<u64> {
        let nodes = &self.state.nodes;
        if let Some(id) = self.state.names.log_file(path, bytes, |id| nodes[id].len())? {
            return Ok(*id);
        }
        self.begin(OperationKind::Create, path)?;
        let id = self.create(path);
        let zeros = vec![0; bytes as usize];
        let filled = self.write(id, path, 0, &zeros);
        if let Err(error) = filled.and_then(|()| self.sync_file(id, path)) {
            if !self.crashed {
                self.change_names(NameOp::Remove { path: path.to_path_buf() });
            }
            return Err(error);
        }
        Ok(id)
    }
}

impl State {
    /// Where a write of so many bytes, operation `n`, is cut that is not done to its end.
    pub(super) fn cut(&self, n: u64, bytes: usize) -> usize {
        match self.tears_anywhere {
            true => {
                let draw = SeededRng::new(self.seed ^ n.rotate_left(17)).next_u64();
                (draw % (bytes as u64 + 1)) as usize
            }
            false => bytes / 2,
        }
    }

    pub(super) fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.names.dirs.hash(&mut hasher);
        for (path, id) in &self.names.files {
            path.hash(&mut hasher);
            self.nodes[id].seen.hash(&mut hasher);
        }
        hasher.finish()
    }
}

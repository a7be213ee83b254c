//! A disk that knows what is durable, counts operations, and fails where it is told to.
//!
//! [`SimDisk`] owns what the running process sees and, apart from it, what a power cut
//! leaves: contents that were synced, names whose directory was synced, and any part of
//! the rest ([`SimDisk::crash_states`]). Every call that changes or syncs something is one
//! numbered operation; reads have numbers of their own. In a simulated schedule another actor may go on
//! before each call, and none in the middle of one.
//!
//! Invariant: what is durable only grows through a sync (or a lie's absence of one), so a
//! crash state never holds bytes that were not written.

mod crash;
mod fault;
mod file;
mod limits;
mod names;
mod node;
mod world;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use timestrata_io::locks::{Mutex, MutexGuard};
use timestrata_io::parts::{Access, failure, plain};
use timestrata_io::sync::schedule::pause;
use timestrata_io::{DirEntry, Disk, DiskFile, LockOutcome, OpenMode};

pub use crash::{CrashKind, CrashPoint, CrashState};
pub use fault::{Fault, Lie, Which};
pub use world::{Operation, OperationKind};

use file::SimFile;
use limits::Limits;
use names::NameOp;
use world::World;

/// The simulated disk. Clones are the same disk.
#[derive(Debug, Clone)]
pub struct SimDisk {
    world: Arc<Mutex<World>>,
}

impl SimDisk {
    /// An empty disk; `seed` decides which parts of unsynced work survive in crash states.
    pub fn new(seed: u64) -> Self {
        Self::of(World::new(seed))
    }

    fn of(world: World) -> Self {
        Self { world: Arc::new(Mutex::new(world)) }
    }

    /// Operations begun so far; the next one has this number.
    pub fn operations(&self) -> u64 {
        self.world.lock().state.operations
    }

    /// What each operation was, by number.
    pub fn operation_log(&self) -> Vec<Operation> {
        self.world.lock().log.clone()
    }

    /// Makes operation `n` and all after it fail, as if the machine stopped there: it has
    /// no effect, but for a write, of which crash states hold a part.
    pub fn crash_at(&self, n: u64) {
        self.world.lock().crash_at = Some(n);
    }

    /// Whether the crash has happened.
    pub fn is_crashed(&self) -> bool {
        self.world.lock().crashed
    }

    /// Makes operation `n` fail, once.
    pub fn fail_at(&self, n: u64, fault: Fault) {
        self.world.lock().faults.insert(n, fault);
    }

    /// Calls that read, so far; the next one has this number.
    pub fn reads(&self) -> u64 {
        self.world.lock().limits.reads
    }

    /// Makes the read with this number fail, once.
    pub fn fail_read_at(&self, n: u64) {
        self.world.lock().limits.failing_reads.insert(n);
    }

    /// From now on a byte of a file can't be read, whatever name the file gets; what is mapped stays.
    ///
    /// # Errors
    /// `NotFound` for an unknown file.
    pub fn spoil(&self, path: &Path, byte: u64) -> io::Result<()> {
        let mut world = self.world.lock();
        let id = *world.state.names.file(&plain(path))?;
        world.limits.bad_place = Some((id, byte));
        Ok(())
    }

    /// Leaves room for so many bytes more, or for any number.
    pub fn limit_free_bytes(&self, free: Option<u64>) {
        let mut world = self.world.lock();
        let used = world.used_bytes();
        world.limits.bytes_max = free.map(|free| used + free);
    }

    /// Lets so many files more be open, or any number.
    pub fn limit_open_files(&self, more: Option<usize>) {
        let mut world = self.world.lock();
        let open = world.limits.open_files;
        world.limits.open_files_max = more.map(|more| open + more);
    }

    /// Lifts all limits, and takes away faults that have not come yet.
    pub fn heal(&self) {
        let mut world = self.world.lock();
        world.faults.clear();
        let open_files = world.limits.open_files;
        let reads = world.limits.reads;
        world.limits = Limits { open_files, reads, ..Limits::default() };
    }

    /// From now on what was being written may be torn at any byte, and not between sectors only.
    pub fn tear_anywhere(&self) {
        self.world.lock().state.tears_anywhere = true;
    }

    /// Takes the lock on a file away from its holder, without a word: another process may have it now.
    pub fn pull_lock(&self, path: &Path) {
        self.world.lock().locks.pull_away(&plain(path));
    }

    /// Makes the disk lie from now on, in one more way.
    pub fn lie(&self, lie: Lie) {
        self.world.lock().state.lies.push(lie);
    }

    /// The disks that may be found after the process was killed or the power was cut now:
    /// the extremes, and `subsets` seeded mixtures of what was not synced.
    pub fn crash_states(&self, subsets: usize) -> Vec<CrashState> {
        crash::crash_states(&self.world.lock().state, subsets)
    }

    /// From operation `n` on, keeps the state before each operation, as [`SimDisk::crash_at`]
    /// there would leave it: one run then gives every crash point.
    pub fn capture_from(&self, n: u64) {
        self.world.lock().capture_from = Some(n);
    }

    /// As [`SimDisk::capture_from`], but one in so many only, drawn by the disk's seed.
    pub fn capture_some_from(&self, n: u64, one_in: u64) {
        let mut world = self.world.lock();
        world.capture_from = Some(n);
        world.capture_one_in = one_in;
    }

    /// Takes what was captured so far, in order, and stops capturing.
    pub fn take_captured(&self) -> Vec<CrashPoint> {
        let mut world = self.world.lock();
        world.capture_from = None;
        std::mem::take(&mut world.captured).into_iter().map(CrashPoint::new).collect()
    }

    /// This moment, as a crash now would leave it.
    pub fn now(&self) -> CrashPoint {
        CrashPoint::new(self.world.lock().state.clone())
    }

    /// A disk of its own in the same condition, unsynced work included; nothing is counted
    /// or locked on it.
    #[must_use]
    pub fn fork(&self) -> Self {
        Self::of(World::found(self.world.lock().state.clone()))
    }

    /// A number that tells disks of different names or contents apart.
    pub fn fingerprint(&self) -> u64 {
        self.world.lock().state.fingerprint()
    }

    /// A copy of what the running process sees, as a disk of its own with nothing unsynced.
    pub fn copy(&self) -> Self {
        Self::of(crash::copy(&self.world.lock().state))
    }

    /// All files with their lengths, sorted by path.
    pub fn files(&self) -> Vec<(PathBuf, u64)> {
        let world = self.world.lock();
        let files = world.state.names.files.iter();
        files.map(|(path, id)| (path.clone(), world.state.nodes[id].len())).collect()
    }

    /// Turns one bit of a file over, durably, as a decaying medium would.
    ///
    /// # Errors
    /// `NotFound` for an unknown file, `InvalidInput` for a bit past its end.
    pub fn flip_bit(&self, path: &Path, bit: u64) -> io::Result<()> {
        let mut world = self.world.lock();
        let id = *world.state.names.file(&plain(path))?;
        let node = world.node(id)?;
        if node.flip_bit(bit) {
            Ok(())
        } else {
            Err(failure(io::ErrorKind::InvalidInput, path, "has no such bit"))
        }
    }

    /// The disk, for a call of a store's: another actor may go on before it.
    fn turn(&self) -> MutexGuard<'_, World> {
        pause();
        self.world.lock()
    }

    /// An open file, which was counted as one.
    fn file(&self, id: u64, path: PathBuf, access: Access) -> Arc<dyn DiskFile> {
        Arc::new(SimFile { world: Arc::clone(&self.world), id, path, access })
    }
}

impl Disk for SimDisk {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn DiskFile>> {
        let path = plain(path);
        let mut world = self.turn();
        let id = if mode.creates() {
            world.state.names.check_new(&path)?;
            world.check_open_files()?;
            world.begin(OperationKind::Create, &path)?;
            world.create(&path)
        } else {
            let id = *world.state.names.file(&path)?;
            world.check_open_files()?;
            world.begin_read()?;
            id
        };
        world.limits.open_files += 1;
        drop(world);
        Ok(self.file(id, path, mode.into()))
    }

    fn open_log(&self, path: &Path, bytes: u64) -> io::Result<Arc<dyn DiskFile>> {
        let path = plain(path);
        let mut world = self.turn();
        world.check_open_files()?;
        let id = world.open_log(&path, bytes)?;
        world.limits.open_files += 1;
        drop(world);
        Ok(self.file(id, path, Access::Log))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let (from, to) = (plain(from), plain(to));
        let mut world = self.turn();
        let node = *world.state.names.file(&from)?;
        world.state.names.check_place(&to)?;
        world.begin(OperationKind::Rename, &to)?;
        if from != to {
            world.change_names(NameOp::Rename { from, to, node });
        }
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let path = plain(path);
        let mut world = self.turn();
        world.state.names.file(&path)?;
        world.begin(OperationKind::Remove, &path)?;
        world.change_names(NameOp::Remove { path });
        Ok(())
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>> {
        let mut world = self.turn();
        world.begin_read()?;
        world.state.names.list(&plain(dir), |id| world.state.nodes[id].len())
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        let mut world = self.turn();
        // Each directory is made by a call of its own, the topmost first.
        for path in world.state.names.missing_dirs(&plain(dir))? {
            world.begin(OperationKind::CreateDir, &path)?;
            world.change_names(NameOp::CreateDir { path });
        }
        Ok(())
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        let dir = plain(dir);
        let mut world = self.turn();
        world.state.names.check_dir(&dir)?;
        world.begin(OperationKind::SyncDir, &dir)?;
        world.sync_dir(&dir);
        Ok(())
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        let mut world = self.turn();
        world.begin_read()?;
        Ok(world.state.names.exists(&plain(path)))
    }

    fn try_lock(&self, path: &Path, owner: &str) -> io::Result<LockOutcome> {
        let path = plain(path);
        let mut world = self.turn();
        if world.locks.is_held(&path) {
            let id = *world.state.names.file(&path)?;
            return Ok(LockOutcome::Held(world.node(id)?.text()));
        }
        world.state.names.check_place(&path)?;
        world.begin(OperationKind::Lock, &path)?;
        let id = match world.state.names.files.get(&path) {
            Some(id) => *id,
            None => world.create(&path),
        };
        let node = world.node(id)?;
        node.set_len(0);
        node.write(0, owner.as_bytes());
        let (disk, name) = (Arc::clone(&self.world), path.clone());
        let is_there = move || disk.lock().state.names.file(&name).is_ok_and(|found| *found == id);
        Ok(world.locks.take(path, is_there))
    }

    fn free_bytes(&self, _path: &Path) -> io::Result<Option<u64>> {
        let world = self.world.lock();
        Ok(world.limits.bytes_max.map(|bytes_max| bytes_max.saturating_sub(world.used_bytes())))
    }
}

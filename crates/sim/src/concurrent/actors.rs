//! Those who use the store at once.

use std::path::Path;
use std::sync::Arc;

use timestrata_engine::planted::plant;
use timestrata_engine::{
    Access, Cell, Durability, Error, ErrorKind, Io, Result, Settings, Snapshot, Store, StreamSpec,
};
use timestrata_io::sync::schedule::pause;
use timestrata_io::sync::{JoinHandle, spawn};

use super::judge;
use super::kinds::{Failed, Kind, Lane};
use super::plan::{Act, Plan, Trouble};
use crate::Plant;
use crate::disk::SimDisk;
use crate::journal::{Fate, Journal, Seen};
use crate::streams::specs;
use crate::subject::{COPY_DIR, STORE_DIR};

/// A stream that comes and goes.
const PASSING: &str = "passing";

/// All that a run has.
pub(super) struct Scene {
    pub(super) io: Io,
    pub(super) disk: SimDisk,
    pub(super) journal: Arc<Journal>,
    pub(super) plan: Plan,
    pub(super) planted: Option<Plant>,
}

/// What each actor has.
#[derive(Clone)]
struct Place {
    io: Io,
    disk: SimDisk,
    journal: Arc<Journal>,
    store: Store,
    settings: Settings,
    kinds: Vec<Kind>,
    /// Whether something is wrong with the disk.
    is_troubled: bool,
    /// Whether a read fails, in whatever call it comes.
    has_failing_read: bool,
}

impl Scene {
    /// The first actor: makes the store, has the others use it, and closes it behind them.
    pub(super) fn play(self) {
        let journal = Arc::clone(&self.journal);
        if let Err(error) = self.try_play() {
            journal.problem(format!("the run failed: {error}"));
        }
    }

    fn try_play(self) -> Result<()> {
        let _planted = self.planted.map(plant);
        let settings = self.plan.settings.clone();
        let dir = Path::new(STORE_DIR);
        let store = Store::open_with(self.io.clone(), dir, Access::Write, settings.clone())?;
        let place = Place {
            io: self.io,
            disk: self.disk,
            journal: self.journal,
            store,
            settings,
            kinds: self.plan.kinds.clone(),
            is_troubled: !self.plan.troubles.is_empty(),
            has_failing_read: self.plan.troubles.iter().any(|t| matches!(t, Trouble::Read(_))),
        };
        drop(place.lanes()?);
        place.disk.capture_some_from(place.disk.operations(), self.plan.capture_one_in);
        let actors = start_all(&place, self.plan, self.planted)?;
        for actor in actors {
            // A panic is told by the schedule.
            let _ = actor.join();
        }
        place.end()
    }
}

fn start_all(place: &Place, plan: Plan, planted: Option<Plant>) -> Result<Vec<JoinHandle<()>>> {
    let mut works: Vec<(&str, Work)> = Vec::new();
    for acts in plan.writers {
        works.push(("writer", Box::new(move |place| place.write_all(&acts))));
    }
    for snapshots in plan.readers {
        works.push(("reader", Box::new(move |place| place.read_all(snapshots))));
    }
    if plan.follower > 0 {
        works.push(("follower", Box::new(move |place| place.follow(plan.follower))));
    }
    if plan.backup {
        works.push(("backup", Box::new(Place::back_up)));
    }
    if plan.pins > 0 {
        works.push(("pins", Box::new(move |place| place.pin_all(plan.pins))));
    }
    if plan.passing > 0 {
        works.push(("passing", Box::new(move |place| place.come_and_go(plan.passing))));
    }
    for trouble in plan.troubles {
        works.push(("trouble", Box::new(move |place| place.trouble(trouble))));
    }
    let start = |(name, work): (&'static str, Work)| {
        let place = place.clone();
        let body = move || {
            let _planted = planted.map(plant);
            match work(&place) {
                // It says what the disk said; what is promised is looked at afterwards.
                Err(error) if place.is_troubled && is_told(&error) => {}
                Err(error) => place.journal.problem(format!("{name}: {error}")),
                Ok(()) => {}
            }
        };
        spawn(name, body).map_err(|error| Error::new(ErrorKind::Io, error.to_string()))
    };
    works.into_iter().map(start).collect()
}

type Work = Box<dyn FnOnce(&Place) -> Result<()> + Send>;

/// Whether an error may be what comes of one of the disk's.
fn is_told(error: &Error) -> bool {
    use ErrorKind::{Busy, Closed, Io, NoSpace, Poisoned};
    matches!(error.kind(), Io | NoSpace | Poisoned | Busy | Closed)
}

impl Place {
    /// One actor's part of each kind.
    fn lanes(&self) -> Result<Vec<Box<dyn Lane>>> {
        let attach = |kind: &Kind| (kind.attach)(&self.disk, &self.store, &self.journal);
        self.kinds.iter().map(attach).collect()
    }

    fn write_all(&self, acts: &[Act]) -> Result<()> {
        let mut lanes = self.lanes()?;
        acts.iter().try_for_each(|act| self.write(*act, &mut lanes))
    }

    fn write(&self, act: Act, lanes: &mut [Box<dyn Lane>]) -> Result<()> {
        let done = match act {
            Act::Step { kind, letter, turn } => match lanes[kind].act(letter, turn) {
                Ok(()) => self.check_own(),
                Err(failed) => {
                    let Failed { error, again } = *failed;
                    self.judge_again(&error, again);
                    Err(error)
                }
            },
            Act::Sync => self.store.sync().map(|through| {
                self.journal.synced(through.0, self.disk.operations());
            }),
            Act::Flush => self.store.flush(),
            Act::Compact => self.store.compact(None),
        };
        match done {
            // Made again or not, what failed is over: a store that takes writes goes on.
            Err(error) if self.is_troubled && is_told(&error) && !self.store.is_poisoned() => {
                Ok(())
            }
            done => done,
        }
    }

    /// A poisoned store acknowledges nothing, least of all what failed a moment ago.
    fn judge_again(&self, error: &Error, again: Option<Result<()>>) {
        match again {
            Some(Ok(())) => {
                self.journal
                    .problem(format!("failed with '{error}', made again it is acknowledged"));
            }
            // What reads before it writes may meet the read that fails.
            Some(Err(again)) if again.kind() == ErrorKind::Io && self.has_failing_read => {}
            Some(Err(again))
                if !matches!(again.kind(), ErrorKind::Poisoned | ErrorKind::Closed) =>
            {
                self.journal.problem(format!("failed with '{error}', made again with: {again}"));
            }
            _ => {}
        }
    }

    /// A snapshot sees what was acknowledged before.
    fn check_own(&self) -> Result<()> {
        let acknowledged = self.journal.last_acknowledged();
        let seen = self.store.snapshot()?.seq().0;
        self.check_floor("writer", seen, acknowledged);
        Ok(())
    }

    fn read_all(&self, snapshots: usize) -> Result<()> {
        let mut last = 0;
        for _ in 0..snapshots {
            let floor = self.journal.last_acknowledged().max(last);
            let snapshot = self.store.snapshot()?;
            last = snapshot.seq().0;
            self.check_floor("reader", last, floor);
            (0..20).for_each(|_| pause());
            self.saw("reader", &self.store, snapshot);
        }
        Ok(())
    }

    /// A reader of another process: another store on the same disk.
    fn follow(&self, looks: usize) -> Result<()> {
        let dir = Path::new(STORE_DIR);
        let store = Store::open_with(self.io.clone(), dir, Access::Read, self.settings.clone())?;
        let mut last = 0;
        for _ in 0..looks {
            let floor = self.journal.last_acknowledged().max(last);
            store.refresh()?;
            let snapshot = store.snapshot()?;
            last = snapshot.seq().0;
            self.check_floor("follower", last, floor);
            self.saw("follower", &store, snapshot);
            (0..40).for_each(|_| pause());
        }
        Ok(())
    }

    fn back_up(&self) -> Result<()> {
        let floor = self.journal.last_acknowledged();
        let copied = self.store.backup(Path::new(COPY_DIR))?.seq.0;
        self.check_floor("backup", copied, floor);
        let settings = crate::subject::settings();
        let dir = Path::new(COPY_DIR);
        let copy = Store::open_with(self.io.clone(), dir, Access::Read, settings)?;
        let snapshot = copy.snapshot()?;
        if snapshot.seq().0 != copied {
            let seq = snapshot.seq().0;
            self.journal.problem(format!("a backup of commit {copied} opens at commit {seq}"));
        }
        self.saw("backup", &copy, snapshot);
        Ok(())
    }

    fn pin_all(&self, pins: usize) -> Result<()> {
        for pin in 0..pins {
            let name = format!("pin {pin}");
            let floor = self.journal.last_acknowledged();
            let seq = self.store.pin(&name)?.0;
            self.check_floor("pin", seq, floor);
            (0..40).for_each(|_| pause());
            self.saw("pin", &self.store, self.store.snapshot_at(&name)?);
            self.store.unpin(&name)?;
        }
        Ok(())
    }

    fn come_and_go(&self, times: usize) -> Result<()> {
        for _ in 0..times {
            let [events, _] = specs();
            let id = self.store.create_stream(StreamSpec { name: PASSING.to_owned(), ..events })?;
            let mut appender = self.store.appender(id)?;
            for key in 0..3 {
                let cells = [Cell::Int(key), Cell::Text("passing")];
                self.commit(|| appender.append(&cells, Durability::Written).map(drop))?;
            }
            match self.store.drop_stream(PASSING) {
                // A pin keeps it, and so it stays.
                Err(error) if error.kind() == ErrorKind::InvalidArgument => {}
                dropped => dropped?,
            }
        }
        Ok(())
    }

    /// A `Written` commit to nothing that is looked at.
    fn commit(&self, make: impl FnOnce() -> Result<()>) -> Result<()> {
        let commit = self.journal.begun(self.disk.operations(), Vec::new());
        let made = make();
        let at = self.disk.operations();
        let is_placed = self.journal.ended(commit, |seq| match &made {
            Ok(()) => Fate::Acknowledged { seq, at, durability: Durability::Written },
            Err(_) => Fate::InDoubt { seq },
        });
        match made {
            Ok(()) if is_placed => self.check_own(),
            Err(error) if !is_placed && error.kind() == ErrorKind::Busy => Ok(()),
            made => made,
        }
    }

    fn trouble(&self, trouble: Trouble) -> Result<()> {
        let wait = |turns: u64| (0..turns).for_each(|_| pause());
        match trouble {
            Trouble::Operation(n, fault) => self.disk.fail_at(self.disk.operations() + n, fault),
            Trouble::Read(n) => self.disk.fail_read_at(self.disk.reads() + n),
            Trouble::Full { turns, free_bytes } => {
                wait(turns);
                self.disk.limit_free_bytes(Some(free_bytes));
                wait(turns);
                self.disk.limit_free_bytes(None);
            }
            Trouble::OpenFiles { turns, more } => {
                wait(turns);
                self.disk.limit_open_files(Some(more));
                wait(turns);
                self.disk.limit_open_files(None);
            }
        }
        Ok(())
    }

    /// The store that nobody else uses any more shows all, and is closed.
    fn end(&self) -> Result<()> {
        self.disk.heal();
        self.saw("at the end", &self.store, self.store.snapshot()?);
        judge::compare_seen(&self.journal, &self.kinds);
        self.journal.0.lock().last_moment = Some(self.disk.now());
        self.check_memory()?;
        match self.store.close() {
            Err(error) if self.is_troubled && is_told(&error) => Ok(()),
            closed => closed,
        }
    }

    /// With all in runs, nothing is counted as memory in use, which commits would wait for one day.
    fn check_memory(&self) -> Result<()> {
        if self.is_troubled {
            return Ok(());
        }
        self.store.flush()?;
        let counted = self.store.stats().memtable_bytes;
        if counted > 0 {
            self.journal.problem(format!("{counted} bytes are counted in memory after a flush"));
        }
        Ok(())
    }

    fn check_floor(&self, who: &str, seq: u64, floor: u64) {
        if seq < floor {
            self.journal
                .problem(format!("{who}: sees commit {seq}, {floor} was acknowledged before"));
        }
    }

    /// Keeps a snapshot, to be looked at when the order of the commits is known.
    fn saw(&self, who: &'static str, store: &Store, snapshot: Snapshot) {
        self.journal.saw(Seen { who, store: store.clone(), snapshot });
    }
}

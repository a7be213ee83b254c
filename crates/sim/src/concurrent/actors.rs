//! Those who use the store at once.

use std::path::Path;
use std::sync::Arc;

use timestrata_engine::planted::plant;
use timestrata_engine::{
    Access, Cell, Durability, Error, ErrorKind, Io, Result, RowAppender, Snapshot, Store, StreamId,
    StreamSpec,
};
use timestrata_io::sync::schedule::pause;
use timestrata_io::sync::{JoinHandle, spawn};

use super::journal::{Journal, Seen};
use super::plan::{Act, Plan};
use crate::Plant;
use crate::disk::SimDisk;
use crate::streams::{ModelChange, STREAMS, add, engine_changes, scan_stream, specs};
use crate::subject::STORE_DIR;

/// Where the backup goes.
const COPY_DIR: &str = "/data/copy";
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
    streams: [StreamId; 2],
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
        let store =
            Store::open_with(self.io.clone(), Path::new(STORE_DIR), Access::Write, settings)?;
        let [events, state] = specs();
        let streams = [store.create_stream(events)?, store.create_stream(state)?];
        self.disk.capture_some_from(self.disk.operations(), self.plan.capture_one_in);
        let place = Place { io: self.io, disk: self.disk, journal: self.journal, store, streams };
        let actors = start_all(&place, self.plan, self.planted)?;
        for actor in actors {
            // A panic is told by the schedule.
            let _ = actor.join();
        }
        place.look("at the end", &place.store.snapshot()?)?;
        place.journal.0.lock().last_moment = Some(place.disk.now());
        place.store.close()
    }
}

fn start_all(place: &Place, plan: Plan, planted: Option<Plant>) -> Result<Vec<JoinHandle<()>>> {
    let mut works: Vec<(&str, Work)> = Vec::new();
    for acts in plan.writers {
        works.push(("writer", Box::new(move |place| place.write_all(acts))));
    }
    for snapshots in plan.readers {
        works.push(("reader", Box::new(move |place| place.read_all(snapshots))));
    }
    if plan.follower > 0 {
        let settings = plan.settings;
        let looks = plan.follower;
        works.push(("follower", Box::new(move |place| place.follow(looks, settings))));
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
    let start = |(name, work): (&'static str, Work)| {
        let place = place.clone();
        let body = move || {
            let _planted = planted.map(plant);
            if let Err(error) = work(&place) {
                place.journal.problem(format!("{name}: {error}"));
            }
        };
        spawn(name, body).map_err(|error| Error::new(ErrorKind::Io, error.to_string()))
    };
    works.into_iter().map(start).collect()
}

type Work = Box<dyn FnOnce(&Place) -> Result<()> + Send>;

impl Place {
    fn write_all(&self, acts: Vec<Act>) -> Result<()> {
        let [events, state] = self.streams;
        let mut appenders = [self.store.appender(events)?, self.store.appender(state)?];
        acts.into_iter().try_for_each(|act| self.write(act, &mut appenders))
    }

    fn write(&self, act: Act, appenders: &mut [RowAppender; 2]) -> Result<()> {
        match act {
            Act::Append { stream, row, durability } => {
                let changes = vec![ModelChange::Insert(stream, vec![row.clone()])];
                self.commit(changes, durability, |_| {
                    let cells = [Cell::Int(row.0), Cell::Text(&row.1)];
                    let appender = &mut appenders[stream];
                    if durability < Durability::Synced
                        && let Some(seq) = appender.try_append(&cells)?
                    {
                        return Ok(seq.0);
                    }
                    appender.append(&cells, durability).map(|seq| seq.0)
                })
            }
            Act::Commit { changes, durability } => self.commit(changes, durability, |changes| {
                let changes = engine_changes(&self.store, &self.streams, changes)?;
                self.store.commit(changes, durability).map(|seq| seq.0)
            }),
            Act::Bulk(changes) => self.commit(changes, Durability::Synced, |changes| {
                let mut bulk = self.store.bulk()?;
                for change in changes {
                    add(&self.store, &self.streams, &mut bulk, change)?;
                }
                bulk.commit().map(|seq| seq.0)
            }),
            Act::Sync => {
                let through = self.store.sync()?.0;
                self.journal.synced(through, self.disk.operations());
                Ok(())
            }
            Act::Flush => self.store.flush(),
            Act::Compact => self.store.compact(None),
        }
    }

    /// A commit with all that is to be known of it; then its own snapshot must have it.
    fn commit(
        &self,
        changes: Vec<ModelChange>,
        durability: Durability,
        mut make: impl FnMut(&[ModelChange]) -> Result<u64>,
    ) -> Result<()> {
        let commit = self.journal.begun(self.disk.operations(), changes.clone());
        let seq = match make(&changes) {
            Ok(seq) => seq,
            Err(error) if error.kind() == ErrorKind::Busy => {
                self.journal.refused(commit);
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        self.journal.acknowledged(commit, seq, self.disk.operations(), durability);
        let seen = self.store.snapshot()?.seq().0;
        if seen < seq {
            self.journal.problem(format!("commit {seq} is acknowledged, a snapshot sees {seen}"));
        }
        Ok(())
    }

    fn read_all(&self, snapshots: usize) -> Result<()> {
        let mut last = 0;
        for _ in 0..snapshots {
            let floor = self.journal.last_acknowledged().max(last);
            let snapshot = self.store.snapshot()?;
            last = snapshot.seq().0;
            self.check_floor("reader", last, floor);
            let first = self.rows(&snapshot)?;
            (0..20).for_each(|_| pause());
            if self.rows(&snapshot)? != first {
                self.journal.problem(format!("the snapshot of commit {last} has changed"));
            }
            self.journal.saw(Seen { who: "reader".to_owned(), seq: last, rows: first });
        }
        Ok(())
    }

    /// A reader of another process: another store on the same disk.
    fn follow(&self, looks: usize, settings: timestrata_engine::Settings) -> Result<()> {
        let dir = Path::new(STORE_DIR);
        let store = Store::open_with(self.io.clone(), dir, Access::Read, settings)?;
        let mut last = 0;
        for _ in 0..looks {
            let floor = self.journal.last_acknowledged().max(last);
            store.refresh()?;
            let snapshot = store.snapshot()?;
            last = snapshot.seq().0;
            self.check_floor("follower", last, floor);
            self.look("follower", &snapshot)?;
            (0..40).for_each(|_| pause());
        }
        store.close()
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
        self.look("backup", &snapshot)
    }

    fn pin_all(&self, pins: usize) -> Result<()> {
        for pin in 0..pins {
            let name = format!("pin {pin}");
            let floor = self.journal.last_acknowledged();
            let seq = self.store.pin(&name)?.0;
            self.check_floor("pin", seq, floor);
            (0..40).for_each(|_| pause());
            self.look("pin", &self.store.snapshot_at(&name)?)?;
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
                self.commit(Vec::new(), Durability::Written, |_| {
                    let cells = [Cell::Int(key), Cell::Text("passing")];
                    appender.append(&cells, Durability::Written).map(|seq| seq.0)
                })?;
            }
            match self.store.drop_stream(PASSING) {
                // A pin keeps it, and so it stays.
                Err(error) if error.kind() == ErrorKind::InvalidArgument => {}
                dropped => dropped?,
            }
        }
        Ok(())
    }

    fn check_floor(&self, who: &str, seq: u64, floor: u64) {
        if seq < floor {
            self.journal
                .problem(format!("{who}: sees commit {seq}, {floor} was acknowledged before"));
        }
    }

    /// Writes down what a snapshot shows.
    fn look(&self, who: &str, snapshot: &Snapshot) -> Result<()> {
        let rows = self.rows(snapshot)?;
        self.journal.saw(Seen { who: who.to_owned(), seq: snapshot.seq().0, rows });
        Ok(())
    }

    fn rows(&self, snapshot: &Snapshot) -> Result<[Vec<crate::streams::Row>; 2]> {
        let rows = |stream: usize| -> Result<_> {
            let (forward, backward, count) = scan_stream(snapshot, self.streams[stream])?;
            if forward != backward || count != forward.len() as u64 {
                let name = STREAMS[stream];
                self.journal.problem(format!("'{name}' differs if read from its end, or counted"));
            }
            Ok(forward)
        };
        Ok([rows(0)?, rows(1)?])
    }
}

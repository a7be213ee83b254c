//! A store in use by several at once, with its own threads, in an order that a seed draws.
//!
//! One run: writers, readers, a reader of another process, a backup, pins and streams that come and go
//! are actors, and so are the store's own threads. The disk keeps some of the moments on the way.
//! Afterwards every commit's place in the order is known, so that all that anyone has seen, and each of the
//! disks that a crash at these moments may leave, is held against the replay of the commits up to there.

mod actors;
mod judge;
mod kinds;
mod plan;
mod totals;

use std::sync::Arc;

use timestrata_engine::planted::plant;
use timestrata_io::sync::schedule::{End, Schedule};
use timestrata_io::{Io, ManualClock, SeededRng};

use crate::disk::SimDisk;
use crate::journal::Journal;
use crate::{Plant, START_WALL_NS};

use actors::Scene;
use plan::Plan;

pub use totals::{Totals, run_for, run_schedules};

/// Runs the schedule of a seed, and judges it.
pub fn run_schedule(seed: u64, planted: Option<Plant>) -> Totals {
    let plan = Plan::drawn(seed);
    let disk = SimDisk::new(seed);
    disk.tear_anywhere();
    let kinds = plan.kinds.clone();
    let clock = Arc::new(ManualClock::new(START_WALL_NS));
    let io = Io {
        disk: Arc::new(disk.clone()),
        clock: Arc::clone(&clock) as _,
        rng: Arc::new(SeededRng::new(seed)),
    };
    let journal = Arc::new(Journal::default());
    let mut totals = Totals { schedules: 1, ..Totals::default() };
    let schedule = Schedule::new(seed, plan.manner, clock);
    let scene = Scene { io, disk: disk.clone(), journal: Arc::clone(&journal), plan, planted };
    let ran = match schedule.run(move || scene.play()) {
        Ok(ran) => ran,
        Err(error) => return totals.with(seed, format!("no thread: {error}")),
    };
    totals.steps = ran.steps;
    totals.switches = ran.switches;
    totals.operations = disk.operations();
    totals.fingerprint = ran.fingerprint;
    match ran.end {
        End::Stuck(waits) => return totals.with(seed, waits),
        End::Done(panics) if !panics.is_empty() => {
            return totals.with(seed, format!("panic: {}", panics.join("; ")));
        }
        End::Done(_) => {}
    }
    let _planted = planted.map(plant);
    judge::judge(seed, &disk, &journal, &kinds, &mut totals);
    totals
}

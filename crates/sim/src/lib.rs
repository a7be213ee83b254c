//! The simulator: a disk that crashes where it is told to, reference models of a store of
//! streams, of tables, of topics, of graphs, of logs, of time logs and of all of them together, and a runner that compares the two after every crash.
//!
//! Not published. Everything is repeatable from a seed: the same seed gives the same
//! operations, crash states and answers.

mod concurrent;
mod disk;
mod graphs;
mod journal;
mod letter;
mod logs;
mod models;
mod runner;
mod story;
mod streams;
mod subject;
mod tables;
mod threads;
mod timelogs;
mod topics;
mod workload;

pub use concurrent::{Totals, run_for, run_schedule, run_schedules};
pub use disk::{
    CrashKind, CrashPoint, CrashState, Fault, Lie, Operation, OperationKind, SimDisk, Which,
};
pub use graphs::Graphs;
pub use logs::LogEntries;
pub use models::Models;
pub use runner::{Effort, Report, Violation, damage, pull_lock, run};
pub use streams::Streams;
pub use subject::Subject;
pub use tables::Tables;
pub use timelogs::Timelogs;
pub use timestrata_engine::planted::Plant;
pub use topics::Topics;
pub use workload::Workload;

use std::sync::Arc;

use timestrata_io::{Io, ManualClock, SeededRng};

/// Workloads over plain streams of the engine.
pub type StreamWorkload = Workload<Streams>;
/// Workloads over graphs.
pub type GraphWorkload = Workload<Graphs>;
/// Workloads over logs.
pub type LogWorkload = Workload<LogEntries>;
/// Workloads over one of each model, changed together.
pub type ModelsWorkload = Workload<Models>;
/// Workloads over tables.
pub type TableWorkload = Workload<Tables>;
/// Workloads over time logs.
pub type TimelogWorkload = Workload<Timelogs>;
/// Workloads over topics.
pub type TopicWorkload = Workload<Topics>;

/// The clock of the simulator: it stands still until a test moves it.
pub type SimClock = ManualClock;

/// Wall clock at the start of every simulation, nanoseconds since the epoch (2024-01-01).
pub const START_WALL_NS: i64 = 1_704_067_200_000_000_000;

/// Surroundings of a store on `disk`: a standing clock and repeatable randomness.
pub fn io_on(disk: &SimDisk, seed: u64) -> Io {
    Io {
        disk: Arc::new(disk.clone()),
        clock: Arc::new(SimClock::new(START_WALL_NS)),
        rng: Arc::new(SeededRng::new(seed)),
    }
}

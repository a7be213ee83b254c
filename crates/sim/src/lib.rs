//! The simulator: a disk that crashes where it is told to, a reference model of a store,
//! and a runner that compares the two after every crash.
//!
//! Not published. Everything is repeatable from a seed: the same seed gives the same
//! operations, crash states and answers.

mod disk;
mod model;
mod runner;
mod session;
mod story;
mod workload;

pub use disk::{
    CrashKind, CrashPoint, CrashState, Fault, Lie, Operation, OperationKind, SimDisk, Which,
};

pub use model::{Model, ModelChange, Row};
pub use runner::{Effort, Report, Violation, damage, run};
pub use timestrata_engine::planted::Plant;
pub use workload::{Step, Workload};

use std::sync::Arc;

use timestrata_io::{Io, ManualClock, SeededRng};

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

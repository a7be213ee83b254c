//! Many schedules, and what they come to.

use std::fmt;

use timestrata_io::locks::Mutex;
use timestrata_io::{Clock, OsClock};

use super::run_schedule;
use crate::Plant;
use crate::threads::on_all_threads;

/// So many violations end a run early; one is enough where a fault was planted.
const VIOLATIONS_MAX: usize = 20;

/// What schedules have come to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Totals {
    /// Schedules run.
    pub schedules: u64,
    /// Operations of the simulated disk, in schedules and in what was opened after crashes.
    pub operations: u64,
    /// Places at which another actor could have gone on.
    pub steps: u64,
    /// How often another did.
    pub switches: u64,
    /// Moments at which the machine was stopped.
    pub crashes: u64,
    /// Disks that these may leave, opened and held against the commits.
    pub images: u64,
    /// Tells schedules apart; of several, of all together.
    pub fingerprint: u64,
    /// What broke a promise, each with its seed.
    pub violations: Vec<(u64, String)>,
}

impl Totals {
    pub(super) fn with(mut self, seed: u64, problem: String) -> Self {
        self.violations.push((seed, problem));
        self
    }

    fn add(&mut self, other: Self) {
        self.schedules += other.schedules;
        self.operations += other.operations;
        self.steps += other.steps;
        self.switches += other.switches;
        self.crashes += other.crashes;
        self.images += other.images;
        self.fingerprint ^= other.fingerprint;
        self.violations.extend(other.violations);
    }

    /// One line of JSON.
    #[must_use]
    pub fn json(&self) -> String {
        format!(
            "{{\"kind\":\"schedules\",\"operations\":{},\"steps\":{},\"switches\":{},\
             \"crashes\":{},\"images\":{},\"schedules\":{},\"found\":{}}}",
            self.operations,
            self.steps,
            self.switches,
            self.crashes,
            self.images,
            self.schedules,
            self.violations.len()
        )
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (seed, problem) in &self.violations {
            writeln!(f, "seed {seed}: {problem}")?;
            writeln!(f, "again: cargo run -p timestrata-sim -- --schedules 1 --seed {seed}")?;
        }
        write!(f, "{}", self.json())
    }
}

/// Runs the schedules of so many seeds from the first on, on as many threads as there are processors.
pub fn run_schedules(first: u64, count: u64, planted: Option<Plant>) -> Totals {
    run_while(first, planted, |done| done < count)
}

/// The same, for so many seconds.
pub fn run_for(first: u64, seconds: u64) -> Totals {
    let clock = OsClock::new();
    run_while(first, None, |_| clock.monotonic_ns() / 1_000_000_000 < seconds)
}

fn run_while(first: u64, planted: Option<Plant>, goes_on: impl Fn(u64) -> bool + Sync) -> Totals {
    let violations_max = if planted.is_some() { 1 } else { VIOLATIONS_MAX };
    let total = Mutex::new(Totals::default());
    on_all_threads(|done| {
        if !goes_on(done) || total.lock().violations.len() >= violations_max {
            return false;
        }
        let totals = run_schedule(first.wrapping_add(done), planted);
        total.lock().add(totals);
        true
    });
    total.into_inner()
}

//! Time logs keep every promise after a crash at every operation, and after every fault: late values and
//! those of equal times are where they belong, and what was deleted stays away.
//!
//! `cargo run -p timestrata-sim -- --of timelogs --workload LETTERS --seed SEED` runs one again.

use crate::support::expect_promises_kept;
use timestrata_sim::{Effort, TimelogWorkload};

const SEED: u64 = 20_261_124;

#[test]
fn time_logs_of_one_step_keep_every_promise() {
    let effort = Effort::of_short_models(SEED);
    expect_promises_kept("up to one step", &TimelogWorkload::short(1), &effort);
}

#[test]
fn time_logs_of_two_steps_keep_every_promise() {
    let effort = Effort { faults_one_in: 128, ..Effort::of_models(SEED) };
    expect_promises_kept("two steps", &TimelogWorkload::all("", 2), &effort);
}

#[test]
fn chosen_workloads_of_time_logs_keep_every_promise() {
    let effort = Effort { states_one_in: 5, faults_one_in: 24, ..Effort::of_models(SEED) };
    expect_promises_kept("chosen", &TimelogWorkload::chosen(), &effort);
}

//! Logs keep every promise after a crash at every operation, and after every fault: what is left is a
//! prefix of what arrived, in its order, and words are found in all of it.
//!
//! `cargo run -p timestrata-sim -- --of logs --workload LETTERS --seed SEED` runs one again.

use crate::support::expect_promises_kept;
use timestrata_sim::{Effort, LogWorkload};

const SEED: u64 = 20_261_123;

#[test]
fn logs_of_one_step_keep_every_promise() {
    let effort = Effort::of_short_models(SEED);
    expect_promises_kept("up to one step", &LogWorkload::short(1), &effort);
}

#[test]
fn logs_of_two_steps_keep_every_promise() {
    let effort = Effort { faults_one_in: 128, ..Effort::of_models(SEED) };
    expect_promises_kept("two steps", &LogWorkload::all("", 2), &effort);
}

#[test]
fn chosen_workloads_of_logs_keep_every_promise() {
    let effort = Effort { states_one_in: 12, faults_one_in: 96, ..Effort::of_models(SEED) };
    expect_promises_kept("chosen", &LogWorkload::chosen(), &effort);
}

#[test]
fn long_workloads_of_logs_drawn_by_the_seed_keep_every_promise() {
    expect_promises_kept("drawn", &LogWorkload::drawn(SEED, 4, 12), &Effort::of_models(SEED));
}

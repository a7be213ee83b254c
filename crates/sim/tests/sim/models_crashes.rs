//! Commits over several models keep every promise after a crash at every operation, and after every fault: all of a commit is
//! there or nothing, and each model has in memory what is stored.
//!
//! `cargo run -p timestrata-sim -- --of models --workload LETTERS --seed SEED` runs one again.

use crate::support::expect_promises_kept;
use timestrata_sim::{Effort, ModelsWorkload};

const SEED: u64 = 20_261_128;

#[test]
fn models_of_one_step_keep_every_promise() {
    let effort = Effort { faults_one_in: 16, ..Effort::of_short_models(SEED) };
    expect_promises_kept("up to one step", &ModelsWorkload::short(1), &effort);
}

#[test]
fn chosen_workloads_of_models_keep_every_promise() {
    let effort = Effort { states_one_in: 24, faults_one_in: 96, ..Effort::of_models(SEED) };
    expect_promises_kept("chosen", &ModelsWorkload::chosen(), &effort);
}

#[test]
fn models_of_two_steps_keep_every_promise() {
    let effort = Effort { states_one_in: 48, faults_one_in: 512, ..Effort::of_models(SEED) };
    expect_promises_kept("two steps", &ModelsWorkload::all("", 2), &effort);
}

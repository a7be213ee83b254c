//! Graphs keep every promise after a crash at every operation, and after every fault: nothing that was
//! deleted comes back, nothing that was acknowledged is lost, and both directions of the edges agree.
//!
//! `cargo run -p timestrata-sim -- --of graphs --workload LETTERS --seed SEED` runs one again.

use crate::support::expect_promises_kept;
use timestrata_sim::{Effort, GraphWorkload};

const SEED: u64 = 20_261_123;

#[test]
fn graphs_of_one_step_keep_every_promise() {
    let effort = Effort::of_short_models(SEED);
    expect_promises_kept("up to one step", &GraphWorkload::short(1), &effort);
}

#[test]
fn graphs_of_two_steps_keep_every_promise() {
    let effort = Effort { faults_one_in: 128, ..Effort::of_models(SEED) };
    expect_promises_kept("two steps", &GraphWorkload::all("", 2), &effort);
}

#[test]
fn chosen_workloads_of_graphs_keep_every_promise() {
    let effort = Effort { states_one_in: 12, faults_one_in: 96, ..Effort::of_models(SEED) };
    expect_promises_kept("chosen", &GraphWorkload::chosen(), &effort);
}

#[test]
fn long_workloads_of_graphs_drawn_by_the_seed_keep_every_promise() {
    expect_promises_kept("drawn", &GraphWorkload::drawn(SEED, 4, 12), &Effort::of_models(SEED));
}

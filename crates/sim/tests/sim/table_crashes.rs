//! Tables keep every promise after a crash at every operation, and after every fault: what is
//! acknowledged is there, an ingest is there whole or not at all, and of rows that were replaced,
//! deleted or expired none comes back, whether they are found by time or by key.
//!
//! `cargo run -p timestrata-sim -- --of tables --workload LETTERS --seed SEED` runs one again.

use crate::support::expect_promises_kept;
use timestrata_sim::{Effort, TableWorkload};

const SEED: u64 = 20_260_307;

#[test]
fn tables_of_one_step_keep_every_promise() {
    expect_promises_kept(
        "up to one step",
        &TableWorkload::short(1),
        &Effort::of_short_models(SEED),
    );
}

#[test]
fn tables_of_two_steps_keep_every_promise() {
    let effort = Effort { faults_one_in: 128, ..Effort::of_models(SEED) };
    expect_promises_kept("two steps", &TableWorkload::all("", 2), &effort);
}

#[test]
fn chosen_workloads_of_tables_keep_every_promise() {
    let effort = Effort { states_one_in: 12, faults_one_in: 96, ..Effort::of_models(SEED) };
    expect_promises_kept("chosen", &TableWorkload::chosen(), &effort);
}

#[test]
fn long_workloads_of_tables_drawn_by_the_seed_keep_every_promise() {
    expect_promises_kept("drawn", &TableWorkload::drawn(SEED, 6, 12), &Effort::of_models(SEED));
}

//! Topics keep every promise after a crash at every operation, and after every fault: offsets are
//! dense, a batch is there whole or not at all, nothing that was signed is ever ahead of what is there
//! or taken back, and what a producer repeats is stored once.
//!
//! `cargo run -p timestrata-sim -- --of topics --workload LETTERS --seed SEED` runs one again.

use crate::support::expect_promises_kept;
use timestrata_sim::{Effort, TopicWorkload};

const SEED: u64 = 20_261_122;

#[test]
fn topics_of_one_step_keep_every_promise() {
    expect_promises_kept(
        "up to one step",
        &TopicWorkload::short(1),
        &Effort::of_short_models(SEED),
    );
}

#[test]
fn topics_of_two_steps_keep_every_promise() {
    let effort = Effort { faults_one_in: 128, ..Effort::of_models(SEED) };
    expect_promises_kept("two steps", &TopicWorkload::all("", 2), &effort);
}

#[test]
fn chosen_workloads_of_topics_keep_every_promise() {
    let effort = Effort { states_one_in: 12, faults_one_in: 96, ..Effort::of_models(SEED) };
    expect_promises_kept("chosen", &TopicWorkload::chosen(), &effort);
}

#[test]
fn long_workloads_of_topics_drawn_by_the_seed_keep_every_promise() {
    expect_promises_kept("drawn", &TopicWorkload::drawn(SEED, 4, 12), &Effort::of_models(SEED));
}

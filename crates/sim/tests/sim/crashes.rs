//! Every promise holds after a crash at every operation, and after every fault: all short
//! workloads, and some longer ones.
//!
//! A sample that takes little time; the lab takes the rest, with seeds of its own.
//!
//! `cargo run -p timestrata-sim -- --workload LETTERS --seed SEED` runs one of them again.

use crate::support::expect_promises_kept;
use timestrata_sim::{Effort, StreamWorkload};

const SEED: u64 = 20_240_117;
/// A store with runs in both streams, a tombstone, late rows and rows in memory.
const GROWN: &str = "agfldoft";

#[test]
fn workloads_of_one_step_keep_every_promise() {
    let effort = Effort {
        continued_one_in: 4,
        crashed_again_one_in: 16,
        faults_one_in: 2,
        ..Effort::full(SEED)
    };
    expect_promises_kept("up to one step", &StreamWorkload::short(1), &effort);
}

#[test]
fn workloads_of_two_steps_keep_every_promise() {
    let effort = Effort {
        mixtures: 3,
        states_one_in: 3,
        continued_one_in: 8,
        crashed_again_one_in: 64,
        faults_one_in: 24,
        ..Effort::full(SEED)
    };
    expect_promises_kept("two steps", &StreamWorkload::all("", 2), &effort);
}

#[test]
fn workloads_of_three_steps_keep_every_promise() {
    let effort = Effort {
        mixtures: 1,
        states_one_in: 32,
        continued_one_in: 16,
        crashed_again_one_in: 64,
        faults_one_in: 512,
        ..Effort::sampled(SEED)
    };
    expect_promises_kept("three steps", &StreamWorkload::all("", 3), &effort);
}

#[test]
fn steps_on_a_grown_store_keep_every_promise() {
    let effort = Effort {
        states_one_in: 2,
        continued_one_in: 6,
        crashed_again_one_in: 32,
        faults_one_in: 12,
        ..Effort::full(SEED)
    };
    expect_promises_kept("one step on a grown store", &StreamWorkload::all(GROWN, 1), &effort);
    let effort = Effort {
        states_one_in: 16,
        continued_one_in: 16,
        crashed_again_one_in: 64,
        faults_one_in: 256,
        ..Effort::sampled(SEED)
    };
    expect_promises_kept("two steps on a grown store", &StreamWorkload::all(GROWN, 2), &effort);
}

#[test]
fn long_workloads_drawn_by_the_seed_keep_every_promise() {
    let effort = Effort {
        states_one_in: 12,
        continued_one_in: 16,
        crashed_again_one_in: 64,
        faults_one_in: 96,
        ..Effort::sampled(SEED)
    };
    expect_promises_kept("drawn", &StreamWorkload::drawn(SEED, 30, 16), &effort);
}

#[test]
fn chosen_workloads_keep_every_promise() {
    let effort = Effort {
        states_one_in: 4,
        continued_one_in: 8,
        crashed_again_one_in: 64,
        faults_one_in: 32,
        ..Effort::full(SEED)
    };
    expect_promises_kept("chosen", &StreamWorkload::chosen(), &effort);
}

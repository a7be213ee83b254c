use proptest::prelude::*;
use timestrata_format::manifest::Merge;
use timestrata_format::{SeqNo, Tombstone};
use timestrata_io::{Rng, SeededRng};

use super::super::simulation::{ROW_BYTES, Simulation, run, small_settings, stream_of};
use super::*;

const SECOND: i64 = 1_000_000_000;
const START: i64 = 1_700_000_000 * SECOND;

/// How keys come in.
#[derive(Debug, Clone, Copy)]
enum Pattern {
    InOrder,
    /// One row in five is late by up to all of history.
    LateAnywhere,
    /// One row in five is late by up to as much as a hundred thousand rows take.
    LateALittle,
    /// Every row falls somewhere into one day.
    OneWindow,
    /// Every row has the same time.
    OneInstant,
    /// Order, with jumps ahead and back of up to a year, and rows dated ten years ahead.
    Jumps,
}

const PATTERNS: [Pattern; 6] = [
    Pattern::InOrder,
    Pattern::LateAnywhere,
    Pattern::LateALittle,
    Pattern::OneWindow,
    Pattern::OneInstant,
    Pattern::Jumps,
];

fn below(rng: &SeededRng, bound: u64) -> u64 {
    let mut bytes = [0; 8];
    rng.fill(&mut bytes);
    u64::from_le_bytes(bytes) % bound
}

fn time_of(pattern: Pattern, row: i64, offset: &mut i64, rng: &SeededRng) -> i64 {
    let now = START + row * SECOND;
    let late = below(rng, 5) == 0;
    match pattern {
        Pattern::InOrder => now,
        Pattern::LateAnywhere if late => now - below(rng, row as u64 + 1) as i64 * SECOND,
        Pattern::LateALittle if late => now - below(rng, 100_000) as i64 * SECOND / 10,
        Pattern::LateAnywhere | Pattern::LateALittle => now,
        Pattern::OneWindow => START + below(rng, 86_400 * SECOND as u64) as i64,
        Pattern::OneInstant => START,
        Pattern::Jumps => {
            if below(rng, 500) == 0 {
                *offset = below(rng, 2 * 365 * 86_400) as i64 * SECOND - 365 * 86_400 * SECOND;
            }
            let ahead = if below(rng, 1_000) == 0 { 3650 * 86_400 * SECOND } else { 0 };
            now + *offset + ahead
        }
    }
}

fn simulate(pattern: Pattern, merge: Merge, rows: i64, seed: u64) -> Simulation {
    let stream = stream_of(LeadKind::Time, merge, RunFormat::Hot);
    let mut simulation = Simulation::new(stream, small_settings());
    let rng = SeededRng::new(seed);
    let mut offset = 0;
    for row in 0..rows {
        let time = time_of(pattern, row, &mut offset, &rng);
        simulation.insert(LeadKey::Time(time));
    }
    simulation
}

fn print(what: &str, simulation: &Simulation) {
    println!(
        "{what:>16}: write amplification {:.2}, {} runs, depth {}, largest plan {:.1} full runs",
        simulation.write_amplification(),
        simulation.runs.len(),
        simulation.depth(),
        simulation.largest_plan_bytes as f64 / simulation.settings.run_bytes_max as f64,
    );
}

#[test]
fn rows_in_order_are_never_rewritten() {
    let simulation = simulate(Pattern::InOrder, Merge::Keep, 8_000, 1);
    assert_eq!(simulation.rewritten_bytes, 0);
    assert_eq!(simulation.depth(), 1);
}

#[test]
fn write_amplification_stays_under_three_with_one_row_in_five_late() {
    for pattern in [Pattern::LateAnywhere, Pattern::LateALittle, Pattern::Jumps] {
        let simulation = simulate(pattern, Merge::Keep, 12_000, 7);
        print(&format!("{pattern:?}"), &simulation);
        assert!(simulation.write_amplification() < 3.0);
        assert_eq!(simulation.bytes(), simulation.flushed_bytes, "a Keep stream has no garbage");
    }
}

#[test]
fn a_busy_window_costs_as_much_more_as_the_logarithm_of_its_size() {
    for pattern in [Pattern::OneWindow, Pattern::OneInstant] {
        let small = simulate(pattern, Merge::Keep, 4_000, 7);
        let large = simulate(pattern, Merge::Keep, 16_000, 7);
        print(&format!("{pattern:?}"), &large);
        assert!(large.write_amplification() < small.write_amplification() + 1.5);
    }
}

#[test]
fn the_runs_of_a_stream_and_those_over_one_key_are_bounded() {
    for pattern in PATTERNS {
        let simulation = simulate(pattern, Merge::Keep, 8_000, 11);
        let flushes = 8_000 * ROW_BYTES / simulation.settings.memtable_bytes_max;
        assert!(simulation.runs.len() as u64 <= flushes + 32, "{pattern:?}");
        assert!(simulation.depth() <= 4 * simulation.settings.level0_runs_max + 4, "{pattern:?}");
    }
}

#[test]
fn tiny_flushes_in_order_are_joined_into_few_runs() {
    for kind in [LeadKind::Time, LeadKind::Offset] {
        let stream = stream_of(kind, Merge::Keep, RunFormat::Hot);
        let mut settings = small_settings();
        settings.memtable_bytes_max = ROW_BYTES;
        let mut simulation = Simulation::new(stream, settings);
        for row in 0..2_000_u64 {
            simulation.insert(match kind {
                LeadKind::Offset => LeadKey::Offset(row),
                _ => LeadKey::Time(row as i64),
            });
        }
        print("tiny flushes", &simulation);
        assert!(simulation.runs.len() < 80);
        assert!(simulation.write_amplification() < 5.0);
    }
}

/// Each flush has rows of its own time, and marks those that it replaces, which the one before had.
#[test]
fn runs_that_reach_into_the_one_before_are_joined_into_few() {
    for rows in [2, 8, 14] {
        let stream = stream_of(LeadKind::Time, Merge::Latest, RunFormat::Hot);
        let mut simulation = Simulation::new(stream, small_settings());
        for flush in 0..500 {
            for row in 0..rows {
                simulation.insert(LeadKey::Time((flush - 1) * rows + row));
                simulation.insert(LeadKey::Time(flush * rows + row));
            }
            simulation.flush();
            simulation.settle(false);
        }
        print("reaching", &simulation);
        let small = simulation.settings.run_bytes_max / 8;
        let small = simulation.runs.iter().filter(|run| run.file_bytes < small).count();
        assert!(small < 40, "{small} small runs");
        assert!(simulation.write_amplification() < 6.0);
    }
}

#[test]
fn random_ids_stay_in_few_layers_with_little_garbage() {
    for kind in [LeadKind::Id16, LeadKind::Id32] {
        let stream = stream_of(kind, Merge::Latest, RunFormat::Hot);
        let mut simulation = Simulation::new(stream, small_settings());
        let rng = SeededRng::new(3);
        for _ in 0..12_000 {
            // Of 6,000 ids, so that half of the rows replace another.
            let place = below(&rng, 6_000).wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes();
            let mut id = [0; 32];
            id[..8].copy_from_slice(&place);
            simulation.insert(match kind {
                LeadKind::Id16 => LeadKey::Id16(id.as_chunks().0[0]),
                _ => LeadKey::Id32(id),
            });
        }
        print(&format!("{kind:?}"), &simulation);
        assert!(simulation.write_amplification() < 10.0);
        assert!(simulation.depth() <= 10);
        let rows = simulation.live_rows();
        simulation.settle(true);
        let rows_least = simulation.live_rows();
        println!("{kind:?}: {rows} rows in runs, {rows_least} after everything was merged");
        assert!(rows as f64 <= 1.5 * rows_least as f64);
    }
}

#[test]
fn forced_compaction_leaves_no_overlap_and_no_tombstone_and_the_stream_format() {
    for pattern in PATTERNS {
        let mut simulation = simulate(pattern, Merge::Keep, 4_000, 5);
        let middle = START + 2_000 * SECOND;
        simulation.delete(KeyRange::times(middle, middle + 100 * SECOND));
        let rows = simulation.live_rows();
        simulation.settle(true);
        assert_eq!(simulation.depth(), 1, "{pattern:?}");
        assert_eq!(simulation.tombstones, []);
        assert_eq!(simulation.live_rows(), rows);
        assert_eq!(simulation.bytes(), rows as u64 * ROW_BYTES, "{pattern:?}");
        assert_eq!(choose_now(&simulation, true), None, "{pattern:?}");
    }
}

fn choose_now(simulation: &Simulation, force: bool) -> Option<CompactionPlan> {
    let Simulation { stream, runs, tombstones, settings, .. } = simulation;
    choose(stream, runs, &Tombstones::of(tombstones.iter().copied()), settings, force)
}

fn plan_for(
    merge: Merge,
    runs: &[RunMeta],
    tombstones: &[Tombstone],
    force: bool,
) -> Option<CompactionPlan> {
    let stream = stream_of(LeadKind::Time, merge, RunFormat::Hot);
    let tombstones = Tombstones::of(tombstones.iter().copied());
    choose(&stream, runs, &tombstones, &small_settings(), force)
}

#[test]
fn runs_of_a_cold_stream_change_format_once_they_have_settled() {
    let stream = stream_of(LeadKind::Time, Merge::Keep, RunFormat::Cold);
    let mut simulation = Simulation::new(stream, small_settings());
    for row in 0..2_000 {
        simulation.insert(LeadKey::Time(row));
    }
    let hot = simulation.runs.iter().filter(|run| run.format == RunFormat::Hot).count();
    assert!(0 < hot && hot <= 8, "{hot} hot runs");
    assert!(simulation.write_amplification() <= 2.0);
    simulation.settle(true);
    assert!(simulation.runs.iter().all(|run| run.format == RunFormat::Cold));
}

#[test]
fn a_run_that_tombstones_cover_together_is_dropped_unread() {
    let runs = [run(1, 0, (0, 99), (1, 9), 1 << 16), run(2, 0, (100, 199), (10, 19), 1 << 16)];
    let tombstone = |lo, hi, seq| Tombstone { range: KeyRange::times(lo, hi), seq: SeqNo(seq) };
    let tombstones = [tombstone(50, 100, 21), tombstone(-5, 50, 20)];
    let plan = plan_for(Merge::Keep, &runs, &tombstones, false);
    assert_eq!(plan, Some(CompactionPlan::Drop { runs: vec![RunId(1)] }));
    let with_gap = [tombstone(51, 100, 21), tombstone(-5, 50, 20)];
    assert!(matches!(
        plan_for(Merge::Keep, &runs, &with_gap, false),
        Some(CompactionPlan::Rewrite(_))
    ));
    let up_to_last = [tombstone(0, 99, 20)];
    assert!(matches!(
        plan_for(Merge::Keep, &runs, &up_to_last, false),
        Some(CompactionPlan::Rewrite(_))
    ));
    let older_than_rows = [tombstone(0, 100, 5)];
    assert_eq!(plan_for(Merge::Keep, &runs, &older_than_rows, false), None);
}

#[test]
fn a_small_deletion_waits_until_forced() {
    let runs = [run(1, 1, (0, 99), (1, 9), 1 << 16)];
    let tombstones = [Tombstone { range: KeyRange::times(10, 20), seq: SeqNo(10) }];
    assert_eq!(plan_for(Merge::Keep, &runs, &tombstones, false), None);
    assert!(matches!(
        plan_for(Merge::Keep, &runs, &tombstones, true),
        Some(CompactionPlan::Rewrite(_))
    ));
    let mut applied = runs.clone();
    applied[0].tombstones_applied_through = SeqNo(10);
    assert_eq!(plan_for(Merge::Keep, &applied, &tombstones, true), None);
}

#[test]
fn many_small_deletions_are_applied_even_if_they_hide_little() {
    let runs = [run(1, 1, (0, 1_000_000), (1, 9), 1 << 16)];
    let tombstones: Vec<Tombstone> = (0..300)
        .map(|at| Tombstone { range: KeyRange::times(at * 10, at * 10 + 1), seq: SeqNo(10) })
        .collect();
    assert!(plan_for(Merge::Keep, &runs, &tombstones, false).is_some());
    assert_eq!(plan_for(Merge::Keep, &runs, &tombstones[..200], false), None);
}

#[test]
fn delete_markers_go_only_where_nothing_older_is_left_below() {
    let mut runs: Vec<RunMeta> =
        (1..=4).map(|id| run(id, 0, (0, 99), (id * 10, id * 10 + 9), 1 << 12)).collect();
    let dropped = |plan| match plan {
        Some(CompactionPlan::Rewrite(rewrite)) => {
            (rewrite.inputs.len(), rewrite.drop_delete_markers)
        }
        other => panic!("no rewrite: {other:?}"),
    };
    assert_eq!(dropped(plan_for(Merge::Latest, &runs, &[], false)), (4, true));
    runs.push(run(9, 1, (50, 5_000), (1, 9), 1 << 20));
    assert_eq!(dropped(plan_for(Merge::Latest, &runs, &[], false)), (4, false));
}

#[test]
fn debt_counts_what_waits_and_is_nothing_when_settled() {
    let stream = stream_of(LeadKind::Time, Merge::Keep, RunFormat::Hot);
    let runs: Vec<RunMeta> = (1..=4).map(|id| run(id, 0, (0, 99), (id, id), 1 << 12)).collect();
    let none = Tombstones::default();
    assert_eq!(debt_bytes(&stream, &runs, &[], &none, &small_settings()), 4 << 12);
    assert_eq!(debt_bytes(&stream, &runs[..3], &[], &none, &small_settings()), 0);
}

/// Keys of all of the 64 bits, near each other, and at both ends.
fn any_key() -> impl Strategy<Value = i64> {
    prop_oneof![any::<i64>(), 0..100_i64, Just(i64::MIN), Just(i64::MAX)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_keys_settle_in_commit_order_and_lose_no_row(
        keys in prop::collection::vec(any_key(), 1..1_500),
        deletes in prop::collection::vec((any_key(), any_key()), 0..6),
        flush_rows in 1_u64..40,
    ) {
        let mut settings = small_settings();
        settings.memtable_bytes_max = flush_rows * ROW_BYTES;
        settings.run_bytes_max = 64 * ROW_BYTES;
        let stream = stream_of(LeadKind::Time, Merge::Keep, RunFormat::Hot);
        let mut simulation = Simulation::new(stream, settings);
        for key in &keys {
            simulation.insert(LeadKey::Time(*key));
        }
        simulation.flush();
        prop_assert_eq!(simulation.live_rows(), keys.len());
        for (lo, hi) in deletes {
            simulation.delete(KeyRange::times(lo, hi));
            let rows = simulation.live_rows();
            simulation.settle(false);
            prop_assert_eq!(simulation.live_rows(), rows);
        }
        let rows = simulation.live_rows();
        simulation.settle(true);
        prop_assert_eq!(simulation.live_rows(), rows);
        prop_assert!(simulation.depth() <= 1);
    }
}

//! The runner must notice what it is there for: each fault planted here turns it red.

use timestrata_sim::{
    Effort, Graphs, Lie, LogEntries, Models, Plant, Report, StreamWorkload, Streams, Subject,
    TableWorkload, Tables, Timelogs, Topics, Which, Workload, damage, pull_lock, run, run_schedule,
    run_schedules,
};

const SEED: u64 = 99;

/// Workloads that lean on every kind of sync.
fn workloads() -> Vec<StreamWorkload> {
    let letters = ["s", "t", "g", "af", "tfc", "atfp", "asr", "wwf"];
    letters.iter().filter_map(|letters| StreamWorkload::parse(letters)).collect()
}

fn effort() -> Effort {
    Effort {
        continued_one_in: 0,
        faults_one_in: 0,
        violations_max: usize::MAX,
        ..Effort::full(SEED)
    }
}

fn with(lies: Vec<Lie>) -> Report {
    run(&workloads(), &Effort { lies, ..effort() })
}

fn is_wrong_answer(problem: &str) -> bool {
    problem.contains("holds")
}

fn expect_red(lie: Lie) -> Report {
    let report = with(vec![lie.clone()]);
    assert!(!report.violations.is_empty(), "{lie:?} was not noticed: {report}");
    println!("{lie:?}: {} violations, first: {}", report.violations.len(), report.violations[0]);
    report
}

#[test]
fn an_honest_disk_gives_no_violation() {
    let report = with(Vec::new());
    assert!(report.violations.is_empty(), "{report}");
}

#[test]
fn a_dropped_file_sync_is_noticed() {
    let report = expect_red(Lie::DropFileSync(Which::All));
    assert!(report.violations.iter().any(|violation| violation.problem.contains("is lost")));
}

#[test]
fn a_dropped_directory_sync_is_noticed() {
    expect_red(Lie::DropDirSync(Which::All));
}

#[test]
fn a_stale_manifest_is_noticed() {
    expect_red(Lie::Stale("MANIFEST".to_owned()));
}

#[test]
fn a_torn_batch_is_noticed() {
    let report = expect_red(Lie::Tear("/wal/".to_owned()));
    // It may be lost or refused, but never come back in part: that would read as other rows.
    assert!(!report.violations.iter().any(|found| is_wrong_answer(&found.problem)), "{report}");
}

#[test]
fn a_skipped_checksum_is_noticed() {
    let workloads: Vec<_> =
        ["atf", "ato", "atfc"].into_iter().filter_map(StreamWorkload::parse).collect();
    let effort = Effort { flips_one_in: 37, ..effort() };
    let honest = damage(&workloads, &effort);
    assert!(honest.violations.is_empty(), "{honest}");
    let report = damage(&workloads, &Effort { planted: Some(Plant::SkippedChecksum), ..effort });
    println!("{} violations", report.violations.len());
    let wrong = |file: &str| {
        let mut found = report.violations.iter();
        found.any(|v| is_wrong_answer(&v.problem) && v.moment.contains(file))
    };
    assert!(wrong(".arrow") && wrong(".wal"), "{report}");
}

#[test]
fn a_lost_tombstone_is_noticed() {
    let workloads = StreamWorkload::all("afd", 1);
    let honest = run(&workloads, &effort());
    assert!(honest.violations.is_empty(), "{honest}");
    let report = run(&workloads, &Effort { planted: Some(Plant::LostTombstone), ..effort() });
    println!("{} violations", report.violations.len());
    let mut found = report.violations.iter();
    assert!(found.any(|v| v.workload == "afdf" && is_wrong_answer(&v.problem)), "{report}");
}

/// Workloads that a fault must turn red, each of them, and in words what it looks like.
fn expect_planted_red<S: Subject>(planted: Plant, letters: &[&str], words: &str) {
    expect_planted_red_with::<S>(&effort(), planted, letters, words);
}

fn expect_planted_red_with<S: Subject>(
    effort: &Effort,
    planted: Plant,
    letters: &[&str],
    words: &str,
) {
    let workloads: Vec<_> =
        letters.iter().filter_map(|letters| Workload::<S>::parse(letters)).collect();
    let honest = run(&workloads, effort);
    assert!(honest.violations.is_empty(), "{honest}");
    let report = run(&workloads, &Effort { planted: Some(planted), ..effort.clone() });
    println!("{planted:?}: {} violations", report.violations.len());
    println!("{}", report.violations.first().map(ToString::to_string).unwrap_or_default());
    for workload in letters {
        let mut found = report.violations.iter().filter(|found| found.workload == *workload);
        assert!(found.any(|found| found.problem.contains(words)), "'{workload}': {report}");
    }
    assert!(report.to_string().contains(&format!("--of {} --workload", S::KIND)), "{report}");
}

fn expect_tables_red(planted: Plant, letters: &[&str], words: &str) {
    expect_planted_red::<Tables>(planted, letters, words);
}

#[test]
fn half_of_a_commit_to_a_table_and_its_index_is_noticed() {
    expect_tables_red(Plant::HalfReplayed, &["h", "n", "fo"], "by its key gives");
}

#[test]
fn a_replaced_row_that_stays_is_noticed() {
    expect_tables_red(Plant::KeptKeys, &["ho", "fu", "nj"], "holds");
}

#[test]
fn a_lost_tombstone_of_a_table_is_noticed() {
    expect_tables_red(Plant::LostTombstone, &["ahqfdf"], "holds");
}

#[test]
fn a_deleted_row_that_comes_back_by_retention_is_noticed() {
    expect_tables_red(Plant::UncoveredRetention, &["yyhfkftc"], "holds");
}

#[test]
fn a_dropped_file_sync_is_noticed_in_tables() {
    let workloads: Vec<_> = ["h", "u"].into_iter().filter_map(TableWorkload::parse).collect();
    let lies = vec![Lie::DropFileSync(Which::All)];
    let report = run(&workloads, &Effort { lies, ..effort() });
    assert!(!report.violations.is_empty(), "{report}");
}

#[test]
fn a_repeat_that_is_acknowledged_before_its_sync_is_noticed() {
    expect_planted_red::<Topics>(Plant::UnsyncedRepeat, &["q", "fq"], "is lost");
}

#[test]
fn an_offset_that_is_handed_out_twice_is_noticed() {
    expect_planted_red::<Topics>(Plant::OffsetTwice, &["srs", "sfrb"], "'log'");
}

#[test]
fn an_edge_that_is_kept_in_one_direction_is_noticed() {
    expect_planted_red::<Graphs>(Plant::OneDirection, &["l", "wf"], "edges In");
}

#[test]
fn an_entry_of_a_log_that_is_acknowledged_before_its_sync_is_noticed() {
    expect_planted_red::<LogEntries>(Plant::UnsyncedEntry, &["s", "fw"], "is lost");
}

#[test]
fn a_value_of_a_time_log_that_is_acknowledged_before_its_sync_is_noticed() {
    expect_planted_red::<Timelogs>(Plant::UnsyncedValue, &["s", "as"], "is lost");
}

#[test]
fn a_commit_over_several_models_that_is_none_or_not_synced_is_noticed() {
    expect_planted_red::<Models>(Plant::UnsyncedTogether, &["s", "gk"], "is lost");
    expect_planted_red::<Models>(Plant::CommitInTwo, &["a", "xd"], "was given number");
}

#[test]
fn a_store_that_goes_on_after_a_failed_sync_is_noticed() {
    let effort = Effort { faults_one_in: 1, ..effort() };
    expect_planted_red_with::<Streams>(&effort, Plant::UnheededFailure, &["s", "as"], "never made");
}

#[test]
fn a_run_that_the_manifest_names_and_opening_sets_aside_is_noticed() {
    expect_planted_red::<Streams>(Plant::NamedRunSetAside, &["afr"], "can't be");
    expect_planted_red::<Topics>(Plant::NamedRunSetAside, &["sfr"], "can't be");
}

#[test]
fn a_run_that_opening_removes_is_noticed() {
    expect_planted_red::<Streams>(Plant::OrphansRemoved, &["af"], "has removed the run file");
}

#[test]
fn a_backup_that_leaves_out_a_run_is_noticed() {
    expect_planted_red::<Streams>(Plant::BackupWithoutRun, &["af", "g"], "a backup");
    expect_planted_red::<Graphs>(Plant::BackupWithoutRun, &["wf"], "a backup");
}

/// So many schedules at most look for the fault below, and end where it is found.
const TWO_MOMENTS_WITHIN: u64 = 400;

#[test]
fn a_backup_of_another_moment_than_it_says_is_noticed() {
    let totals = run_schedules(1, TWO_MOMENTS_WITHIN, Some(Plant::BackupOfTwoMoments));
    let mut found = totals.violations.iter();
    let found = found.find(|(_, problem)| problem.contains("backup"));
    let Some((seed, problem)) = found else { panic!("it was not found: {totals}") };
    println!("after {} schedules: seed {seed}: {problem}", totals.schedules);
    let honest = run_schedule(*seed, None);
    assert!(honest.violations.is_empty(), "{honest}");
}

fn expect_lock_is_looked_at<S: Subject>(letters: &[&str]) {
    let workloads: Vec<_> =
        letters.iter().filter_map(|letters| Workload::<S>::parse(letters)).collect();
    let honest = pull_lock(&workloads, &effort());
    assert!(honest.violations.is_empty(), "{honest}");
    assert!(honest.states_opened > 10, "{honest}");
    let report = pull_lock(&workloads, &Effort { planted: Some(Plant::UnlookedLock), ..effort() });
    println!("{}", report.violations.first().map(ToString::to_string).unwrap_or_default());
    for workload in letters {
        let mut found = report.violations.iter().filter(|found| found.workload == *workload);
        assert!(found.any(|found| found.problem.contains("without a lock")), "{report}");
    }
}

#[test]
fn a_writer_that_does_not_look_at_its_lock_is_noticed() {
    expect_lock_is_looked_at::<Streams>(&["a", "tfa", "wg"]);
    expect_lock_is_looked_at::<Tables>(&["a"]);
    expect_lock_is_looked_at::<Topics>(&["b"]);
    expect_lock_is_looked_at::<Graphs>(&["w"]);
    expect_lock_is_looked_at::<LogEntries>(&["e"]);
    expect_lock_is_looked_at::<Timelogs>(&["a"]);
}

/// What a disk does that keeps its word but once.
fn with_one_dropped<S: Subject>(letters: &str, lie: fn(Which) -> Lie) -> Vec<u64> {
    let workloads: Vec<_> = Workload::<S>::parse(letters).into_iter().collect();
    let is_noticed = |nth: &u64| {
        let lies = vec![lie(Which::Nth(*nth))];
        let effort = Effort { mixtures: 0, violations_max: 1, ..effort() };
        !run(&workloads, &Effort { lies, ..effort }).violations.is_empty()
    };
    (0..40).filter(is_noticed).collect()
}

#[test]
fn one_dropped_sync_of_many_is_noticed() {
    let noticed = [
        with_one_dropped::<Streams>("asf", Lie::DropFileSync),
        with_one_dropped::<Streams>("asf", Lie::DropDirSync),
        with_one_dropped::<Topics>("sf", Lie::DropFileSync),
        with_one_dropped::<Graphs>("x", Lie::DropFileSync),
    ];
    println!("{noticed:?}");
    // Each stands for others of its kind: a run, names, the log, the manifest.
    assert!(noticed.iter().all(|syncs| syncs.len() > 1), "{noticed:?}");
}

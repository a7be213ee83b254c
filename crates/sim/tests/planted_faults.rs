//! The runner must notice what it is there for: each fault planted here turns it red.

use timestrata_sim::{
    Effort, Lie, Plant, Report, StreamWorkload, TableWorkload, Which, damage, run,
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

/// Workloads of tables that a fault in the engine must turn red, and in words what it looks like.
fn expect_tables_red(planted: Plant, letters: &[&str], words: &str) {
    let workloads: Vec<_> =
        letters.iter().filter_map(|letters| TableWorkload::parse(letters)).collect();
    let honest = run(&workloads, &effort());
    assert!(honest.violations.is_empty(), "{honest}");
    let report = run(&workloads, &Effort { planted: Some(planted), ..effort() });
    println!("{planted:?}: {} violations", report.violations.len());
    println!("{}", report.violations.first().map(ToString::to_string).unwrap_or_default());
    for workload in letters {
        let mut found = report.violations.iter().filter(|found| found.workload == *workload);
        assert!(found.any(|found| found.problem.contains(words)), "'{workload}': {report}");
    }
    assert!(report.to_string().contains("--of tables --workload"), "{report}");
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

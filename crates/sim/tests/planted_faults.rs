//! The runner must notice what it is there for: each fault planted here turns it red.

use timestrata_sim::{Effort, Lie, Plant, Report, Which, Workload, damage, run};

const SEED: u64 = 99;

/// Workloads that lean on every kind of sync.
fn workloads() -> Vec<Workload> {
    let letters = ["s", "t", "g", "af", "tfc", "atfp", "asr", "wwf"];
    letters.iter().filter_map(|letters| Workload::parse(letters)).collect()
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
        ["atf", "ato", "atfc"].into_iter().filter_map(Workload::parse).collect();
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
    let workloads = Workload::all("afd", 1);
    let honest = run(&workloads, &effort());
    assert!(honest.violations.is_empty(), "{honest}");
    let report = run(&workloads, &Effort { planted: Some(Plant::LostTombstone), ..effort() });
    println!("{} violations", report.violations.len());
    let mut found = report.violations.iter();
    assert!(found.any(|v| v.workload == "afdf" && is_wrong_answer(&v.problem)), "{report}");
}

//! The runner must notice what it is there for: each fault planted here turns it red.

use timestrata_sim::{Effort, Lie, Report, Which, Workload, run};

const SEED: u64 = 99;

/// Workloads that lean on every kind of sync.
fn workloads() -> Vec<Workload> {
    let letters = ["s", "t", "g", "af", "tfc", "atfp", "asr", "wwf"];
    letters.iter().filter_map(|letters| Workload::parse(letters)).collect()
}

fn with(lies: Vec<Lie>) -> Report {
    let effort = Effort {
        lies,
        continued_one_in: 0,
        faults_one_in: 0,
        violations_max: usize::MAX,
        ..Effort::full(SEED)
    };
    run(&workloads(), &effort)
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
    let wrong = |problem: &str| problem.contains("holds");
    assert!(!report.violations.iter().any(|violation| wrong(&violation.problem)), "{report}");
}

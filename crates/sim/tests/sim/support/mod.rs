//! What the tests of every kind of store share.

use std::io::Write;

use timestrata_sim::{Effort, Subject, Workload, run};

/// Runs, prints what was tried, and fails with the violations.
pub(crate) fn expect_promises_kept<S: Subject>(
    what: &str,
    workloads: &[Workload<S>],
    effort: &Effort,
) {
    let report = run(workloads, effort);
    // Not by println: the harness would keep it to itself where all is well.
    let _ = writeln!(std::io::stderr(), "{what}: {report}");
    assert!(report.violations.is_empty(), "{what}: {report}");
    // A run that tries nothing finds nothing.
    assert_eq!(report.workloads, workloads.len() as u64);
    assert!(report.crash_points > report.workloads && report.states_opened > report.workloads);
}

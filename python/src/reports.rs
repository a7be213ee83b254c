//! What a store reports about itself: frozen classes, one file each.

mod backup_report;
mod check_report;
mod finding;
mod missing_rows;
mod pin;
mod purge_report;
mod recovery_report;
mod repair_report;

pub(crate) use backup_report::BackupReport;
pub(crate) use check_report::CheckReport;
pub(crate) use finding::Finding;
pub(crate) use missing_rows::missing_rows;
pub(crate) use pin::Pin;
pub(crate) use purge_report::PurgeReport;
pub(crate) use recovery_report::RecoveryReport;
pub(crate) use repair_report::RepairReport;

use std::path::Path;

/// A path as Python shows it.
fn shown(path: &Path) -> String {
    path.display().to_string()
}

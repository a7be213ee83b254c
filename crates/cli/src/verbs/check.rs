//! `timestrata check`.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use timestrata::{CheckReport, Finding, Io};

use super::{bytes_shown, counted};
use crate::faces::expect_directory;
use crate::failure::{Failure, Result};
use crate::message::tell;
use crate::output::{FormArg, ReportFormat, print};

/// Read every byte of a store, and say what is wrong and where.
#[derive(Debug, Args)]
#[command(after_help = "\
Nothing is changed, and a store that is being written may be checked. Findings go to stdout, \
one a line. The exit code is 1 if there is damage; other findings (a stray file, a torn tail \
that the next open cuts) are told, and the exit code stays 0.

Examples:
  timestrata check ./store
  timestrata check ./store --json")]
pub(crate) struct CheckArgs {
    /// The store's directory.
    dir: PathBuf,
    #[command(flatten)]
    form: FormArg<ReportFormat>,
}

pub(crate) fn run(arguments: &CheckArgs) -> Result<()> {
    expect_directory(
        &arguments.dir,
        "run it beside the server, on its directory: a store that is being written may be checked",
    )?;
    let report = timestrata::check(&Io::os(), &arguments.dir)?;
    match arguments.form.is_json() {
        true => print(format_args!("{}\n", as_json(&report)))?,
        false => print(report.findings.iter().map(line).collect::<String>())?,
    }
    let read = format!(
        "read {} in {}, {} and {} of the log",
        bytes_shown(report.bytes),
        counted(report.files, "file"),
        counted(report.rows, "row"),
        counted(report.wal_commits, "commit")
    );
    if report.is_sound() {
        tell(format_args!("{read}: sound"));
        return Ok(());
    }
    let damaged = report.findings.iter().filter(|finding| finding.is_damage).count() as u64;
    Err(Failure::failed(
        format!("{read}: {} [{}]", counted(damaged, "damaged place"), arguments.dir.display()),
        "restore the files named from a backup; no byte was changed",
    ))
}

/// One finding as text.
fn line(finding: &Finding) -> String {
    let kind = if finding.is_damage { "damage" } else { "note" };
    let place = match finding.offset {
        Some(offset) => format!("{}, byte {offset}", finding.path.display()),
        None => finding.path.display().to_string(),
    };
    format!("{kind}: {} [{place}]\n", finding.message)
}

fn as_json(report: &CheckReport) -> serde_json::Value {
    let findings: Vec<_> = report
        .findings
        .iter()
        .map(|finding| {
            json!({
                "path": finding.path.display().to_string(),
                "offset": finding.offset,
                "message": finding.message,
                "damage": finding.is_damage,
            })
        })
        .collect();
    json!({
        "sound": report.is_sound(),
        "files": report.files,
        "bytes": report.bytes,
        "rows": report.rows,
        "wal_commits": report.wal_commits,
        "findings": findings,
    })
}

//! `timestrata repair`.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};
use timestrata::{Io, RepairOptions, RepairReport, missing_info};

use super::counted;
use crate::faces::expect_directory;
use crate::failure::Result;
use crate::message::tell;
use crate::output::{FormArg, ReportFormat, print};

/// Make a new store of what can be read of a damaged one.
#[derive(Debug, Args)]
#[command(after_help = "\
The damaged store is not changed, and must not be open for writing. The new one is made from its \
manifest as far as that can be read, from what its runs say of themselves, and from its log; of damaged \
runs the blocks that can be read are taken over. What is lost is told by stream, keys and file, on \
stdout. The exit code is 0 also where something is lost: the report says so.

Examples:
  timestrata repair ./store --dry-run
  timestrata repair ./store --to ./rescued")]
pub(crate) struct RepairArgs {
    /// The damaged store's directory.
    dir: PathBuf,
    /// Where the new store goes: missing, or an empty directory; default: the name with '-repaired'.
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
    /// Only tell what would come of it.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    form: FormArg<ReportFormat>,
}

pub(crate) fn run(arguments: &RepairArgs) -> Result<()> {
    expect_directory(&arguments.dir, "stop the server, and run it on its directory")?;
    let options = RepairOptions { to: arguments.to.clone(), dry_run: arguments.dry_run };
    let report = timestrata::repair(&Io::os(), &arguments.dir, &options)?;
    match arguments.form.is_json() {
        true => print(format_args!("{}\n", as_json(&report)))?,
        false => print(&report)?,
    }
    let losses = (report.missing.len() + report.lost.len()) as u64;
    match report.lost_nothing() {
        true => tell("nothing was lost"),
        false => tell(format_args!("{} could not be read", counted(losses, "place"))),
    }
    Ok(())
}

fn as_json(report: &RepairReport) -> Value {
    let streams = report.streams.iter().map(|stream| {
        json!({
            "name": stream.name,
            "runs": stream.runs,
            "rows": stream.rows,
            "commits_from_log": stream.commits_from_log,
        })
    });
    let left_out = report
        .left_out
        .iter()
        .map(|file| json!({ "path": file.path.display().to_string(), "why": file.why }));
    json!({
        "to": report.to.as_ref().map(|to| to.display().to_string()),
        "lost_nothing": report.lost_nothing(),
        "manifest_lost": report.manifest_lost,
        "streams": streams.collect::<Vec<_>>(),
        "pins": report.pins,
        "missing": report.missing.iter().map(missing_info).collect::<Vec<_>>(),
        "lost": report.lost,
        "left_out": left_out.collect::<Vec<_>>(),
        "doubts": report.doubts,
    })
}

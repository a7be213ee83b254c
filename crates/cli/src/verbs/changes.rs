//! `timestrata changes`.

use std::io::{self, BufWriter, Write};
use std::time::Duration;

use clap::Args;
use serde_json::Value;
use timestrata::{Access, ErrorKind};

use super::counted;
use crate::faces::{ChangesFrom, StoreArg};
use crate::failure::{Failure, Result};
use crate::interrupt::{Interrupt, is_output_closed};
use crate::output::{FormArg, ReportFormat};
use crate::terminal::push_visible;

/// How long one look for new commits takes at most.
const LOOK: Duration = Duration::from_millis(500);

/// Print what commits have changed, one after the other.
#[derive(Debug, Args)]
#[command(after_help = "\
A line for each change: the commit's number, its time, what was done, to what, and how many rows. With --json a commit a \
line, with the rows, as a server gives them.

Without a name nothing is remembered, and a store that is being written can be read. With one it goes on where that \
follower has come to, and what was printed counts as done; until then the store keeps it. A name that is new begins \
with the next commit, or behind --since.

Examples:
  timestrata changes ./store
  timestrata changes ./store --since 1200 --json > changes.jsonl
  timestrata changes http://127.0.0.1:8080 --name search-index --json --follow | ./put-into-index")]
pub(crate) struct ChangesArgs {
    #[command(flatten)]
    store: StoreArg,
    /// The commit behind which to begin. Default: 0, so with the first one.
    #[arg(long, value_name = "SEQ")]
    since: Option<u64>,
    /// Wait for more when all have been printed.
    #[arg(long, short)]
    follow: bool,
    /// Go on behind what this follower has seen, and note what was printed.
    #[arg(long)]
    name: Option<String>,
    #[command(flatten)]
    form: FormArg<ReportFormat>,
}

pub(crate) fn run(arguments: &ChangesArgs) -> Result<()> {
    let interrupt = Interrupt::listen()?;
    let (access, from) = match arguments.name.as_deref() {
        Some(name) => {
            (Access::WriteExisting, ChangesFrom::Follower { name, since: arguments.since })
        }
        None => (Access::Read, ChangesFrom::Commit(arguments.since.unwrap_or(0))),
    };
    let store = arguments.store.open(access, Some(&interrupt))?;
    let mut changes = store.changes(from)?;
    let mut out = BufWriter::new(io::stdout().lock());
    let timeout = if arguments.follow { LOOK } else { Duration::ZERO };
    while !interrupt.is_heard() && !is_output_closed() {
        let lines = match changes.next(timeout) {
            Err(_) if interrupt.is_heard() => break,
            lines => lines?,
        };
        if lines.is_empty() && !arguments.follow {
            break;
        }
        for line in &lines {
            match arguments.form.is_json() {
                true => out.write_all(line).map_err(Failure::output)?,
                false => write_text(line, &mut out)?,
            }
        }
        out.flush().map_err(Failure::output)?;
        if !lines.is_empty() {
            changes.save()?;
        }
    }
    store.close()
}

/// The changes of a commit for people.
fn write_text(line: &[u8], out: &mut impl Write) -> Result<()> {
    let commit: Value = serde_json::from_slice(line).map_err(|error| {
        timestrata::Error::new(ErrorKind::Corruption, format!("a commit's JSON: {error}"))
    })?;
    let time = commit["time"].as_str().unwrap_or("-");
    for change in commit["changes"].as_array().into_iter().flatten() {
        let text = |name: &str| change[name].as_str().unwrap_or_default();
        let mut what = format!("{} {} {} {}", commit["seq"], time, text("kind"), text("model"));
        what.push(' ');
        push_visible(text("name"), &mut what);
        if !text("part").is_empty() {
            what.push_str(&format!(" {}", text("part")));
        }
        if let Some(partition) = change["partition"].as_u64() {
            what.push_str(&format!(" {partition}"));
        }
        match (change["rows"].as_array(), change["range"].as_array()) {
            (Some(rows), _) => what.push_str(&format!(": {}", counted(rows.len() as u64, "row"))),
            (None, Some(range)) => {
                let [from, to] =
                    [0, 1].map(|end| range.get(end).map_or_else(String::new, key_shown));
                what.push_str(&format!(": [{from}, {to})"));
            }
            (None, None) => {}
        }
        writeln!(out, "{what}").map_err(Failure::output)?;
    }
    Ok(())
}

/// One end of a range of keys.
fn key_shown(key: &Value) -> String {
    match key {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

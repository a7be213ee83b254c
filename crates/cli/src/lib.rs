//! The `timestrata` command: reads the command line, runs one verb, and turns its outcome
//! into an exit code.
//!
//! Data goes to stdout, messages to stderr. A verb lives in `verbs/`, one file each. [`run`] is all that
//! others use: the binary of this crate, and the command that Python's package installs.
#![forbid(unsafe_code)]

mod at;
mod faces;
mod failure;
mod home;
mod input;
mod interrupt;
mod message;
mod old_words;
mod output;
mod ranges;
mod rows;
mod secret;
mod terminal;
mod times;
mod verbs;

use std::ffi::OsString;
use std::io::{self, Write};

use clap::{CommandFactory, FromArgMatches, Parser};

use verbs::topic::{
    checkpoint, consistency, consume, groups, kcat, keygen, produce, prove, verify_consistency,
    verify_proof, vkey, witness,
};
use verbs::{
    backup, check, compact, completions, delete, export, graph, info, ingest, logs, purge, query,
    repair, restore, timelog, topic, verbs, version,
};
#[cfg(feature = "sql")]
use verbs::{changes, config, mcp, serve, sql, token};

const AFTER_HELP: &str = "\
Data goes to stdout, messages and the progress bar to stderr. '-' is stdin.

STORE is a store's directory, or the URL of a server that has it open ('http://127.0.0.1:8080'); the token that it may \
ask for comes from a file: --token-file, or TIMESTRATA_TOKEN_FILE.

Times are RFC 3339 with a zone ('2013-01-01T06:00:00Z'), a date with or without a time of day \
('2013-01-01', '2013-01-01 06:00:00.5': UTC), or an integer.

Exit codes: 0 done, 1 failed (or 'check' found damage), 2 the command line is wrong.

Examples:
  timestrata ingest ./store weather weather.csv --as timelog --time time_hour
  timestrata query ./store weather --from 2013-07-01 --to 2013-07-02 --columns origin,temp
  timestrata info ./store
  timestrata check ./store";

/// One embedded store for everything that happens over time.
#[derive(Debug, Parser)]
#[command(name = "timestrata", version, after_help = AFTER_HELP, max_term_width = 100)]
struct CommandLine {
    #[command(subcommand)]
    verb: Verb,
}

verbs! {
    Ingest: ingest::IngestArgs => ingest::run,
    Query: query::QueryArgs => query::run,
    #[cfg(feature = "sql")]
    Sql: sql::SqlArgs => sql::run,
    Export: export::ExportArgs => export::run,
    #[cfg(feature = "sql")]
    Changes: changes::ChangesArgs => changes::run,
    #[cfg(feature = "sql")]
    Serve: serve::ServeArgs => serve::run,
    #[cfg(feature = "sql")]
    Token: token::TokenCommand => token::run,
    #[cfg(feature = "sql")]
    Config: config::ConfigCommand => config::run,
    #[cfg(feature = "sql")]
    Mcp: mcp::McpArgs => mcp::run,
    Delete: delete::DeleteArgs => delete::run,
    Graph: graph::GraphCommand => graph::run,
    Logs: logs::LogsCommand => logs::run,
    Timelog: timelog::TimelogCommand => timelog::run,
    Topic: topic::TopicCommand => topic::run,
    Produce: produce::ProduceArgs => produce::run,
    Consume: consume::ConsumeArgs => consume::run,
    Tail: consume::TailArgs => consume::run_tail,
    Kcat: kcat::KcatArgs => kcat::run,
    Groups: groups::GroupsArgs => groups::run,
    Keygen: keygen::KeygenArgs => keygen::run,
    Vkey: vkey::VkeyArgs => vkey::run,
    Checkpoint: checkpoint::CheckpointArgs => checkpoint::run,
    Witness: witness::WitnessArgs => witness::run,
    Prove: prove::ProveArgs => prove::run,
    VerifyProof: verify_proof::VerifyProofArgs => verify_proof::run,
    Consistency: consistency::ConsistencyArgs => consistency::run,
    VerifyConsistency: verify_consistency::VerifyConsistencyArgs => verify_consistency::run,
    Info: info::InfoArgs => info::run,
    Check: check::CheckArgs => check::run,
    Repair: repair::RepairArgs => repair::run,
    Compact: compact::CompactArgs => compact::run,
    Purge: purge::PurgeArgs => purge::run,
    Backup: backup::BackupArgs => backup::run,
    Restore: restore::RestoreArgs => restore::run,
    Version: version::VersionArgs => version::run,
    Completions: completions::CompletionsArgs => completions::run::<CommandLine>,
}

/// The token in a file, as `--token-file` takes it: its first line that has something in it.
///
/// # Errors
/// `InvalidArgument` for a file that can't be read, that others may read or change, or that has none.
pub fn read_token(path: &std::path::Path) -> timestrata::Result<String> {
    faces::token_of(path).map_err(failure::Failure::into_error)
}

/// Runs the command with the words of a command line, the first of which is the program's own name, and
/// gives its exit code: 0 done, 1 failed, 2 the command line has no meaning.
///
/// It owns the process while it runs: it writes to stdout and stderr, a verb may listen for Ctrl-C and a
/// signal to terminate, and a second such signal ends the process. Signals that nobody listens for do what
/// the process has them do.
///
/// ```no_run
/// assert_eq!(timestrata_cli::run(["timestrata", "--version"].map(Into::into)), 0);
/// ```
pub fn run(words: impl IntoIterator<Item = OsString>) -> u8 {
    let mut command = home::with_paths_led_home(CommandLine::command());
    let read = command.try_get_matches_from_mut(words).and_then(|found| {
        CommandLine::from_arg_matches(&found).map_err(|wrong| wrong.format(&mut command))
    });
    let outcome = match read {
        Ok(arguments) => arguments.verb.run(),
        Err(wrong) => {
            // Help that nobody reads to its end is no failure.
            let _ = wrong.print();
            if let Some((old, new)) = old_words::in_error(&wrong) {
                message::tell(format_args!("hint: {old} is now called {new}"));
            }
            return u8::try_from(wrong.exit_code()).unwrap_or(failure::USAGE);
        }
    };
    // Only where a process ends by Rust's own `main` does somebody else do this.
    let flushed = io::stdout().flush().map_err(failure::Failure::output);
    outcome.and(flushed).map_or_else(failure::Failure::report, |()| 0)
}

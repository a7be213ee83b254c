//! What may be said of a load into a log.

use std::path::PathBuf;

use clap::Args;
use timestrata::ingest::lines::LogFormats;
use timestrata::logs::Labels;
use timestrata::size_of_text;

use super::super::{IngestArgs, Mismatch, OnError};
use crate::failure::{Failure, Result};
use crate::input::read_text;

/// What only logs have.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of logs")]
pub(in crate::verbs::ingest) struct LogArgs {
    /// How lines are written: json, logfmt, access, syslog, journal, plain, or a name such as android or
    /// postgresql. Default: by the first ones, and told.
    #[arg(long, value_name = "FORMAT")]
    pub(in crate::verbs::ingest) log_format: Option<String>,
    /// A file of more formats, in TOML: patterns with names for what they find; may be said more than once.
    #[arg(long = "format-file", value_name = "FILE")]
    pub(in crate::verbs::ingest) format_files: Vec<PathBuf>,
    /// Each line is an entry, also those of a stack trace, which belong to the line before else.
    #[arg(long)]
    pub(in crate::verbs::ingest) each_line: bool,
    /// Go on with what is written to the files, through rotation, until Ctrl-C; the table NAME.files says how far each is, and
    /// another start goes on there. Patterns such as '/var/log/*.log', in quotes, also take files that come later.
    #[arg(long, conflicts_with = "skip_lines")]
    pub(in crate::verbs::ingest) follow: bool,
    /// A label for all entries, also written KEY:VALUE; may be said more than once.
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = label)]
    pub(in crate::verbs::ingest) labels: Vec<(String, String)>,
    /// The year of times that have none. Default: the last in which they are not later than their file.
    #[arg(long)]
    pub(in crate::verbs::ingest) year: Option<i32>,
    /// Longest message of a new log; a longer one becomes several entries. Default: 1 MiB.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(in crate::verbs::ingest) message_bytes_max: Option<usize>,
    /// Lines at the beginning that are left out: of the first file of a log, as an earlier load has them; of each
    /// file of a table.
    #[arg(long, value_name = "LINES", default_value_t = 0)]
    pub(in crate::verbs::ingest) skip_lines: u64,
    /// Sync each commit before the next, and not only all of them at the end.
    #[arg(long)]
    pub(super) sync: bool,
}

fn label(text: &str) -> std::result::Result<(String, String), String> {
    // A key has neither of the two, so that the first one ends it.
    let (key, value) = text.split_once(['=', ':']).ok_or("a label is written KEY=VALUE")?;
    Labels::default().set(key, value).map_err(|error| error.message().to_owned())?;
    Ok((key.to_owned(), value.to_owned()))
}

fn size(text: &str) -> std::result::Result<usize, String> {
    let bytes = size_of_text(text).and_then(|bytes| usize::try_from(bytes).ok());
    bytes.ok_or_else(|| "a size such as '64KiB'".to_owned())
}

impl LogArgs {
    /// Formats that are known, with those of the files.
    pub(super) fn formats(&self) -> Result<LogFormats> {
        let mut formats = LogFormats::default();
        for path in &self.format_files {
            let text = read_text(path, "a file of formats")?;
            formats = formats.with_file(&text, &path.display().to_string())?;
        }
        Ok(formats)
    }

    /// The labels of all entries.
    pub(super) fn labels(&self) -> Result<Labels> {
        let mut labels = Labels::default();
        for (key, value) in &self.labels {
            labels.set(key, value)?;
        }
        Ok(labels)
    }

    /// Refuses what only logs have.
    pub(in crate::verbs::ingest) fn expect_none(&self) -> Result<()> {
        let Self {
            log_format,
            format_files,
            each_line,
            follow,
            labels,
            year,
            message_bytes_max,
            skip_lines: _,
            sync,
        } = self;
        let is_used = log_format.is_some()
            || !format_files.is_empty()
            || *each_line
            || *follow
            || !labels.is_empty()
            || year.is_some()
            || message_bytes_max.is_some()
            || *sync;
        match is_used {
            false => Ok(()),
            true => Err(Failure::usage(
                "--log-format, --format-file, --each-line, --follow, --label, --year, --message-bytes-max and --sync are \
                 for logs",
                "leave them out, or say --as logs",
            )),
        }
    }
}

/// Refuses what only tables and time logs have.
pub(in crate::verbs::ingest) fn expect_of_logs(arguments: &IngestArgs) -> Result<()> {
    if arguments.format.is_some() {
        return Err(Failure::usage(
            "--format is for tables and time logs",
            "say --log-format, or leave it out",
        ));
    }
    let is_other = arguments.time.is_some()
        || !arguments.key.is_empty()
        || !arguments.tags.is_empty()
        || arguments.ids
        || arguments.codec.is_some()
        || arguments.value.is_some()
        || arguments.time_unit.is_some()
        || arguments.log_unit.is_some()
        || arguments.delimiter.is_some()
        || arguments.on_mismatch != Mismatch::Error
        || arguments.on_error != OnError::Fail;
    match is_other {
        false => Ok(()),
        true => Err(Failure::usage(
            "of a log's lines neither columns nor their types can be chosen, and none is left out",
            "leave these options out, or say --as table or --as timelog",
        )),
    }
}

//! `timestrata ingest`.

mod logs;
mod reading;
mod served;
mod table;
mod timelog;

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use timestrata::ingest::rows::Delimiter;
use timestrata::timelog::Unit;
use timestrata::{Access, RunCompression};

use crate::faces::{Kind, Place, StoreArg};
use crate::failure::{Failure, Result};
use crate::input;
use crate::message::tell;
use crate::verbs::{counted, grouped};

/// Load rows of files.
#[derive(Debug, Args)]
#[command(after_help = "\
As a table: CSV, JSON lines, Arrow (stream or file) and Parquet; gzip and zstd are unpacked. \
Columns have types, found from a sample and then held to. Each file is one atomic commit, unless \
--batch-rows says otherwise: at the first bad row nothing of its file is kept (--on-error skip \
leaves it out and goes on). Columns that the table lacks are added to it.

As a time log: CSV and JSON lines; gzip and zstd are unpacked. The value of a row is all its columns, as a \
CBOR map; with --codec bytes it is the text of the column that --value names. Rows are committed \
in batches, and at the first bad row those before it stay.

As a log: JSON lines, logfmt, access logs of Apache httpd and nginx, syslog, exported journals, logs of some forty programs, and any \
other text; gzip and zstd are unpacked. The format is guessed from the first lines, and told. A line \
that isn't in it is kept as it is, as the message of an entry with a field parse_error. Commits of about \
32 MiB are atomic, and what comes slowly is committed each second; a load that ends early tells how \
to go on.

As a table, dates are found in most ways in which people write them (31.01.2024, Jan 1 2000, 1/31/2024 10:15 PM), unless \
nothing tells the day from the month; a value that doesn't fit the type found so far widens its column within its file. \
--dry-run tells all that was found.

CSV has a header line, unless --no-header says otherwise. Rows may come in any order. Without --time-unit an integer time is taken \
as seconds below 10^11, milliseconds below 10^14, microseconds below 10^17, else nanoseconds.

Examples:
  timestrata ingest ./store flights flights.csv.gz --as table --time time_hour --tag origin
  timestrata ingest ./store users users.parquet --as table --key id
  timestrata ingest ./store sales sales.csv --as table --time-format '%d/%m/%Y' --dry-run
  timestrata ingest ./store weather weather.csv --as timelog --time time_hour
  timestrata ingest ./store web access.log.1.gz access.log --as logs --label host=web-1
  timestrata ingest ./store app --as logs --follow '/var/log/app/*.log'
  journalctl -f -o export | timestrata ingest ./store host - --as logs
  tail -n +1 -f app.jsonl | timestrata ingest ./store app - --as timelog --time at --batch-rows 100")]
pub(crate) struct IngestArgs {
    #[command(flatten)]
    store: StoreArg,
    /// The table, time log or log; made if missing.
    name: String,
    /// Files to load, in this order; '-' is stdin.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// What to load them as; default: as what the name stands for already.
    #[arg(long = "as", value_enum)]
    model: Option<Model>,
    /// The column that has the time; default: as the table has it, else the first of times, those
    /// called timestamp, time, ts, datetime or date before others.
    #[arg(long, value_name = "COLUMN")]
    time: Option<String>,
    /// Table: columns of the upsert key; of rows equal in them the last one is kept.
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    key: Vec<String>,
    /// Table: columns that say which series a row belongs to.
    #[arg(long = "tag", value_name = "A,B", value_delimiter = ',')]
    tags: Vec<String>,
    /// Table: tell rows apart by a column 'id', and number rows that come without one.
    #[arg(long, conflicts_with = "key")]
    ids: bool,
    /// Table: what to do with values of another type than their column's.
    #[arg(long, value_enum, default_value_t = Mismatch::Error)]
    on_mismatch: Mismatch,
    /// Table and logs: how compacted files are packed: zstd, zstd:LEVEL (1 to 22), lz4 or none. Default: as it is, and
    /// zstd in a new one.
    #[arg(long, value_name = "CODEC")]
    compression: Option<RunCompression>,
    /// How values are kept; default: as the log has it, and cbor in a new one.
    #[arg(long, value_enum)]
    codec: Option<CodecName>,
    /// The column whose text is the value of a log of bytes.
    #[arg(long, value_name = "COLUMN")]
    value: Option<String>,
    /// Unit of integers in the time column; default: by their magnitude.
    #[arg(long, value_parser = unit(), value_name = "UNIT")]
    time_unit: Option<Unit>,
    /// Unit of the log's timestamps; default: as the log has it, and ms in a new one.
    #[arg(long, value_parser = unit(), value_name = "UNIT")]
    log_unit: Option<Unit>,
    /// How the files are written: csv, jsonl; for tables also arrow, arrows, parquet, protobuf.
    /// Default: by their beginning.
    #[arg(long)]
    format: Option<String>,
    /// What is between two fields of CSV: one character, or 'tab'; for tables also 'blanks', as many as there are.
    /// Default: a comma; for tables what fits the first lines.
    #[arg(long, value_parser = delimiter)]
    delimiter: Option<Delimiter>,
    /// Rows or entries a commit has at most. Default: 50,000; for tables a file is one commit, for logs
    /// 32 MiB.
    #[arg(long, value_name = "ROWS", value_parser = at_least_one)]
    batch_rows: Option<usize>,
    /// What to do with a bad row.
    #[arg(long, value_enum, default_value_t = OnError::Fail)]
    on_error: OnError,
    #[command(flatten)]
    reading: Box<reading::ReadingArgs>,
    #[command(flatten)]
    logs: logs::LogArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Model {
    /// Values by time.
    Timelog,
    /// Typed rows by time.
    Table,
    /// Log lines by the time of their arrival.
    Logs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Mismatch {
    /// Refuse the commit.
    Error,
    /// Widen the column: whole numbers to floats, others to text.
    Widen,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CodecName {
    /// The row as a CBOR map.
    Cbor,
    /// The text of one column.
    Bytes,
}

/// The name of a unit.
fn unit() -> impl TypedValueParser<Value = Unit> {
    PossibleValuesParser::new(["s", "ms", "us", "ns"]).try_map(|name| name.parse::<Unit>())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OnError {
    /// Say where it is, and fail; of a time log the rows before it stay.
    Fail,
    /// Leave it out, say so, and go on.
    Skip,
}

fn delimiter(text: &str) -> std::result::Result<Delimiter, String> {
    let known = text.parse().ok().filter(|found| *found != Delimiter::Byte(b'"'));
    known.ok_or_else(|| {
        "one to eight bytes of text that end no line and are no quote, 'tab' or 'blanks'".to_owned()
    })
}

fn at_least_one(text: &str) -> std::result::Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("at least 1".to_owned()),
        Ok(number) => Ok(number),
        Err(_) => Err("a whole number".to_owned()),
    }
}

/// Loads the files as what the arguments say.
pub(crate) fn run(arguments: &IngestArgs) -> Result<()> {
    let model = match arguments.model {
        Some(model) => model,
        None => known_model(arguments)?,
    };
    if model != Model::Logs {
        arguments.logs.expect_none()?;
    }
    if model != Model::Table {
        arguments.reading.expect_none()?;
    }
    match (model, &arguments.store.store) {
        (Model::Timelog, _) => timelog::run(arguments),
        (Model::Table, Place::Directory(dir)) => table::run(dir, arguments),
        (Model::Logs, Place::Directory(dir)) => logs::run(dir, arguments),
        // Whole files go to a server, which reads them as this command does.
        (Model::Table, Place::Server(url)) => served::run_on_table(url, arguments),
        (Model::Logs, Place::Server(url)) => served::run_on_logs(url, arguments),
    }
}

/// What a name stands for, where nobody says what to load files as.
fn known_model(arguments: &IngestArgs) -> Result<Model> {
    let name = &arguments.name;
    let known = match &arguments.store.store {
        Place::Directory(dir) if !dir.exists() => None,
        _ => arguments.store.open(Access::Read, None)?.kind_of(name)?,
    };
    match known {
        Some(Kind::Table) => Ok(Model::Table),
        Some(Kind::Timelog) => Ok(Model::Timelog),
        Some(Kind::Logs) => Ok(Model::Logs),
        Some(Kind::Topic) => Err(Failure::usage(
            format!("'{name}' is a topic"),
            "records come in by 'timestrata produce'",
        )),
        None => Err(Failure::usage(
            format!("'{name}' is new: what is it to be?"),
            "say --as table, --as timelog or --as logs",
        )),
    }
}

/// What a load came to.
struct Outcome {
    rows: u64,
    files: u64,
    skipped: u64,
    took_ns: u64,
}

impl Outcome {
    fn tell(&self, name: &str) {
        let skipped = match self.skipped {
            0 => String::new(),
            skipped => format!("; {} skipped", counted(skipped, "bad row")),
        };
        self.tell_as(&counted(self.rows, "row"), name, "rows", &skipped);
    }

    /// The same of rows that are called otherwise, of which `left` says what else there is to say.
    fn tell_as(&self, rows: &str, name: &str, things: &str, left: &str) {
        let seconds = self.took_ns as f64 / 1e9;
        let rate = grouped((self.rows as f64 / seconds.max(1e-9)) as u64);
        let files = counted(self.files, "file");
        tell(format_args!(
            "ingested {rows} into '{name}' from {files} in {seconds:.2} s ({rate} {things}/s){left}"
        ));
    }
}

/// Runs over bytes where they are known, else only turns. Shown on a terminal only.
fn progress_bar(files: &[PathBuf]) -> ProgressBar {
    let (total, template) = match input::total_bytes(files) {
        Some(bytes) => (Some(bytes), "{bar:30} {bytes}/{total_bytes} {bytes_per_sec} {msg}"),
        None => (None, "{spinner} {bytes} {bytes_per_sec} {msg}"),
    };
    let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr());
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

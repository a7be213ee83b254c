//! `timestrata export`.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use timestrata::Access;
use timestrata::topic::verifier_of_log;

use super::counted;
use super::topic::vkey;
use crate::at::At;
use crate::faces::{
    EntriesWanted, Kind, RecordsFace, Rows, RowsWanted, Start, StartPlace, StoreArg, StoreFace,
};
use crate::failure::{Failure, Result};
use crate::message::tell;
use crate::output::{EntryRows, FileFormat, Format, Request, print, write_batches, write_to};
use crate::ranges::{arrivals, range};

/// Records that are read at once.
const RECORDS: usize = 1_000;

/// Write the rows of a table, a log, a time log or a topic to a file that other tools read, or a topic as tiles for
/// auditors.
#[derive(Debug, Args)]
#[command(after_help = "\
Rows come in time order. The range is half-open: --from is in it, --to is not.

Examples:
  timestrata export ./store flights --format parquet --output flights.parquet
  timestrata export ./store flights --format csv --from 2013-07-01 --to 2013-08-01 > july.csv
  timestrata export ./store app --format json --from 2026-05-01 > app.jsonl
  timestrata export ./store payments --tiles ./public --key ./signing.key

Of a log, times are those of arrival. As JSON an entry is an object with all that it has; else columns \
are timestamp, source_time, level, message, labels and fields (these two as JSON). --columns may also \
name labels and fields. Records of a topic are JSON, as 'consume --format json' prints them.

--tiles writes a topic as it was at its last checkpoint as the files of C2SP's tlog-tiles, a log for \
each partition: straight into the folder where there is one, else into OUT/0, OUT/1 and so on. \
The same folder is brought up to date by the next export.")]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    store: StoreArg,
    /// The table, log, time log or topic.
    name: String,
    /// The form of the file.
    #[arg(long, value_enum, required_unless_present = "tiles")]
    format: Option<FileFormat>,
    /// Write the tiles of a topic into this folder.
    #[arg(long, value_name = "OUT",
          conflicts_with_all = ["format", "output", "from", "to", "columns"])]
    tiles: Option<PathBuf>,
    /// The file with a private key: sign partitions that have records since their last checkpoint first, and print the
    /// public key of each log.
    #[arg(long, value_name = "FILE", requires = "tiles", conflicts_with = "at")]
    key: Option<PathBuf>,
    /// The file, which must not exist; default: stdout.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// First time wanted; default: from the oldest row.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    from: Option<String>,
    /// First time not wanted any more; default: to the newest row, inclusive.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    to: Option<String>,
    /// Columns wanted, in this order; default all.
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    columns: Option<Vec<String>>,
    #[command(flatten)]
    at: At,
}

#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a user's file, not a file of a store"
)]
pub(crate) fn run(arguments: &ExportArgs) -> Result<()> {
    if let Some(out) = &arguments.tiles {
        return tiles(arguments, out);
    }
    let store = arguments.store.read(&arguments.at)?;
    let Some(format) = arguments.format else { return Ok(()) };
    let rows = ExportedRows::open(store.as_ref(), arguments)?;
    let Some(path) = &arguments.output else {
        rows.write(std::io::stdout(), format)?;
        return Ok(());
    };
    let file = std::fs::File::create_new(path).map_err(|cause| {
        Failure::failed(
            format!("could not make the file: {cause} [{}]", path.display()),
            "choose a name that is not taken, in a directory that may be written",
        )
    })?;
    let rows = rows.write(&file, format).inspect_err(|_| {
        // Half a file must not pass for a whole one.
        let _ = std::fs::remove_file(path);
    })?;
    file.sync_all().map_err(Failure::output)?;
    tell(format_args!("exported {} to {}", counted(rows, "row"), path.display()));
    Ok(())
}

/// What is written.
enum ExportedRows {
    Table(Box<dyn Rows>),
    Log(Box<EntryRows>),
    Timelog(Request),
    /// Records of a topic, and its name.
    Topic(Box<dyn RecordsFace>, String),
}

impl ExportedRows {
    fn open(store: &dyn StoreFace, arguments: &ExportArgs) -> Result<Self> {
        let ExportArgs { name, from, to, columns, .. } = arguments;
        let (from, to) = (from.as_deref(), to.as_deref());
        match store.kind_of(name)? {
            Some(Kind::Logs) => {
                let found = store.logs(name)?.search(&arrivals(from, to)?)?;
                return Ok(Self::Log(Box::new(EntryRows::new(found, columns.as_deref()))));
            }
            Some(Kind::Timelog) => {
                let log = store.timelog(name)?;
                let range = range(from, to, log.unit())?;
                let wanted = EntriesWanted { range, limit: None, reverse: false };
                let (rows, unit) = (log.rows(wanted)?, log.unit());
                return Ok(Self::Timelog(Request { rows, unit, columns: columns.clone() }));
            }
            Some(Kind::Topic) => {
                if from.is_some() || to.is_some() || columns.is_some() {
                    return Err(Failure::usage(
                        "--from, --to and --columns are for rows by time",
                        "'timestrata consume' begins at a place, and SQL picks columns",
                    ));
                }
                let start = Start::At(None, StartPlace::Earliest);
                return Ok(Self::Topic(store.topic(name)?.read(&start)?, name.clone()));
            }
            Some(Kind::Table) | None => {}
        }
        let wanted = RowsWanted { from, to, columns: columns.as_deref(), ..RowsWanted::default() };
        store.table(name)?.rows(&wanted).map(Self::Table)
    }

    fn write(self, out: impl Write + Send, format: FileFormat) -> Result<u64> {
        match self {
            Self::Table(mut rows) => write_batches(out, &rows.schema(), &mut rows, format),
            Self::Log(rows) => rows.write(out, format),
            Self::Timelog(request) => match format {
                FileFormat::Csv => write_to(out, &request, Format::Csv),
                FileFormat::Json => write_to(out, &request, Format::Json),
                FileFormat::Arrow => write_to(out, &request, Format::Arrow),
                FileFormat::Parquet => Err(Failure::usage(
                    "a time log has values of any shape, and Parquet columns of one",
                    "say --format arrow, csv or json",
                )),
            },
            Self::Topic(records, name) if format == FileFormat::Json => {
                write_records(out, records, &name)
            }
            Self::Topic(_, name) => Err(Failure::usage(
                "records of a topic have bytes and headers: they are exported as JSON",
                format!("say --format json, or ask in SQL: SELECT * FROM \"{name}\""),
            )),
        }
    }
}

/// Writes records as 'consume --format json' prints them.
fn write_records(out: impl Write, mut records: Box<dyn RecordsFace>, topic: &str) -> Result<u64> {
    let (mut out, mut written) = (BufWriter::new(out), 0);
    loop {
        let taken = records.poll(Duration::ZERO, RECORDS, &mut |partition, offset, record| {
            let line = record.to_json(topic, partition, offset);
            writeln!(out, "{line}").map_err(Failure::output)
        })?;
        if taken == 0 {
            break;
        }
        written += taken as u64;
    }
    out.flush().map_err(Failure::output)?;
    Ok(written)
}

fn tiles(arguments: &ExportArgs, out: &Path) -> Result<()> {
    let ExportArgs { name, key, .. } = arguments;
    let store = match key {
        Some(_) => arguments.store.open(Access::WriteExisting, None)?,
        None => arguments.store.read(&arguments.at)?,
    };
    let topic = store.topic(name)?;
    if key.is_some() {
        topic.checkpoint_all(key.as_deref())?;
    }
    let partitions = topic.partitions()?;
    // All or none: a partition without a checkpoint is told before anything is written.
    for partition in 0..partitions {
        if !topic.has_checkpoint(partition)? {
            return Err(Failure::failed(
                format!("topic '{name}' partition {partition} has no checkpoint yet"),
                "sign all partitions first: 'timestrata checkpoint --all', or --key here",
            ));
        }
    }
    for partition in 0..partitions {
        let folder = match partitions {
            1 => out.to_owned(),
            _ => out.join(partition.to_string()),
        };
        let done = topic.export_tiles(partition, &folder)?;
        let gone = match done.gone {
            0 => String::new(),
            gone => format!("; {} of entries that are not all kept", counted(gone, "file")),
        };
        tell(format_args!(
            "{} of {} in {}{gone}",
            counted(done.tiles, "tile"),
            counted(done.size, "record"),
            folder.display()
        ));
        if let Some(key) = key {
            print(format_args!("{}\n", verifier_of_log(&vkey::of_file(key)?, name, partition)?))?;
        }
    }
    store.close()
}

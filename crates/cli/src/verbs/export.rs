//! `timestrata export`.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use timestrata::logs::is_logs;
use timestrata::topic::Topic;
use timestrata::{Io, Scan, Store};

use super::at::At;
use super::{arrivals, counted, table_rows};
use crate::failure::{Failure, Result};
use crate::message::tell;
use crate::output::{EntryRows, FileFormat, write_batches};

/// Write the rows of a table or a log to a file that other tools read, or a topic as tiles for auditors.
#[derive(Debug, Args)]
#[command(after_help = "\
Rows come in time order. The range is half-open: --from is in it, --to is not.

Examples:
  timestrata export ./store flights --format parquet --output flights.parquet
  timestrata export ./store flights --format csv --from 2013-07-01 --to 2013-08-01 > july.csv
  timestrata export ./store app --format json --from 2026-05-01 > app.jsonl
  timestrata export ./store payments --tiles ./public

Of a log, times are those of arrival. As JSON an entry is an object with all that it has; else columns \
are timestamp, source_time, level, message, labels and fields (these two as JSON). --columns may also \
name labels and fields.

--tiles writes a topic as it was at its last checkpoint as the files of C2SP's tlog-tiles, a log for \
each partition: straight into the folder where there is one, else into OUT/0, OUT/1 and so on. \
The same folder is brought up to date by the next export.")]
pub(crate) struct ExportArgs {
    /// The store's directory.
    dir: PathBuf,
    /// The table, log or topic.
    name: String,
    /// The form of the file.
    #[arg(long, value_enum, required_unless_present = "tiles")]
    format: Option<FileFormat>,
    /// Write the tiles of a topic into this folder.
    #[arg(long, value_name = "OUT",
          conflicts_with_all = ["format", "output", "from", "to", "columns"])]
    tiles: Option<PathBuf>,
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
    let store = arguments.at.open(&arguments.dir)?;
    if let Some(out) = &arguments.tiles {
        return tiles(&store, &arguments.name, out);
    }
    let Some(format) = arguments.format else { return Ok(()) };
    let rows = ExportedRows::open(&store, arguments)?;
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
    Table(Scan),
    Log(Box<EntryRows>),
}

impl ExportedRows {
    fn open(store: &Store, arguments: &ExportArgs) -> Result<Self> {
        let ExportArgs { name, from, to, columns, .. } = arguments;
        let (from, to) = (from.as_deref(), to.as_deref());
        if store.stream(name).is_some_and(|stream| is_logs(&stream)) {
            let query = arrivals(from, to)?;
            let rows = EntryRows::open(store, name, &query, columns.as_deref())?;
            return Ok(Self::Log(Box::new(rows)));
        }
        table_rows(store, name, (from, to), columns.clone()).map(Self::Table)
    }

    fn write(self, out: impl Write + Send, format: FileFormat) -> Result<u64> {
        match self {
            Self::Table(mut rows) => write_batches(out, &rows.schema(), &mut rows, format),
            Self::Log(rows) => rows.write(out, format),
        }
    }
}

fn tiles(store: &Store, name: &str, out: &Path) -> Result<()> {
    let topic = Topic::open(store, name)?;
    let partitions = topic.partitions();
    for partition in 0..partitions {
        let folder = match partitions {
            1 => out.to_owned(),
            _ => out.join(partition.to_string()),
        };
        let done = topic.export_tiles(&Io::os(), partition, &folder)?;
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
    }
    Ok(())
}

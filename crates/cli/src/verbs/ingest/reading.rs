//! How files of rows are written, as far as the command line says it: options that are read by their names.

use clap::Args;
use timestrata::ingest::Encoding;
use timestrata::ingest::rows::{Load, Spelling};

use super::IngestArgs;
use crate::failure::{Failure, Result};

/// What only tables have.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of tables")]
pub(super) struct ReadingArgs {
    /// How times are written, as strftime has it: '%d.%m.%Y %H:%M'. Default: found, if days and months can be told apart.
    #[arg(long, value_name = "FORMAT")]
    time_format: Option<String>,
    /// Give each row the time of this load, in a column 'time', or the one that --time names: for files without any.
    #[arg(long)]
    time_of_load: bool,
    /// Tell what would be made of the files, and write nothing.
    #[arg(long)]
    pub(super) dry_run: bool,
    /// What stands for no value, in every column; may be said more than once. Default: nothing at all, and in all but
    /// text NA, N/A, NULL and the like.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    null_text: Vec<String>,
    /// Rows from which types are found, or 'all': a file is read twice then. Default: 20000, and all where a later one
    /// doesn't fit.
    #[arg(long, value_name = "ROWS")]
    sample_rows: Option<String>,
    /// CSV: the first line doesn't name the columns.
    #[arg(long)]
    no_header: bool,
    /// CSV: what encloses fields with delimiters or line ends in them. Default: ".
    #[arg(long, value_name = "CHARACTER")]
    quote: Option<String>,
    /// CSV: what lines begin with that are left out.
    #[arg(long, value_name = "CHARACTER")]
    comment: Option<String>,
    /// CSV: what stands before a fraction: '.' or ','. Default: a point; a comma where semicolons separate fields and
    /// all values of a column have it.
    #[arg(long, value_name = "CHARACTER")]
    decimal: Option<String>,
    /// CSV: what stands between thousands: ',' of 1,234.5. Default: nothing, as nobody can tell it from a fraction.
    #[arg(long, value_name = "CHARACTER")]
    thousands: Option<String>,
    /// CSV: rows with fewer fields than there are columns end with nulls.
    #[arg(long)]
    fill_short_rows: bool,
    /// How text is encoded, also of logs: windows-1252, shift_jis, utf-16le and so on. Default: UTF-8, or UTF-16 with its mark.
    #[arg(long, value_name = "NAME")]
    encoding: Option<String>,
}

impl ReadingArgs {
    /// Each option that is said, by its name.
    fn said(&self) -> Vec<(&'static str, String)> {
        let texts = [
            ("time_format", &self.time_format),
            ("sample_rows", &self.sample_rows),
            ("quote", &self.quote),
            ("comment", &self.comment),
            ("decimal", &self.decimal),
            ("thousands", &self.thousands),
            ("encoding", &self.encoding),
        ];
        let texts = texts.into_iter().filter_map(|(name, said)| Some((name, said.clone()?)));
        let switches = [
            ("header", self.no_header, "false"),
            ("fill_short_rows", self.fill_short_rows, "true"),
            ("time_of_load", self.time_of_load, "true"),
        ];
        let switches = switches.into_iter().filter(|(_, is_on, _)| *is_on);
        let switches = switches.map(|(name, _, value)| (name, value.to_owned()));
        let nulls = self.null_text.iter().map(|text| ("null_text", text.clone()));
        texts.chain(switches).chain(nulls).collect()
    }

    /// How text is encoded, if it is said.
    pub(super) fn encoding(&self) -> Result<Option<Encoding>> {
        let encoding = self.encoding.as_deref().map(str::parse::<Encoding>).transpose();
        encoding
            .map_err(|error| Failure::usage(error.message(), "name another one, or leave it out"))
    }

    /// Refuses what only tables have.
    pub(super) fn expect_none(&self) -> Result<()> {
        let is_of_tables = |(name, _): &(&str, String)| *name != "encoding";
        if !self.said().iter().any(is_of_tables) && !self.dry_run {
            return Ok(());
        }
        Err(Failure::usage(
            "--time-format, --time-of-load, --dry-run, --null-text, --sample-rows, --no-header, --quote, --comment, --decimal, \
             --thousands and --fill-short-rows are for tables",
            "leave them out, or say --as table",
        ))
    }
}

impl IngestArgs {
    /// Each option of reading that is said, by its name.
    pub(super) fn said_of_reading(&self) -> Vec<(&'static str, String)> {
        let mut said = self.reading.said();
        said.extend(self.delimiter.map(|delimiter| ("delimiter", delimiter.to_string())));
        said.extend(self.time_unit.map(|unit| ("time_unit", unit.name().to_owned())));
        if self.logs.skip_lines > 0 {
            said.push(("skip_lines", self.logs.skip_lines.to_string()));
        }
        said
    }

    /// How the files are read.
    pub(super) fn load(&self) -> Result<Load> {
        let mut load = Load::default();
        load.read.spelling = Spelling::Command;
        for (name, value) in self.said_of_reading() {
            load.set(name, &value).map_err(|error| {
                Failure::usage(error.message().to_owned(), "say another, or leave it out")
            })?;
        }
        Ok(load)
    }
}

//! Rows of the user's files, one at a time, straight into a batch of a time log.
//!
//! Not by the readers of `timestrata::ingest`: they give columns that have one type each, and here each value keeps the
//! type that it is written with.

mod csv;
mod field;
mod json;

use std::fmt;
use std::io::{BufRead, BufReader, Read};

use clap::ValueEnum;
use timestrata::timelog::{EntryBatch, Unit, VALUE_BYTES_MAX};
use timestrata::values::lines::BYTE_ORDER_MARK;

use crate::failure::{Failure, Result};
use crate::input::{Bounded, UnpackedInput, could_not_read};
use crate::times::{self, Integers};

/// Bytes of one row as text, at most: its value must fit into a log, and text takes more
/// room than what it says.
const ROW_BYTES_MAX: usize = 2 * VALUE_BYTES_MAX;

/// How the rows of a file are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A header line, then one row a record; quotes as in RFC 4180.
    Csv,
    /// One JSON object a line.
    Json,
}

/// What to make of a row.
#[derive(Debug, Clone)]
pub(crate) struct RowRules {
    /// The column that has the time.
    pub(crate) time_column: String,
    /// The column whose text is the value of a log of bytes; `None`: the whole row as CBOR.
    pub(crate) value_column: Option<String>,
    /// How integers are times.
    pub(crate) integers: Integers,
    /// The log's unit.
    pub(crate) unit: Unit,
    /// What is between two fields of CSV.
    pub(crate) delimiter: u8,
}

impl RowRules {
    fn time(&self, text: &str) -> std::result::Result<i64, String> {
        times::parse(text, self.integers, self.unit)
    }
}

/// A row that can't go in.
#[derive(Debug)]
pub(crate) struct BadRow {
    /// The line on which it begins, from 1.
    pub(crate) line: u64,
    /// The column concerned.
    pub(crate) column: Option<String>,
    /// What is wrong, with the value.
    pub(crate) problem: String,
}

impl fmt::Display for BadRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}", self.line)?;
        if let Some(column) = &self.column {
            write!(f, ", column '{column}'")?;
        }
        write!(f, ": {}", self.problem)
    }
}

/// What reading a row may end in, other than a row.
#[derive(Debug)]
pub(crate) enum RowError {
    /// This row is bad; the next one may be read.
    Bad(BadRow),
    /// The input can't be read on.
    Input(Failure),
}

/// The rows of one file.
pub(crate) enum Rows {
    Csv(csv::CsvRows),
    Json(json::JsonRows),
}

impl Rows {
    /// Begins to read a file; without a `format` its first byte decides.
    pub(crate) fn open(
        input: UnpackedInput,
        format: Option<Format>,
        rules: &RowRules,
    ) -> Result<Self> {
        let UnpackedInput { name, reader } = input;
        let (bounded, allowance) = Bounded::new(reader, ROW_BYTES_MAX);
        let mut reader: RowReader = BufReader::with_capacity(1 << 16, bounded);
        let format = match format {
            Some(format) => format,
            None => guess(&mut reader).map_err(|cause| could_not_read(&name, &cause))?,
        };
        match format {
            Format::Csv => csv::CsvRows::open(name, reader, allowance, rules).map(Self::Csv),
            Format::Json => Ok(Self::Json(json::JsonRows::new(name, reader, allowance))),
        }
    }

    /// What to call the file in messages.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Csv(rows) => &rows.name,
            Self::Json(rows) => &rows.name,
        }
    }

    /// Reads one row into `batch`; false at the end of the file.
    pub(crate) fn next_into(
        &mut self,
        rules: &RowRules,
        batch: &mut EntryBatch,
    ) -> std::result::Result<bool, RowError> {
        match self {
            Self::Csv(rows) => rows.next_into(rules, batch),
            Self::Json(rows) => rows.next_into(rules, batch),
        }
    }
}

type RowReader = BufReader<Bounded<Box<dyn Read>>>;

/// JSON lines begin with a brace; a CSV header never does.
fn guess(reader: &mut impl BufRead) -> std::io::Result<Format> {
    let start = reader.fill_buf()?;
    let start = start.strip_prefix(BYTE_ORDER_MARK).unwrap_or(start).trim_ascii_start();
    match start.first() {
        Some(b'{' | b'[') => Ok(Format::Json),
        _ => Ok(Format::Csv),
    }
}

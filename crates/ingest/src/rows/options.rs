//! Options for reading an input: its format, its compression, the schema that is expected, what happens to
//! bad rows.

use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use arrow_schema::{Field, FieldRef, Schema, SchemaRef, TimeUnit};
use timestrata_engine::{Error, ErrorKind};
use timestrata_io::sync::processors;
use timestrata_table::{Expected, OnMismatch, Table};
use timestrata_values::spelling::Spelling;
use timestrata_values::time_format::TimeFormat;

use crate::Encoding;

/// Workers that pay: beyond these, cutting the input into pieces is what takes the time.
const THREADS_MAX: usize = 8;

/// The form of an input.
///
/// ```
/// use timestrata_ingest::rows::Format;
///
/// assert_eq!("csv".parse::<Format>()?, Format::Csv);
/// assert_eq!(Format::of_path("trades.jsonl.gz"), Some(Format::JsonLines));
/// assert_eq!(Format::of_mime("text/csv; charset=utf-8"), Some(Format::Csv));
/// # Ok::<(), timestrata_engine::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Text in columns with a delimiter, one line a row.
    Csv,
    /// One JSON object a row: a line each, or one array of them.
    JsonLines,
    /// Arrow IPC, stream.
    ArrowStream,
    /// Arrow IPC, file (Feather version 2).
    ArrowFile,
    /// Parquet.
    Parquet,
    /// `message Batch { repeated Row rows = 1; } message Row { map<string,string> values = 1; }`.
    Protobuf,
}

impl Format {
    /// Each of them.
    pub const ALL: [Self; 6] = [
        Self::Csv,
        Self::JsonLines,
        Self::ArrowStream,
        Self::ArrowFile,
        Self::Parquet,
        Self::Protobuf,
    ];

    /// What the name of a file says: its extension, below one that says how it is packed.
    pub fn of_path(path: impl AsRef<Path>) -> Option<Self> {
        let path = path.as_ref();
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        if Compression::of_extension(&extension).is_some() {
            return Self::of_path(path.file_stem()?);
        }
        extension.parse().ok()
    }

    /// What a `Content-Type` calls it.
    #[must_use]
    pub fn mime(self) -> &'static str {
        match self {
            Self::Csv => "text/csv",
            Self::JsonLines => "application/x-ndjson",
            Self::ArrowStream => "application/vnd.apache.arrow.stream",
            Self::ArrowFile => "application/vnd.apache.arrow.file",
            Self::Parquet => "application/vnd.apache.parquet",
            Self::Protobuf => "application/x-protobuf",
        }
    }

    /// What a `Content-Type` says.
    pub fn of_mime(mime: &str) -> Option<Self> {
        let mime = mime.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        Some(match mime.as_str() {
            "text/csv" | "application/csv" | "text/tab-separated-values" => Self::Csv,
            "application/json"
            | "application/jsonl"
            | "application/x-ndjson"
            | "application/ndjson"
            | "application/x-jsonlines"
            | "application/json-lines" => Self::JsonLines,
            "application/vnd.apache.arrow.stream" | "application/arrow" => Self::ArrowStream,
            "application/vnd.apache.arrow.file" => Self::ArrowFile,
            "application/vnd.apache.parquet" | "application/x-parquet" | "application/parquet" => {
                Self::Parquet
            }
            "application/x-protobuf" | "application/protobuf" => Self::Protobuf,
            _ => return None,
        })
    }
}

/// As it is asked for.
impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Csv => "csv",
            Self::JsonLines => "jsonl",
            Self::ArrowStream => "arrows",
            Self::ArrowFile => "arrow",
            Self::Parquet => "parquet",
            Self::Protobuf => "protobuf",
        })
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Ok(match name.to_ascii_lowercase().as_str() {
            "csv" | "tsv" | "tab" => Self::Csv,
            "jsonl" | "ndjson" | "json" => Self::JsonLines,
            "arrows" | "arrow-stream" => Self::ArrowStream,
            "arrow" | "feather" | "ipc" | "arrow-file" => Self::ArrowFile,
            "parquet" | "pq" => Self::Parquet,
            "protobuf" | "pb" => Self::Protobuf,
            _ => {
                let message = format!(
                    "format '{name}' is not known: csv, jsonl, arrow, arrows, parquet or protobuf"
                );
                return Err(Error::new(ErrorKind::InvalidArgument, message));
            }
        })
    }
}

/// How an input is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Compression {
    /// Not at all.
    None,
    /// gzip, of any number of members.
    Gzip,
    /// Zstandard, of any number of frames.
    Zstd,
}

impl Compression {
    fn of_extension(extension: &str) -> Option<Self> {
        match extension {
            "gz" | "gzip" => Some(Self::Gzip),
            "zst" | "zstd" => Some(Self::Zstd),
            _ => None,
        }
    }

    /// What a `Content-Encoding` says.
    pub fn of_encoding(encoding: &str) -> Option<Self> {
        match encoding.trim().to_ascii_lowercase().as_str() {
            "" | "identity" => Some(Self::None),
            "gzip" | "x-gzip" => Some(Self::Gzip),
            "zstd" => Some(Self::Zstd),
            _ => None,
        }
    }
}

/// Bytes of a delimiter, at most.
const LONG_DELIMITER_BYTES_MAX: usize = 8;

/// What separates the fields of CSV.
///
/// ```
/// use timestrata_ingest::rows::Delimiter;
///
/// assert_eq!(";".parse::<Delimiter>()?, Delimiter::Byte(b';'));
/// assert_eq!("tab".parse::<Delimiter>()?, Delimiter::Byte(b'\t'));
/// assert_eq!("blanks".parse::<Delimiter>()?, Delimiter::Blanks);
/// assert_eq!("||".parse::<Delimiter>()?.to_string(), "||");
/// # Ok::<(), timestrata_engine::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delimiter {
    /// This ASCII character.
    Byte(u8),
    /// Several bytes: `||`, or a character beyond ASCII.
    Text(LongDelimiter),
    /// Spaces and tabs, as many as there are; those at either end of a row separate nothing.
    Blanks,
}

/// A delimiter of several bytes.
///
/// ```
/// use timestrata_ingest::rows::{Delimiter, LongDelimiter};
///
/// let bar = LongDelimiter::new("¦").expect("a character of two bytes");
/// assert_eq!("¦".parse::<Delimiter>()?, Delimiter::Text(bar));
/// assert_eq!((bar.as_bytes().len(), LongDelimiter::new("a\nb")), (2, None));
/// # Ok::<(), timestrata_engine::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LongDelimiter {
    bytes: [u8; LONG_DELIMITER_BYTES_MAX],
    length: u8,
}

impl LongDelimiter {
    /// `None` for what is no text of two to eight bytes, or ends a line.
    pub fn new(text: &str) -> Option<Self> {
        let mut bytes = [0; LONG_DELIMITER_BYTES_MAX];
        let is_one = text.len() > 1 && !text.contains(['\r', '\n']);
        bytes.get_mut(..text.len()).filter(|_| is_one)?.copy_from_slice(text.as_bytes());
        Some(Self { bytes, length: u8::try_from(text.len()).ok()? })
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.length)).unwrap_or_default()
    }
}

impl fmt::Display for LongDelimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(self.as_bytes()))
    }
}

impl FromStr for Delimiter {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text.as_bytes() {
            b"tab" | b"\\t" => Ok(Self::Byte(b'\t')),
            b"blanks" => Ok(Self::Blanks),
            [byte] if byte.is_ascii() && !matches!(byte, b'\r' | b'\n') => Ok(Self::Byte(*byte)),
            _ => LongDelimiter::new(text).map(Self::Text).ok_or_else(|| {
                let why =
                    "it must be one to eight bytes of text that end no line, 'tab' or 'blanks'";
                Error::new(ErrorKind::InvalidArgument, format!("delimiter '{text}': {why}"))
            }),
        }
    }
}

/// As it can be read again.
impl fmt::Display for Delimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Blanks => f.write_str("blanks"),
            Self::Byte(b'\t') => f.write_str("tab"),
            Self::Byte(byte) => char::from(*byte).fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

/// What becomes of a row that does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum OnError {
    /// Reading ends with an error that names its line, column and value.
    #[default]
    Fail,
    /// It is left out, counted, and listed among the first.
    Skip,
}

impl ReadOptions {
    /// Expects rows of a table: its time column, the types of its columns and, with
    /// [`OnMismatch::Widen`], leave for those that may be widened to come as another type.
    ///
    /// # Errors
    /// `NotFound` if the table has been dropped.
    pub fn expect_of(&mut self, table: &Table, on_mismatch: OnMismatch) -> Result<(), Error> {
        let Expected { schema, time, widening } = table.expected(on_mismatch)?;
        self.widening = widening;
        self.schema = Some(schema);
        self.time = Some(time);
        Ok(())
    }

    /// Whether a column's type is inferred, or may be in the end.
    pub(super) fn is_inferred(&self, name: &str) -> bool {
        let is_expected = |schema: &SchemaRef| schema.field_with_name(name).is_ok();
        self.may_widen(name) || !self.schema.as_ref().is_some_and(is_expected)
    }

    /// Whether a column may come as another type than `schema` says.
    pub(super) fn may_widen(&self, name: &str) -> bool {
        self.widening.iter().any(|widening| widening == name)
    }

    /// The same, without a type expected of those columns that may be widened and don't fit theirs.
    pub(super) fn widened(&self, fits: impl Fn(&Field) -> bool) -> Self {
        let Some(schema) = self.schema.as_ref().filter(|_| !self.widening.is_empty()) else {
            return self.clone();
        };
        let stays = |field: &&FieldRef| !self.may_widen(field.name()) || fits(field);
        let kept: Vec<FieldRef> = schema.fields().iter().filter(stays).cloned().collect();
        Self { schema: Some(Arc::new(Schema::new(kept))), ..self.clone() }
    }
}

/// How to read an input. The default finds out everything by itself.
#[derive(Debug, Clone)]
pub struct ReadOptions {
    /// The form. Default: by the first bytes, then by the name, then by a look at the text.
    pub format: Option<Format>,
    /// The packing. Default: by the first bytes.
    pub compression: Option<Compression>,
    /// How text is written in bytes. Default: UTF-8, or UTF-16 where it begins with the mark of that.
    pub encoding: Option<Encoding>,
    /// Lines of text at the beginning that are left out. Default: none; of CSV those with a `#` in front that
    /// are not the names of the columns.
    pub skip_lines: u64,
    /// What lines of CSV begin with that are left out. Default: none.
    pub comment: Option<u8>,
    /// What separates the fields of CSV. Default: whichever of `,` `;` tab `|` `||` `:` `^` and blanks fits the
    /// first lines.
    pub delimiter: Option<Delimiter>,
    /// What encloses fields of CSV that hold delimiters or line ends. Default: `"`.
    pub quote: Option<u8>,
    /// Whether rows of CSV with fewer fields than there are columns end with nulls, and those with one more may have an
    /// empty one at their end. Default: such a row does not fit.
    pub fill_short_rows: bool,
    /// Whether the first row of CSV names the columns. Without, the columns are those of
    /// `schema` in their order, or `column_1` and so on. Default: true.
    pub has_header: bool,
    /// The time column. Default: the first that holds times, of preferred names first.
    pub time: Option<String>,
    /// The unit of numbers in the time column. Default: by the column's name
    /// (`exch_ts_ms`), then by magnitude.
    pub time_unit: Option<TimeUnit>,
    /// How times are written in the time column, and in others of which all values are so. Default: as RFC 3339
    /// has it or as people write them, if days and months can be told apart.
    pub time_format: Option<TimeFormat>,
    /// What stands between a number and its fraction: a point or a comma. Default: a point; a comma
    /// in columns of CSV with semicolons of which all values have it.
    pub decimal: Option<u8>,
    /// What stands between thousands in numbers: a comma, a point, a blank, an apostrophe and so on. Default: nothing, as nobody
    /// can tell `1,234` from a fraction.
    pub thousands: Option<char>,
    /// What stands for null in CSV. Default: no text; and in all but text columns also `NA`,
    /// `N/A`, `n/a`, `#N/A`, `NULL`, `null` and `\N`. Text given here counts in every column.
    pub null_text: Option<Vec<String>>,
    /// The types that columns of these names must have; others are inferred. Columns that the
    /// input lacks are absent from the batches.
    pub schema: Option<SchemaRef>,
    /// Columns of `schema` that come as the type that is inferred for them, where a value of the sample
    /// doesn't fit the one expected: [`Source::widened`](super::Source::widened) tells of them.
    /// Default: none.
    pub widening: Vec<String>,
    /// Rows in a batch, at most. Default: 65,536.
    pub batch_rows: usize,
    /// Workers that parse text. Default: one a processor, at most 8. With 1, all is done by
    /// the thread that asks for batches.
    pub threads: usize,
    /// What becomes of rows that do not fit. Default: an error.
    pub on_error: OnError,
    /// Rows from which the types of columns are inferred. Default: 20,000. [`usize::MAX`]: all of them, for
    /// which a file is read twice, and what comes as a stream is taken into memory.
    pub sample_rows: usize,
    /// Bytes that are read for these rows, at most. Default: 4 MiB.
    pub sample_bytes: usize,
    /// The longest row, in bytes, before reading gives up. Default: 64 MiB.
    pub row_bytes_max: usize,
    /// The largest input of a form that is read from its end (Parquet, Arrow file) which is
    /// taken into memory where it can't be read in any order. Default: 1 GiB.
    pub buffer_bytes_max: usize,
    /// How messages spell these options.
    pub spelling: Spelling,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            format: None,
            compression: None,
            encoding: None,
            skip_lines: 0,
            comment: None,
            delimiter: None,
            quote: None,
            fill_short_rows: false,
            has_header: true,
            time: None,
            time_unit: None,
            time_format: None,
            decimal: None,
            thousands: None,
            null_text: None,
            schema: None,
            widening: Vec::new(),
            batch_rows: 65_536,
            threads: processors().min(THREADS_MAX),
            on_error: OnError::Fail,
            sample_rows: 20_000,
            sample_bytes: 4 << 20,
            row_bytes_max: 64 << 20,
            buffer_bytes_max: 1 << 30,
            spelling: Spelling::default(),
        }
    }
}

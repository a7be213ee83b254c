//! Files and bodies as Arrow record batches: read as they come, in bounded memory.
//!
//! ```
//! use timestrata_ingest::rows::{ReadOptions, open_bytes};
//!
//! let csv = "time,symbol,price\n2024-01-01T09:30:00Z,ACME,1.5\n2024-01-01T09:30:01Z,ACME,1.6\n";
//! let source = open_bytes(csv.as_bytes().to_vec(), "trades.csv", &ReadOptions::default())?;
//! assert_eq!(source.time_column(), Some("time"));
//! for batch in source {
//!     let batch = batch?;
//!     assert_eq!((batch.num_rows(), batch.num_columns()), (2, 3));
//! }
//! # Ok::<(), timestrata_engine::Error>(())
//! ```
//!
//! What is a null, a time, a number is in `docs/reference/files.md`: types are those that
//! a caller expects, else inferred from a sample; then all values are held to them. What does
//! not fit is an error that names line, column and value, or is left out and listed.
//!
//! Text goes through one way: an input is cut into pieces of whole rows (`pieces`), which
//! workers take apart (`csv`, `json`) and convert (`convert`), and whose batches come back in
//! order (`workers`). Arrow and Parquet are decoded and brought to the expected types
//! (`conform`).
//!
//! No bytes make this module panic: they come from anybody.

mod arrow;
mod assemble;
mod conform;
mod convert;
mod csv;
mod guard;
mod infer;
mod input;
mod json;
mod load;
mod named;
mod names;
mod nested;
mod options;
mod parquet;
mod pieces;
mod protobuf;
mod report;
mod schema;
mod workers;

use std::fmt;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use arrow_array::RecordBatch;
use arrow_schema::{FieldRef, SchemaRef};
use bytes::Bytes;
pub use input::Input;
pub use load::{Load, Loaded, Plan};
pub use options::{Compression, Delimiter, Format, LongDelimiter, OnError, ReadOptions};
pub use report::{BadRow, Place, ReadReport, SKIPS_LISTED_MAX};
use timestrata_engine::{Error, ErrorKind, Io, OpenMode, Result};
pub use timestrata_values::spelling::Spelling;
pub use timestrata_values::time_format::TimeFormat;

use self::conform::Begun;
use self::schema::FoundColumn;

/// Reads the batches of one form of input.
trait BatchReader: Send {
    /// The next batch, which may have no rows; `None` at the end. Counts in `report` what was left out.
    fn next(&mut self, report: &mut ReadReport) -> Result<Option<RecordBatch>>;
}

/// What an opened form gives.
struct Rows {
    schema: SchemaRef,
    time: Option<String>,
    /// See [`Source::spoils_time`].
    spoils_time: Option<String>,
    /// See [`Source::notes`].
    notes: Vec<(String, String)>,
    /// See [`Source::delimiter`].
    delimiter: Option<Delimiter>,
    /// Set once a value didn't fit a type that was inferred from a sample.
    has_misfit: Arc<AtomicBool>,
    batches: Box<dyn BatchReader>,
}

/// What opening a form comes to.
enum Opening {
    Ready(Rows),
    /// The sample doesn't tell days from months; all rows may.
    Unclear,
}

impl Opening {
    /// The rows of an input that can't be looked at again.
    fn ready(self, name: &str) -> Result<Rows> {
        match self {
            Self::Ready(rows) => Ok(rows),
            Self::Unclear => Err(report::invalid(name, "its days and months can't be told apart")),
        }
    }
}

/// Rows of an input, as an iterator of batches. An error ends it.
///
/// Batches have the columns of the input in its order, of types that the engine stores.
pub struct Source {
    name: String,
    format: Format,
    rows: Rows,
    expected: Option<SchemaRef>,
    spelling: Spelling,
    report: ReadReport,
    bytes_read: Arc<AtomicU64>,
    has_ended: bool,
}

impl Source {
    /// Opens an input. `name` is what messages call it, and its extension may tell its form.
    ///
    /// # Errors
    /// `InvalidData` where the beginning can't be read, `InvalidArgument` for options that
    /// make no sense, `Io` where the input can't be read.
    pub fn open(input: Input, name: &str, options: &ReadOptions) -> Result<Self> {
        check(options)?;
        let wants_all = options.sample_rows == usize::MAX;
        let input = match wants_all {
            true => input.repeatable(name, options.buffer_bytes_max)?,
            false => input,
        };
        let again = input.again();
        if let Some(input) = again.as_ref().and_then(Input::again).filter(|_| wants_all) {
            return Self::open_knowing_all(input, name, options);
        }
        let opened = look(input, name, options)?;
        let (format, bytes_read) = (opened.format(options.format), Arc::clone(&opened.bytes_read));
        match open_form(opened, format, options, None, again.is_some())? {
            Opening::Ready(rows) => Ok(Self::of(rows, name, format, options, bytes_read)),
            Opening::Unclear => match again {
                Some(input) => Self::open_knowing_all(input, name, options),
                None => Err(report::invalid(name, "its days and months can't be told apart")),
            },
        }
    }

    /// Opens an input whose types are inferred from all its rows, for which it is read twice.
    pub(super) fn open_knowing_all(
        input: Input,
        name: &str,
        options: &ReadOptions,
    ) -> Result<Self> {
        let first =
            input.again().ok_or_else(|| report::invalid(name, "it can be read once only"))?;
        let opened = look(first, name, options)?;
        let format = opened.format(options.format);
        let known = look_at_all(opened, format, options)?;
        let opened = look(input, name, options)?;
        let bytes_read = Arc::clone(&opened.bytes_read);
        let rows = open_form(opened, format, options, known, false)?.ready(name)?;
        Ok(Self::of(rows, name, format, options, bytes_read))
    }

    fn of(
        rows: Rows,
        name: &str,
        format: Format,
        options: &ReadOptions,
        bytes_read: Arc<AtomicU64>,
    ) -> Self {
        let report = ReadReport::default();
        let name = name.to_owned();
        let expected = options.schema.clone();
        let spelling = options.spelling;
        Self { name, format, rows, expected, spelling, report, bytes_read, has_ended: false }
    }

    /// The columns of every batch.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.rows.schema)
    }

    /// The columns that come as another type than the one expected, as
    /// [`ReadOptions::widening`] lets them.
    pub fn widened(&self) -> Vec<FieldRef> {
        let Some(expected) = &self.expected else { return Vec::new() };
        let is_widened = |field: &&FieldRef| {
            let known = expected.field_with_name(field.name());
            known.is_ok_and(|known| known.data_type() != field.data_type())
        };
        self.rows.schema.fields().iter().filter(is_widened).cloned().collect()
    }

    /// The time column: the declared one, else the one that was found.
    pub fn time_column(&self) -> Option<&str> {
        self.rows.time.as_deref()
    }

    /// Where there is no time column, what keeps a column from being it that seems to be meant as it, if there
    /// is such a column: a value with its input, place and column, as a message says it.
    pub fn spoils_time(&self) -> Option<String> {
        self.rows.spoils_time.as_ref().map(|why| format!("{}, {why}", self.name))
    }

    /// What had to be told apart to read its columns, by their names: the order of days and months, say.
    pub fn notes(&self) -> &[(String, String)] {
        &self.rows.notes
    }

    /// What separates the fields of CSV.
    pub fn delimiter(&self) -> Option<Delimiter> {
        self.rows.delimiter
    }

    /// How messages spell options.
    pub(super) fn spelling(&self) -> Spelling {
        self.spelling
    }

    /// Whether reading ended at a value for which a larger sample would have had another type.
    pub(super) fn has_misfit(&self) -> bool {
        self.rows.has_misfit.load(Ordering::Relaxed)
    }

    /// The form that the input turned out to have.
    pub fn format(&self) -> Format {
        self.format
    }

    /// What has been read so far.
    pub fn report(&self) -> &ReadReport {
        &self.report
    }
}

impl Iterator for Source {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_ended {
            return None;
        }
        let next = loop {
            match self.rows.batches.next(&mut self.report) {
                Ok(Some(batch)) if batch.num_rows() == 0 => {}
                next => break next.transpose(),
            }
        };
        self.report.bytes_read = self.bytes_read.load(Ordering::Relaxed);
        match &next {
            Some(Ok(batch)) => {
                self.report.rows += u64::try_from(batch.num_rows()).unwrap_or(0);
            }
            Some(Err(_)) | None => self.has_ended = true,
        }
        next
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source")
            .field("name", &self.name)
            .field("format", &self.format)
            .field("time", &self.rows.time)
            .finish_non_exhaustive()
    }
}

/// Opens a regular file. Pipes and devices are for [`open_reader`].
///
/// # Errors
/// As [`Source::open`]; `NotFound` and `Io` where the file can't be opened.
pub fn open_path(io: &Io, path: &Path, options: &ReadOptions) -> Result<Source> {
    Source::open(input_of_path(io, path)?, &path.to_string_lossy(), options)
}

/// A regular file, to be read.
///
/// # Errors
/// `NotFound` and `Io` where it can't be opened.
pub fn input_of_path(io: &Io, path: &Path) -> Result<Input> {
    let file = io.disk.open(path, OpenMode::Read).map_err(|cause| {
        let kind = match cause.kind() {
            std::io::ErrorKind::NotFound => ErrorKind::NotFound,
            _ => ErrorKind::Io,
        };
        Error::new(kind, format!("could not open the input: {cause}")).at(path).caused_by(cause)
    })?;
    Ok(Input::File(file))
}

/// Opens bytes as they come.
///
/// # Errors
/// As [`Source::open`].
pub fn open_reader(
    reader: impl Read + Send + 'static,
    name: &str,
    options: &ReadOptions,
) -> Result<Source> {
    Source::open(Input::Reader(Box::new(reader)), name, options)
}

/// Opens bytes in memory.
///
/// # Errors
/// As [`Source::open`].
pub fn open_bytes(bytes: impl Into<Bytes>, name: &str, options: &ReadOptions) -> Result<Source> {
    Source::open(Input::Bytes(bytes.into()), name, options)
}

/// Reads an Arrow stream in memory, which is not packed, in the types that it was written with: as a program would hand over its rows that
/// is part of this process.
///
/// ```
/// use std::sync::Arc;
///
/// use arrow_array::{Int64Array, RecordBatch};
/// use arrow_ipc::writer::StreamWriter;
/// use timestrata_ingest::rows::read_arrow;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let rows = RecordBatch::try_from_iter([("time", Arc::new(Int64Array::from(vec![7])) as _)])?;
/// let mut stream = StreamWriter::try_new(Vec::new(), &rows.schema())?;
/// stream.write(&rows)?;
/// assert_eq!(read_arrow(stream.into_inner()?, "the rows")?, [rows]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// `InvalidData` for what is no such stream.
pub fn read_arrow(bytes: impl Into<Bytes>, name: &str) -> Result<Vec<RecordBatch>> {
    let input = Input::Bytes(bytes.into());
    arrow::read_stream(input::Opened::new(input, name, Some(Compression::None), None)?)
}

/// Looks at the beginning of an input.
fn look(input: Input, name: &str, options: &ReadOptions) -> Result<input::Opened> {
    let mut opened = input::Opened::new(input, name, options.compression, options.encoding)?;
    let is_text = matches!(opened.format(options.format), Format::Csv | Format::JsonLines);
    if is_text && options.skip_lines > 0 {
        opened.skip_lines(options.skip_lines)?;
    }
    Ok(opened)
}

/// Opens a form: by its columns if they are known, else by those of a sample.
fn open_form(
    opened: input::Opened,
    format: Format,
    options: &ReadOptions,
    known: Option<Vec<FoundColumn>>,
    may_repeat: bool,
) -> Result<Opening> {
    match format {
        Format::Csv => csv::open(opened, options, known, may_repeat),
        Format::JsonLines => json::open(opened, options, known, may_repeat),
        Format::Protobuf => protobuf::open(opened, options).map(Opening::Ready),
        Format::ArrowStream | Format::ArrowFile | Format::Parquet => {
            let name = opened.name.clone();
            let begun = begin_typed(opened, format, options)?;
            conform::open(&name, begun, options, known, may_repeat)
        }
    }
}

/// Begins a form whose columns have types.
fn begin_typed(opened: input::Opened, format: Format, options: &ReadOptions) -> Result<Begun> {
    match format {
        Format::ArrowFile => arrow::begin_file(opened, options),
        Format::Parquet => parquet::begin(opened, options),
        _ => arrow::begin_stream(opened),
    }
}

/// The columns as all rows show them; `None` for a form of which a sample has to do.
fn look_at_all(
    opened: input::Opened,
    format: Format,
    options: &ReadOptions,
) -> Result<Option<Vec<FoundColumn>>> {
    match format {
        Format::Csv => csv::look_at_all(opened, options).map(Some),
        Format::JsonLines => json::look_at_all(opened, options).map(Some),
        Format::Protobuf => Ok(None),
        Format::ArrowStream | Format::ArrowFile | Format::Parquet => {
            conform::look_at_all(begin_typed(opened, format, options)?, options).map(Some)
        }
    }
}

/// Refuses options that mean nothing.
fn check(options: &ReadOptions) -> Result<()> {
    let refuse = |message: &str| Err(Error::new(ErrorKind::InvalidArgument, message));
    let special = |byte: u8| matches!(byte, b'\n' | b'\r') || !byte.is_ascii();
    let quote = options.quote.unwrap_or(b'"');
    let delimiter = match options.delimiter {
        Some(Delimiter::Byte(byte)) => Some(byte),
        Some(Delimiter::Text(_) | Delimiter::Blanks) | None => None,
    };
    if let Some(Delimiter::Text(text)) = options.delimiter
        && text.as_bytes().contains(&quote)
    {
        return refuse("a delimiter can't have the quote in it: say another quote");
    }
    if [delimiter, Some(quote), options.comment].into_iter().flatten().any(special) {
        return refuse(
            "a delimiter, a quote and what comments begin with are ASCII characters that end no line",
        );
    }
    if delimiter == Some(quote) {
        return refuse("the delimiter and the quote can't be the same");
    }
    if options.comment.is_some_and(|comment| comment == quote || Some(comment) == delimiter) {
        return refuse("what comments begin with can't be the delimiter or the quote");
    }
    if options.decimal.is_some_and(|decimal| !matches!(decimal, b'.' | b',')) {
        return refuse("what stands before a fraction is a point or a comma");
    }
    if options.decimal == Some(b',') && delimiter == Some(b',') {
        return refuse(
            "a comma can't separate fields and fractions at once: say another delimiter",
        );
    }
    if let Some(thousands) = options.thousands {
        let decimal = char::from(options.decimal.unwrap_or(b'.'));
        if thousands == decimal {
            return refuse(
                "the same can't stand between thousands and before a fraction: say both (thousands, decimal)",
            );
        }
        if thousands.is_alphanumeric() || matches!(thousands, '-' | '+' | '\r' | '\n') {
            return refuse("what stands between thousands is no part of a number and ends no line");
        }
    }
    if options.batch_rows == 0 {
        return refuse("a batch holds at least one row");
    }
    Ok(())
}

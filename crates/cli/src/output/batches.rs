//! Record batches on their way to stdout or a file.

use std::io::{self, BufWriter, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, StringArray};
use arrow_cast::cast;
use arrow_cast::display::FormatOptions;
use arrow_cast::pretty::pretty_format_batches_with_options;
use arrow_csv::Writer as CsvWriter;
use arrow_ipc::writer::StreamWriter;
use arrow_json::writer::{LineDelimited, WriterBuilder};
use arrow_schema::{ArrowError, DataType, FieldRef, Schema, SchemaRef};
use clap::ValueEnum;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use super::Format;
use super::table::cut;
use crate::failure::{Failure, Result};
use crate::message::tell;
use crate::terminal::push_visible;
use timestrata::table::times_as_text;

/// Rows that a table for people has at most.
const TABLE_ROWS_MAX: usize = 10_000;
const TABLE_OPTIONS: FormatOptions<'_> = FormatOptions::new().with_null("");

/// The form of a file of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FileFormat {
    /// Compressed columns, which most tools read.
    Parquet,
    /// A header, then one row a line.
    Csv,
    /// An Arrow IPC stream.
    Arrow,
    /// One JSON object a line.
    Json,
}

type PrintedBatches<'a> = &'a mut dyn Iterator<Item = timestrata::Result<RecordBatch>>;

/// Writes batches to stdout; gives how many rows there were.
pub(crate) fn show(schema: &SchemaRef, batches: PrintedBatches<'_>, format: Format) -> Result<u64> {
    let stdout = std::io::stdout();
    let format = match format {
        Format::Table => return show_table(schema, batches),
        Format::Csv => FileFormat::Csv,
        Format::Json => FileFormat::Json,
        Format::Arrow => {
            super::refuse_terminal(&stdout)?;
            FileFormat::Arrow
        }
    };
    write(stdout, schema, batches, format)
}

/// Writes batches in a form; gives how many rows there were.
pub(crate) fn write(
    out: impl Write + Send,
    schema: &SchemaRef,
    batches: PrintedBatches<'_>,
    format: FileFormat,
) -> Result<u64> {
    let is_closed = Arc::new(AtomicBool::new(false));
    let out = Watched { out, is_closed: Arc::clone(&is_closed) };
    write_rows(BufWriter::with_capacity(1 << 16, out), schema, batches, format).map_err(|failure| {
        if is_closed.load(Ordering::Relaxed) { Failure::OutputClosed } else { failure }
    })
}

/// Remembers that whoever reads has gone, which not all that write rows pass on.
struct Watched<W> {
    out: W,
    is_closed: Arc<AtomicBool>,
}

impl<W: Write> Write for Watched<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes);
        if written.as_ref().is_err_and(|cause| cause.kind() == io::ErrorKind::BrokenPipe) {
            self.is_closed.store(true, Ordering::Relaxed);
        }
        written
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn write_rows(
    mut out: impl Write + Send,
    schema: &SchemaRef,
    batches: PrintedBatches<'_>,
    format: FileFormat,
) -> Result<u64> {
    let rows = match format {
        FileFormat::Csv => {
            let mut writer = CsvWriter::new(&mut out);
            // The header, also where there are no rows.
            writer.write(&RecordBatch::new_empty(SchemaRef::clone(schema))).map_err(failed)?;
            each(batches, |batch| writer.write(&times_as_text(batch)).map_err(failed))?
        }
        FileFormat::Json => {
            let mut writer =
                WriterBuilder::new().with_explicit_nulls(true).build::<_, LineDelimited>(&mut out);
            let rows = each(batches, |batch| writer.write(&times_as_text(batch)).map_err(failed))?;
            writer.finish().map_err(failed)?;
            rows
        }
        FileFormat::Arrow => {
            let mut writer = StreamWriter::try_new(&mut out, schema).map_err(failed)?;
            let rows = each(batches, |batch| writer.write(batch).map_err(failed))?;
            writer.finish().map_err(failed)?;
            rows
        }
        FileFormat::Parquet => {
            let failed = |error| failed(from_parquet(error));
            let compression = Compression::ZSTD(ZstdLevel::default());
            let properties = WriterProperties::builder().set_compression(compression).build();
            let mut writer =
                ArrowWriter::try_new(&mut out, SchemaRef::clone(schema), Some(properties))
                    .map_err(failed)?;
            let rows = each(batches, |batch| writer.write(batch).map_err(failed))?;
            writer.close().map_err(failed)?;
            rows
        }
    };
    out.flush().map_err(Failure::output)?;
    Ok(rows)
}

fn each(
    batches: PrintedBatches<'_>,
    mut write: impl FnMut(&RecordBatch) -> Result<()>,
) -> Result<u64> {
    let mut rows = 0;
    for batch in batches {
        let batch = batch?;
        write(&batch)?;
        rows += batch.num_rows() as u64;
    }
    Ok(rows)
}

/// Aligned columns need all rows at once, so there are not more than somebody may look at.
fn show_table(schema: &SchemaRef, batches: PrintedBatches<'_>) -> Result<u64> {
    let (mut all, mut rows) = (vec![RecordBatch::new_empty(SchemaRef::clone(schema))], 0);
    for batch in batches {
        let batch = batch?;
        if rows + batch.num_rows() > TABLE_ROWS_MAX {
            all.push(batch.slice(0, TABLE_ROWS_MAX - rows));
            rows = TABLE_ROWS_MAX;
            tell(format_args!(
                "warning: only the first {TABLE_ROWS_MAX} rows are shown; the other formats give all"
            ));
            break;
        }
        rows += batch.num_rows();
        all.push(batch);
    }
    let all =
        all.iter().map(shortened).collect::<std::result::Result<Vec<_>, _>>().map_err(failed)?;
    let table = pretty_format_batches_with_options(&all, &TABLE_OPTIONS).map_err(failed)?;
    let mut visible = String::new();
    for line in table.to_string().lines() {
        push_visible(line, &mut visible);
        visible.push('\n');
    }
    super::print(visible)?;
    Ok(rows as u64)
}

/// The same rows with long texts cut; but for plans, which are to be read whole.
fn shortened(batch: &RecordBatch) -> std::result::Result<RecordBatch, ArrowError> {
    let schema = batch.schema();
    let is_text = |data_type: &DataType| {
        matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
    };
    let columns = batch.columns().iter().zip(schema.fields()).map(|(column, field)| {
        if !is_text(field.data_type()) || field.name() == "plan" {
            return Ok((Arc::clone(field), Arc::clone(column)));
        }
        let texts = cast(column, &DataType::Utf8)?;
        let cut_texts: StringArray =
            texts.as_string::<i32>().iter().map(|text| text.map(cut)).collect();
        let field = Arc::new(field.as_ref().clone().with_data_type(DataType::Utf8));
        Ok((field, Arc::new(cut_texts) as ArrayRef))
    });
    let (fields, columns): (Vec<FieldRef>, Vec<ArrayRef>) =
        columns.collect::<std::result::Result<Vec<_>, ArrowError>>()?.into_iter().unzip();
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)
}

fn from_parquet(error: ParquetError) -> ArrowError {
    match error {
        ParquetError::External(cause) => match cause.downcast::<std::io::Error>() {
            Ok(cause) => ArrowError::IoError(cause.to_string(), *cause),
            Err(cause) => ArrowError::ExternalError(cause),
        },
        other => ArrowError::ParquetError(other.to_string()),
    }
}

pub(super) fn failed(cause: ArrowError) -> Failure {
    match cause {
        ArrowError::IoError(_, cause) => Failure::output(cause),
        other => Failure::plain(format!("could not write the rows: {other}")),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::Int64Array;

    use super::*;

    /// A pipe whose reader has gone.
    struct Closed;

    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn long_texts_are_cut_and_plans_are_not() {
        let long = || Arc::new(StringArray::from(vec!["x".repeat(300)])) as ArrayRef;
        let batch = RecordBatch::try_from_iter([("text", long()), ("plan", long())]).unwrap();
        let shown = shortened(&batch).unwrap();
        let lengths = shown.columns().iter().map(|c| c.as_string::<i32>().value(0).chars().count());
        assert_eq!(lengths.collect::<Vec<_>>(), [60, 300]);
    }

    #[test]
    fn whoever_reads_no_further_is_no_failure_of_any_form() {
        let column = Arc::new(Int64Array::from_iter_values(0..100_000));
        let batch = RecordBatch::try_from_iter([("x", column as _)]).unwrap();
        for form in FileFormat::value_variants() {
            let mut batches = std::iter::once(Ok(batch.clone()));
            let outcome = write(Closed, &batch.schema(), &mut batches, *form);
            assert!(matches!(outcome, Err(Failure::OutputClosed)), "{form:?}: {outcome:?}");
        }
    }
}

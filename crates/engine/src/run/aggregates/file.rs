//! Aggregates as bytes: a Parquet file within the run's, and what a reader makes of it.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_cast::cast;
use arrow_schema::{DataType, Schema};
use arrow_select::concat::concat_batches;
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;
use timestrata_format::{RunAggregates, Zone};

use super::super::decimals::DecimalColumn;
use super::{AggregatedColumns, OF_NUMBER, OF_ROWS};
use crate::scan::{BlockAggregates, NumberAggregates, Span};

const ZSTD_LEVEL: i32 = 3;

/// The bytes of a file.
///
/// # Errors
/// Parquet's.
pub(in crate::run) fn encode(rows: &RecordBatch) -> Result<Vec<u8>, ParquetError> {
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL)?))
        .set_statistics_enabled(EnabledStatistics::None);
    for field in rows.schema_ref().fields() {
        let encoding = match field.data_type() {
            DataType::Float64 => Encoding::BYTE_STREAM_SPLIT,
            data_type if data_type.is_primitive() => Encoding::DELTA_BINARY_PACKED,
            _ => continue,
        };
        // A name with points in it is one name.
        let path = ColumnPath::new(vec![field.name().clone()]);
        properties = properties
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path, encoding);
    }
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, rows.schema(), Some(properties.build()))?;
    writer.write(rows)?;
    writer.close()?;
    Ok(bytes)
}

/// The rows of a file; what has another schema is an error.
fn rows_of(bytes: Bytes, schema: &Schema) -> Result<RecordBatch, String> {
    let options = ArrowReaderOptions::new().with_schema(Arc::new(schema.clone()));
    let file = ParquetRecordBatchReaderBuilder::try_new_with_options(bytes, options)
        .map_err(|error| error.to_string())?;
    let schema = Arc::clone(file.schema());
    let batches = file.build().map_err(|error| error.to_string())?;
    let batches = batches.collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?;
    concat_batches(&schema, &batches).map_err(|error| error.to_string())
}

/// What a run's file has of them.
#[derive(Debug)]
pub(in crate::run) struct KeptAggregates {
    pub(in crate::run) columns: AggregatedColumns,
    /// The columns of [`AggregatedColumns::in_file`], a row for each series of each span.
    pub(in crate::run) rows: RecordBatch,
}

impl KeptAggregates {
    /// Reads the file of a run that has these columns, of whose floats some are stored as decimal numbers.
    ///
    /// # Errors
    /// Why it can't be so, in words.
    pub(in crate::run) fn read(
        entry: &RunAggregates,
        bytes: Bytes,
        (schema, decimals): (&Schema, &[DecimalColumn]),
        lead: usize,
    ) -> Result<Self, String> {
        let columns = AggregatedColumns::named(entry, lead);
        let in_file = columns.in_file(schema, decimals).ok_or("columns that the run has not")?;
        Ok(Self { rows: rows_of(bytes, &in_file)?, columns })
    }

    /// What is told of a run that has these columns, as its stream has them, and these blocks, of each span and all.
    ///
    /// # Errors
    /// Why it can't be so, in words.
    pub(in crate::run) fn told(
        self,
        entry: &RunAggregates,
        schema: &Schema,
        (blocks, zones): (&[Range<usize>], &[Zone]),
    ) -> Result<BlockAggregates, String> {
        let Self { columns: AggregatedColumns { series, numbers, .. }, rows } = self;
        let spans = spans_of((entry, blocks), &rows, series.len(), zones)?;
        let (told, rest) = rows.columns().split_at(series.len());
        let (keys, rest) = rest.split_at(OF_ROWS);
        let each = numbers.iter().zip(rest.chunks_exact(OF_NUMBER)).map(|(column, told)| {
            let [count, sum, min, max] = told else { return Err("a column lacks its sums".into()) };
            let data_type = schema.field(*column).data_type();
            let is_float = data_type.is_floating();
            let of_sum = if is_float { &DataType::Float64 } else { &DataType::Int64 };
            Ok(NumberAggregates {
                count: count.as_primitive::<Int64Type>().clone(),
                sum: as_type(sum, of_sum)?,
                min: as_type(min, data_type)?,
                max: as_type(max, data_type)?,
            })
        });
        let numbers_told = each.collect::<Result<_, String>>()?;
        let [rows, first, last] = keys else { return Err("the keys are missing".into()) };
        Ok(BlockAggregates {
            spans,
            series,
            series_told: told.to_vec(),
            numbers,
            numbers_told,
            rows: rows.as_primitive::<Int64Type>().clone(),
            first: Arc::clone(first),
            last: Arc::clone(last),
        })
    }
}

fn as_type(column: &ArrayRef, data_type: &DataType) -> Result<ArrayRef, String> {
    cast(column, data_type).map_err(|error| error.to_string())
}

/// The blocks and the series of each span, which must be all of them, and of as many rows.
fn spans_of(
    (entry, blocks_of_spans): (&RunAggregates, &[Range<usize>]),
    told: &RecordBatch,
    columns_before: usize,
    zones: &[Zone],
) -> Result<Vec<Span>, String> {
    let rows = told.column(columns_before).as_primitive::<Int64Type>();
    let (mut block, mut place) = (0_usize, 0_usize);
    let mut spans = Vec::with_capacity(entry.spans.len());
    for ((_, series), blocks) in entry.spans.iter().zip(blocks_of_spans.iter().cloned()) {
        let series = place..place + *series as usize;
        (block, place) = (blocks.end, series.end);
        let of_zones = zones
            .get(blocks.clone())
            .map(|zones| zones.iter().map(|zone| i128::from(zone.rows)).sum::<i128>());
        let added = rows.values().get(series.clone());
        let added = added.map(|rows| rows.iter().map(|rows| i128::from(*rows)).sum::<i128>());
        if blocks.is_empty() || of_zones.is_none() || of_zones != added {
            return Err(format!("a span of blocks {blocks:?} with {added:?} rows"));
        }
        spans.push(Span { blocks, series });
    }
    match (block == zones.len(), place == told.num_rows()) {
        (true, true) => Ok(spans),
        _ => Err(format!(
            "{block} blocks and {place} series, not {} and {}",
            zones.len(),
            told.num_rows()
        )),
    }
}

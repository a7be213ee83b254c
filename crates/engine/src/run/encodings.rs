//! How each column of a cold run is encoded: chosen by its type, and for text and bytes by
//! a look at the first block.

use std::hash::{BuildHasher, Hasher};

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_schema::DataType;
use hashbrown::{DefaultHashBuilder, HashSet};
use parquet::arrow::ArrowSchemaConverter;
use parquet::basic::{Compression, Encoding, Type as PhysicalType, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::SortingColumn;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};

use crate::{LeadKind, Stream};

const ZSTD_LEVEL: i32 = 3;
/// Values of the first block that are looked at before a dictionary is chosen.
const SAMPLE_ROWS: usize = 4096;
/// A dictionary pays only where values repeat: no more than this many distinct ones in ten.
const DISTINCT_TENTHS_MAX: usize = 8;
/// Share of unknown keys that a Bloom filter lets through.
const BLOOM_FALSE_POSITIVES: f64 = 0.01;

/// The writer's properties for a stream; `sample` is the first block, which no later block
/// is longer than by much.
pub(super) fn writer_properties(
    stream: &Stream,
    sample: &RecordBatch,
) -> Result<WriterProperties, ParquetError> {
    let schema = ArrowSchemaConverter::new().convert(stream.stored_schema())?;
    let mut builder = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL)?))
        // Row groups are ended by hand, one a block.
        .set_max_row_group_row_count(None)
        // Zone maps and page index, not page headers, are what readers look at.
        .set_statistics_enabled(EnabledStatistics::Page)
        .set_sorting_columns(sorting_columns(stream, &schema));
    for (leaf, column) in schema.columns().iter().enumerate() {
        let root = schema.get_column_root_idx(leaf);
        let path = column.path().clone();
        let (dictionary, encoding) = choose(column, || repeats(sample, root));
        builder = builder.set_column_dictionary_enabled(path.clone(), dictionary);
        if let Some(encoding) = encoding {
            builder = builder.set_column_encoding(path, encoding);
        }
        if root == stream.lead_column() {
            builder = with_bloom_filter(builder, stream, column, sample.num_rows());
        }
    }
    Ok(builder.build())
}

/// Whether to try a dictionary, and the encoding where there is none.
fn choose(column: &ColumnDescriptor, repeats: impl Fn() -> bool) -> (bool, Option<Encoding>) {
    match column.physical_type() {
        PhysicalType::INT32 | PhysicalType::INT64 => (false, Some(Encoding::DELTA_BINARY_PACKED)),
        PhysicalType::FLOAT | PhysicalType::DOUBLE => (false, Some(Encoding::BYTE_STREAM_SPLIT)),
        PhysicalType::BOOLEAN => (false, Some(Encoding::RLE)),
        PhysicalType::BYTE_ARRAY if repeats() => (true, None),
        PhysicalType::BYTE_ARRAY => (false, Some(Encoding::DELTA_LENGTH_BYTE_ARRAY)),
        PhysicalType::FIXED_LEN_BYTE_ARRAY | PhysicalType::INT96 => (false, Some(Encoding::PLAIN)),
    }
}

/// Whether values of a column repeat enough for a dictionary. Of nested columns nothing is
/// known: the encoder gives its dictionary up by itself where it grows too large.
fn repeats(sample: &RecordBatch, column: usize) -> bool {
    let rows = sample.num_rows().min(SAMPLE_ROWS);
    let Some(column) = sample.columns().get(column).map(|column| column.slice(0, rows)) else {
        return true;
    };
    let hashing = DefaultHashBuilder::default();
    let hash = |value: &[u8]| {
        let mut hasher = hashing.build_hasher();
        hasher.write(value);
        hasher.finish()
    };
    let (distinct, values) = match column.data_type() {
        DataType::Utf8 => {
            count(column.as_string::<i32>().iter().flatten().map(|v| hash(v.as_bytes())))
        }
        DataType::LargeUtf8 => {
            count(column.as_string::<i64>().iter().flatten().map(|v| hash(v.as_bytes())))
        }
        DataType::Binary => count(column.as_binary::<i32>().iter().flatten().map(hash)),
        DataType::LargeBinary => count(column.as_binary::<i64>().iter().flatten().map(hash)),
        _ => return true,
    };
    distinct * 10 <= values * DISTINCT_TENTHS_MAX
}

fn count(hashes: impl Iterator<Item = u64>) -> (usize, usize) {
    let mut distinct = HashSet::new();
    let mut values = 0;
    for hash in hashes {
        distinct.insert(hash);
        values += 1;
    }
    (distinct.len(), values)
}

/// Ids are looked up one by one, and a zone map over random ids spans everything.
fn with_bloom_filter(
    builder: WriterPropertiesBuilder,
    stream: &Stream,
    column: &ColumnDescriptor,
    rows: usize,
) -> WriterPropertiesBuilder {
    match stream.lead_kind() {
        LeadKind::Time | LeadKind::Offset => builder,
        LeadKind::Id16 | LeadKind::Id32 => {
            let path = column.path();
            builder
                .set_column_bloom_filter_enabled(path.clone(), true)
                .set_column_bloom_filter_fpp(path.clone(), BLOOM_FALSE_POSITIVES)
                .set_column_bloom_filter_max_ndv(path.clone(), rows.max(1) as u64)
        }
    }
}

/// Tells other tools by what the rows are sorted: as far as key columns are plain ones.
fn sorting_columns(stream: &Stream, schema: &SchemaDescriptor) -> Option<Vec<SortingColumn>> {
    let leaf_of = |root: usize| {
        let mut leaves =
            (0..schema.num_columns()).filter(|leaf| schema.get_column_root_idx(*leaf) == root);
        match (leaves.next(), leaves.next()) {
            (Some(leaf), None) => i32::try_from(leaf).ok(),
            _ => None,
        }
    };
    let columns = stream.key_columns().iter().map_while(|root| leaf_of(*root));
    Some(
        columns
            .map(|column_idx| SortingColumn { column_idx, descending: false, nulls_first: false })
            .collect(),
    )
}

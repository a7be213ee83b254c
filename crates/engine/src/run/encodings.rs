//! How each column of a cold run is encoded: chosen by its type and by the first block. Numbers
//! are encoded in each way that may suit them, and the smallest result tells the way; text and
//! bytes by how many of them differ.

use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use hashbrown::{DefaultHashBuilder, HashSet};
use parquet::arrow::{ArrowSchemaConverter, ArrowWriter};
use parquet::basic::{Compression, Encoding, Type as PhysicalType, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::SortingColumn;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};

use crate::{LeadKind, Stream};

const ZSTD_LEVEL: i32 = 3;
/// Of streams that are mostly text: a fifth off some logs, which are also decoded sooner, for half again
/// the time of their compaction.
const ZSTD_LEVEL_OF_TEXT: i32 = 6;
/// Values of the first block that are looked at before a dictionary is chosen.
const SAMPLE_ROWS: usize = 4096;
/// Shorter first blocks say little about what follows them.
const TRIAL_ROWS_MIN: usize = 1024;
/// Enough to tell what a dictionary costs a block.
const TRIAL_ROWS_MAX: usize = 65_536;
/// What another encoding must save to be taken in place of its type's own, in hundredths.
const TRIAL_SAVING_MIN: usize = 5;
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
        .set_compression(compression(level_of(stream))?)
        // Row groups are ended by hand, one a block.
        .set_max_row_group_row_count(None)
        // Zone maps and page index, not page headers, are what readers look at.
        .set_statistics_enabled(EnabledStatistics::Page)
        .set_sorting_columns(sorting_columns(stream, &schema));
    for (leaf, column) in schema.columns().iter().enumerate() {
        let root = schema.get_column_root_idx(leaf);
        let path = column.path().clone();
        let way = choose(column, sample, root)?;
        builder = builder.set_column_dictionary_enabled(path.clone(), way.dictionary);
        if let Some(encoding) = way.encoding {
            builder = builder.set_column_encoding(path, encoding);
        }
        if root == stream.lead_column() {
            builder = with_bloom_filter(builder, stream, column, sample.num_rows());
        }
    }
    Ok(builder.build())
}

/// How hard blocks of a stream are compressed.
fn level_of(stream: &Stream) -> i32 {
    if stream.has_words() { ZSTD_LEVEL_OF_TEXT } else { ZSTD_LEVEL }
}

fn compression(level: i32) -> Result<Compression, ParquetError> {
    Ok(Compression::ZSTD(ZstdLevel::try_new(level)?))
}

/// How the values of a column are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Way {
    /// Whether to try a dictionary first.
    dictionary: bool,
    /// The encoding where there is none, or it grows too large.
    encoding: Option<Encoding>,
}

impl Way {
    const fn dictionary(encoding: Option<Encoding>) -> Self {
        Self { dictionary: true, encoding }
    }

    const fn plainly(encoding: Encoding) -> Self {
        Self { dictionary: false, encoding: Some(encoding) }
    }
}

const INTEGERS: [Way; 2] = [
    Way::plainly(Encoding::DELTA_BINARY_PACKED),
    Way::dictionary(Some(Encoding::DELTA_BINARY_PACKED)),
];
const FLOATS: [Way; 3] = [
    Way::plainly(Encoding::BYTE_STREAM_SPLIT),
    Way::dictionary(Some(Encoding::BYTE_STREAM_SPLIT)),
    Way::plainly(Encoding::PLAIN),
];

fn choose(
    column: &ColumnDescriptor,
    sample: &RecordBatch,
    root: usize,
) -> Result<Way, ParquetError> {
    match column.physical_type() {
        PhysicalType::INT32 | PhysicalType::INT64 => smallest(&INTEGERS, sample, root),
        PhysicalType::FLOAT | PhysicalType::DOUBLE => smallest(&FLOATS, sample, root),
        PhysicalType::BOOLEAN => Ok(Way::plainly(Encoding::RLE)),
        PhysicalType::BYTE_ARRAY if repeats(sample, root) => Ok(Way::dictionary(None)),
        PhysicalType::BYTE_ARRAY => Ok(Way::plainly(Encoding::DELTA_LENGTH_BYTE_ARRAY)),
        PhysicalType::FIXED_LEN_BYTE_ARRAY | PhysicalType::INT96 => {
            Ok(Way::plainly(Encoding::PLAIN))
        }
    }
}

/// The way that makes the first block smallest; the first one where none saves much, and for
/// nested columns, of which the others' share is not known.
fn smallest<const N: usize>(
    ways: &[Way; N],
    sample: &RecordBatch,
    root: usize,
) -> Result<Way, ParquetError> {
    let [usual, others @ ..] = ways.as_slice() else {
        return Err(ParquetError::General("a type without an encoding".to_owned()));
    };
    let rows = sample.num_rows().min(TRIAL_ROWS_MAX);
    let values = match sample.columns().get(root) {
        Some(column) if rows >= TRIAL_ROWS_MIN && !column.data_type().is_nested() => {
            column.slice(0, rows)
        }
        _ => return Ok(*usual),
    };
    let usual_bytes = encoded_bytes(&values, *usual)?;
    let mut best = (*usual, usual_bytes - usual_bytes * TRIAL_SAVING_MIN / 100);
    for way in others {
        let bytes = encoded_bytes(&values, *way)?;
        if bytes < best.1 {
            best = (*way, bytes);
        }
    }
    Ok(best.0)
}

/// Bytes that a column takes in a file.
fn encoded_bytes(values: &ArrayRef, way: Way) -> Result<usize, ParquetError> {
    let field = Field::new("trial", values.data_type().clone(), true);
    let schema = Arc::new(Schema::new(vec![field]));
    let mut builder = WriterProperties::builder()
        .set_compression(compression(ZSTD_LEVEL)?)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_dictionary_enabled(way.dictionary);
    if let Some(encoding) = way.encoding {
        builder = builder.set_encoding(encoding);
    }
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![Arc::clone(values)])?;
    let mut writer = ArrowWriter::try_new(Vec::new(), schema, Some(builder.build()))?;
    writer.write(&batch)?;
    let metadata = writer.close()?;
    let columns = metadata.row_groups().iter().flat_map(|group| group.columns());
    let bytes: i64 = columns.map(|column| column.compressed_size()).sum();
    Ok(usize::try_from(bytes).unwrap_or(usize::MAX))
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

#[cfg(test)]
mod tests {
    use arrow_array::{Float64Array, Int64Array};

    use super::*;

    /// What is chosen for a column of its own.
    fn chosen<const N: usize>(ways: &[Way; N], values: ArrayRef) -> Way {
        let schema = Schema::new(vec![Field::new("x", values.data_type().clone(), true)]);
        let sample = RecordBatch::try_new(Arc::new(schema), vec![values]).unwrap();
        smallest(ways, &sample, 0).unwrap()
    }

    /// Numbers without a pattern.
    fn noise(rows: usize) -> impl Iterator<Item = u64> {
        (1..=rows as u64).map(|row| {
            let mixed = (row.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 27 ^ row)
                .wrapping_mul(0xBF58_476D_1CE4_E5B9);
            (mixed >> 31 ^ mixed).wrapping_mul(0x94D0_49BB_1331_11EB) >> 20
        })
    }

    fn floats(values: impl Iterator<Item = f64>) -> ArrayRef {
        Arc::new(Float64Array::from_iter_values(values))
    }

    fn integers(values: impl Iterator<Item = i64>) -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(values))
    }

    #[test]
    fn numbers_are_encoded_as_the_first_block_tells() {
        let rising = integers((0..50_000).map(|row| 1_700_000_000_000 + row * 10));
        assert_eq!(chosen(&INTEGERS, rising), INTEGERS[0]);
        let lots = integers(noise(50_000).map(|noise| (noise % 40) as i64 * 1_000_003));
        assert_eq!(chosen(&INTEGERS, lots), INTEGERS[1]);
        let prices = floats(noise(50_000).map(|noise| (noise % 900) as f64 / 100.0));
        assert_eq!(chosen(&FLOATS, prices), FLOATS[1]);
        let smooth = floats(
            (0..50_000).map(|row| 1e4 + f64::from(row) * 1e-3 + (f64::from(row % 977) * 1e-9)),
        );
        assert_eq!(chosen(&FLOATS, smooth), FLOATS[0]);
    }

    #[test]
    fn a_short_block_tells_nothing() {
        let lots = integers(noise(TRIAL_ROWS_MIN - 1).map(|noise| (noise % 4) as i64 * 1_000_003));
        assert_eq!(chosen(&INTEGERS, lots), INTEGERS[0]);
    }
}

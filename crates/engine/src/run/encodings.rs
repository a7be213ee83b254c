//! How each column of a cold run is encoded: chosen by its type and by the first block. Numbers
//! are encoded in each way that may suit them, and the least result tells the way, where what takes long to decode
//! counts as more than it is; text and bytes by how many of them differ.

use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_ord::partition::partition;
use arrow_schema::{DataType, Field, Schema};
use arrow_select::concat::concat;
use hashbrown::{DefaultHashBuilder, HashSet};
use parquet::arrow::{ArrowSchemaConverter, ArrowWriter};
use parquet::basic::{Compression, Encoding, Type as PhysicalType, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::SortingColumn;
use parquet::file::properties::{
    DEFAULT_DICTIONARY_PAGE_SIZE_LIMIT, DEFAULT_WRITE_BATCH_SIZE, EnabledStatistics,
    WriterProperties, WriterPropertiesBuilder,
};
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};

use super::block_builder::Block;
use super::series;
use super::stored_block::StoredBlock;
use crate::{LeadKind, RunCompression, Stream};

const ZSTD_LEVEL: i32 = 3;
/// Of streams that are mostly text: a fifth off some logs, which are also decoded sooner, for half again
/// the time of their compaction.
const ZSTD_LEVEL_OF_TEXT: i32 = 6;
/// Values of the first block that are looked at before a dictionary is chosen.
const SAMPLE_ROWS: usize = 4096;
/// Shorter first blocks say little about what follows them.
const TRIAL_ROWS_MIN: usize = 1024;
/// As many as a row group in the order of the key has mostly: enough to tell what a dictionary costs it.
const TRIAL_ROWS_MAX: usize = 131_072;
/// Of them so many are encoded in each way at first, of so many stretches.
const TRIAL_ROWS_FIRST: usize = 32_768;
const TRIAL_STRETCHES: usize = 8;
/// What a byte counts, in hundredths, that is read as it is; that has to be unpacked by ZSTD; and that then has to be
/// put together of bytes that lie apart, eight times as many as of whole numbers. Measured on 4.3 million rows of ten floats: sums
/// of them took half as long as decimal numbers, not packed, that were 1.2 times as large.
const PLAIN_WEIGHT: usize = 100;
const PACKED_WEIGHT: usize = 110;
/// Of steps from one whole number to the next, which all have to be added up for any one of them, beside codes of a dictionary, of
/// which those are looked up that are wanted: 0.9 ns a number, and 0.5.
const STEPS_WEIGHT: usize = 106;
const SCATTERED_WEIGHT: usize = 140;
/// Of whole numbers, in their hundredths of what is plain: of eight columns of flights codes took 1.2 ns a number, packed 1.6 to 3,
/// packed steps 1.7 to 3, and bytes that lie apart, of which most are zero and are passed over, 3 to 3.3 where they were least.
const PACKED_CODES_WEIGHT: usize = 108;
const SPLIT_INTEGERS_WEIGHT: usize = 112;
/// And of text of which each value begins as the one before.
const CHAINED_WEIGHT: usize = 160;
/// Rows that are encoded in the order of the key and by series, to see which takes less; and text, of which rows are longer.
const SERIES_TRIAL_ROWS: usize = 16_384;
/// What rows by series may take of what they take in the order of the key, in hundredths: a series is
/// read sooner.
const SERIES_BYTES_MAX: usize = 110;
/// The same where a block has more series than a page has rows: in the order of the key, whoever asks for one of them
/// unpacks the names of as many as there are rows.
const MANY_SERIES_BYTES_MAX: usize = 180;
/// Rows of a page where rows lie by series: what is read of one that has fewer.
const PAGE_ROWS_BY_SERIES: usize = 4_096;
/// Fewer where series have few rows: whoever asks for one of them unpacks the names of a page. Of ten rows each, half as many took a
/// quarter off that, and another half nothing, but each 15 and 30 % more room.
const PAGE_ROWS_BY_SERIES_MIN: usize = 2_048;
const SERIES_A_PAGE: usize = 64;
/// A dictionary pays only where values repeat: no more than this many distinct ones in ten.
pub(super) const DISTINCT_TENTHS_MAX: usize = 8;
/// Share of unknown keys that a Bloom filter lets through.
const BLOOM_FALSE_POSITIVES: f64 = 0.01;

/// The writer's properties for a stream, by its first block, which no later block is longer than by much; with its rows by
/// `series` if these are some columns, and else pages of `page_rows`, where the stream's series could be told apart.
pub(super) fn writer_properties(
    stream: &Stream,
    first: &StoredBlock<'_>,
    series: &[usize],
    page_rows: usize,
) -> Result<WriterProperties, ParquetError> {
    let sample = &first.head(TRIAL_ROWS_MAX)?;
    let schema = ArrowSchemaConverter::new().convert(sample.schema_ref())?;
    let mut builder = WriterProperties::builder()
        // Row groups are ended by hand, one a block.
        .set_max_row_group_row_count(None)
        // Zone maps and page index, not page headers, are what readers look at.
        .set_statistics_enabled(EnabledStatistics::Page)
        .set_sorting_columns(sorting_columns(stream, &schema, series));
    let pages =
        Pages { packing: stream.compression(), ..Pages::of(stream, sample, series, page_rows)? };
    let codec = codec(stream.compression(), level_of(stream))?;
    builder = pages.limiting(builder);
    for (leaf, column) in schema.columns().iter().enumerate() {
        let root = schema.get_column_root_idx(leaf);
        let path = column.path().clone();
        let way = match series.first() == Some(&root)
            && outgrows_dictionary(sample, root, first.rows())
        {
            true => least(&TEXTS, sample, root, pages)?,
            false => choose(column, sample, root, pages)?,
        };
        builder = builder
            .set_column_dictionary_enabled(path.clone(), way.dictionary)
            .set_column_compression(path.clone(), way.compression(codec));
        if let Some(encoding) = way.encoding {
            builder = builder.set_column_encoding(path, encoding);
        }
        if root == stream.lead_column() {
            builder = with_bloom_filter(builder, stream, column, first.rows());
        }
    }
    Ok(builder.build())
}

/// How pages are made.
#[derive(Debug, Clone, Copy, Default)]
struct Pages {
    /// How many rows one has at most; `None`: as many as is usual.
    rows_max: Option<usize>,
    /// How they are packed where that pays.
    packing: RunCompression,
}

impl Pages {
    /// Of a stream whose rows lie by `series` if these are some columns, as the first rows do; and else of so many where pages are
    /// blocks.
    fn of(
        stream: &Stream,
        sample: &RecordBatch,
        series: &[usize],
        page_rows: usize,
    ) -> Result<Self, ParquetError> {
        if series.is_empty() {
            let rows_max = stream.shares_dictionaries().then_some(page_rows);
            return Ok(Self { rows_max, ..Self::default() });
        }
        Self::by_series(&sample.project(series)?)
    }

    /// Of rows that lie by all columns of some first ones.
    fn by_series(sample: &RecordBatch) -> Result<Self, ParquetError> {
        let found = partition(sample.columns())?.len().max(1);
        let rows = (sample.num_rows() / found).saturating_mul(SERIES_A_PAGE);
        let rows_max = Some(rows.clamp(PAGE_ROWS_BY_SERIES_MIN, PAGE_ROWS_BY_SERIES));
        Ok(Self { rows_max, ..Self::default() })
    }

    fn limiting(self, builder: WriterPropertiesBuilder) -> WriterPropertiesBuilder {
        let Some(rows) = self.rows_max else { return builder };
        // A page ends where a batch does.
        let batch = (rows / rows.div_ceil(DEFAULT_WRITE_BATCH_SIZE).max(1)).max(1);
        builder.set_data_page_row_count_limit(rows).set_write_batch_size(batch)
    }
}

/// What packs pages; `usual` is the level of ZSTD where none is named.
fn codec(packing: RunCompression, usual: i32) -> Result<Compression, ParquetError> {
    Ok(match packing {
        RunCompression::Usual => Compression::ZSTD(ZstdLevel::try_new(usual)?),
        RunCompression::Zstd(level) => Compression::ZSTD(ZstdLevel::try_new(level.into())?),
        RunCompression::Lz4 => Compression::LZ4_RAW,
        RunCompression::None => Compression::UNCOMPRESSED,
    })
}

/// How hard blocks of a stream are compressed where it does not say.
fn level_of(stream: &Stream) -> i32 {
    if stream.has_words() { ZSTD_LEVEL_OF_TEXT } else { ZSTD_LEVEL }
}

/// How the values of a column are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Way {
    /// Whether to try a dictionary first.
    dictionary: bool,
    /// The encoding where there is none, or it grows too large.
    encoding: Option<Encoding>,
    /// As the stream's pages are packed.
    is_packed: bool,
    /// What a byte counts.
    weight: usize,
}

impl Way {
    const fn dictionary(encoding: Option<Encoding>) -> Self {
        Self { dictionary: true, encoding, is_packed: false, weight: PLAIN_WEIGHT }
    }

    const fn plainly(encoding: Encoding) -> Self {
        Self { dictionary: false, ..Self::dictionary(Some(encoding)) }
    }

    const fn packed(self) -> Self {
        Self { is_packed: true, weight: PACKED_WEIGHT, ..self }
    }

    const fn added_up(self) -> Self {
        Self { weight: self.weight + STEPS_WEIGHT - PLAIN_WEIGHT, ..self }
    }

    const fn scattered(self) -> Self {
        Self { weight: SCATTERED_WEIGHT, ..self }
    }

    const fn packed_codes(self) -> Self {
        Self { weight: PACKED_CODES_WEIGHT, ..self.packed() }
    }

    const fn split_integers(self) -> Self {
        Self { weight: SPLIT_INTEGERS_WEIGHT, ..self }
    }

    const fn chained(self) -> Self {
        Self { weight: CHAINED_WEIGHT, ..self }
    }

    /// Whether another way differs only in that it is packed, or not.
    fn encodes_as(&self, other: &Self) -> bool {
        (self.dictionary, self.encoding) == (other.dictionary, other.encoding)
    }

    fn compression(&self, codec: Compression) -> Compression {
        if self.is_packed { codec } else { Compression::UNCOMPRESSED }
    }
}

/// The first of each is that of values of which nothing is known.
const INTEGERS: [Way; 4] = [
    Way::plainly(Encoding::DELTA_BINARY_PACKED).packed().added_up(),
    Way::plainly(Encoding::DELTA_BINARY_PACKED).added_up(),
    Way::dictionary(Some(Encoding::DELTA_BINARY_PACKED)),
    Way::dictionary(Some(Encoding::DELTA_BINARY_PACKED)).packed_codes(),
];
/// Bytes of one place lie together.
const SPLIT_INTEGERS: Way = Way::plainly(Encoding::BYTE_STREAM_SPLIT).packed().split_integers();
/// What columns are written in; rows in one order and another are compared by the others alone.
const INTEGERS_OR_SPLIT: [Way; 5] =
    [INTEGERS[0], INTEGERS[1], INTEGERS[2], INTEGERS[3], SPLIT_INTEGERS];
const FLOATS: [Way; 4] = [
    Way::plainly(Encoding::BYTE_STREAM_SPLIT).packed().scattered(),
    Way::dictionary(Some(Encoding::BYTE_STREAM_SPLIT)),
    Way::dictionary(Some(Encoding::BYTE_STREAM_SPLIT)).packed(),
    Way::plainly(Encoding::PLAIN).packed().scattered(),
];
/// Where nothing is packed: bytes of one place lie together for that alone.
const FLOATS_UNPACKED: [Way; 2] =
    [Way::plainly(Encoding::PLAIN), Way::dictionary(Some(Encoding::PLAIN))];
const TEXTS_THAT_REPEAT: [Way; 2] = [Way::dictionary(None).packed(), Way::dictionary(None)];
const TEXTS: [Way; 2] = [
    Way::plainly(Encoding::DELTA_LENGTH_BYTE_ARRAY).packed(),
    Way::plainly(Encoding::DELTA_BYTE_ARRAY).packed().chained(),
];

fn choose(
    column: &ColumnDescriptor,
    sample: &RecordBatch,
    root: usize,
    pages: Pages,
) -> Result<Way, ParquetError> {
    match column.physical_type() {
        PhysicalType::INT32 | PhysicalType::INT64 => least(&INTEGERS_OR_SPLIT, sample, root, pages),
        PhysicalType::FLOAT | PhysicalType::DOUBLE if pages.packing == RunCompression::None => {
            least(&FLOATS_UNPACKED, sample, root, pages)
        }
        PhysicalType::FLOAT | PhysicalType::DOUBLE => least(&FLOATS, sample, root, pages),
        PhysicalType::BOOLEAN => Ok(Way::plainly(Encoding::RLE).packed()),
        PhysicalType::BYTE_ARRAY => {
            let sample = sample.slice(0, sample.num_rows().min(SERIES_TRIAL_ROWS));
            least(texts(&sample, root), &sample, root, pages)
        }
        PhysicalType::FIXED_LEN_BYTE_ARRAY | PhysicalType::INT96 => {
            Ok(Way::plainly(Encoding::PLAIN).packed())
        }
    }
}

/// Whether the texts by which rows lie together are too many for the dictionary of a block of so many rows. It would be
/// begun, given up, and unpacked by whoever reads a page behind it.
fn outgrows_dictionary(sample: &RecordBatch, root: usize, rows: usize) -> bool {
    let column = sample.columns().get(root).and_then(|column| column.as_string_opt::<i32>());
    let Some(texts) = column.filter(|texts| !texts.is_empty()) else { return false };
    let mut before = None;
    let mut bytes = 0;
    for text in texts.iter().flatten() {
        if before.replace(text) != Some(text) {
            bytes += size_of::<u32>() + text.len();
        }
    }
    bytes.saturating_mul(rows) / texts.len() > DEFAULT_DICTIONARY_PAGE_SIZE_LIMIT
}

fn texts(sample: &RecordBatch, root: usize) -> &'static [Way; 2] {
    if repeats(sample, root) { &TEXTS_THAT_REPEAT } else { &TEXTS }
}

/// Whether the rows of blocks are to lie together by some columns, which tell so many series apart, as the first block
/// tells, which is in the order of the key: not where that costs room.
pub(super) fn series_pay(
    first: &Block,
    columns: &[usize],
    series: usize,
) -> Result<bool, ParquetError> {
    let rows = first.rows().min(SERIES_TRIAL_ROWS);
    if rows < TRIAL_ROWS_MIN || columns.is_empty() {
        return Ok(false);
    }
    let Some(order) = series::by_series(first, columns)? else { return Ok(false) };
    let order = order.slice(0, rows);
    let by_key = cost_at_least(&first.head(rows)?)?;
    let places: ArrayRef = Arc::new(order.clone());
    let by_series = cost_at_least(&first.taken(&order)?)? + least_cost(&places)?;
    let bytes_max =
        if series > PAGE_ROWS_BY_SERIES { MANY_SERIES_BYTES_MAX } else { SERIES_BYTES_MAX };
    Ok(by_series * 100 <= by_key * bytes_max)
}

/// What the columns of a batch cost in the best way for each; without nested ones.
fn cost_at_least(batch: &RecordBatch) -> Result<usize, ParquetError> {
    let columns = batch.columns().iter().enumerate();
    let plain = columns.filter(|(_, column)| !column.data_type().is_nested());
    plain
        .map(|(place, column)| match column.data_type() {
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Binary | DataType::LargeBinary => {
                least_of(texts(batch, place), column)
            }
            _ => least_cost(column),
        })
        .sum()
}

/// What a column of numbers costs in the best way for it: its bytes, by their weights.
pub(super) fn least_cost(column: &ArrayRef) -> Result<usize, ParquetError> {
    let ways: &[Way] = match column.data_type() {
        data_type if data_type.is_floating() => &FLOATS,
        data_type if data_type.is_integer() || data_type.is_temporal() => &INTEGERS,
        DataType::Decimal64(_, _) => &INTEGERS,
        _ => &[Way::plainly(Encoding::PLAIN).packed()],
    };
    least_of(ways, column)
}

fn least_of(ways: &[Way], column: &ArrayRef) -> Result<usize, ParquetError> {
    let costs = costs(ways, column, Pages::default())?;
    Ok(costs.into_iter().map(|(cost, _)| cost).min().unwrap_or(0))
}

/// The way in which the first block costs least; the first one for short blocks, and for
/// nested columns, of which the others' share is not known.
fn least<const N: usize>(
    ways: &[Way; N],
    sample: &RecordBatch,
    root: usize,
    pages: Pages,
) -> Result<Way, ParquetError> {
    let [usual, ..] = ways.as_slice() else {
        return Err(ParquetError::General("a type without an encoding".to_owned()));
    };
    let rows = sample.num_rows().min(TRIAL_ROWS_MAX);
    let values = match sample.columns().get(root) {
        Some(column) if rows >= TRIAL_ROWS_MIN && !column.data_type().is_nested() => {
            column.slice(0, rows)
        }
        _ => return Ok(*usual),
    };
    let costs = scaled_costs(ways, &values, pages)?;
    Ok(costs.into_iter().min_by_key(|(cost, _)| *cost).map_or(*usual, |(_, way)| way))
}

/// What a column costs in each of some ways, as some of its rows tell; all of them only where the values of a dictionary may be
/// so many among few rows that more rows tell another thing.
fn scaled_costs(
    ways: &[Way],
    values: &ArrayRef,
    pages: Pages,
) -> Result<Vec<(usize, Way)>, ParquetError> {
    let some = stretches(values, TRIAL_ROWS_FIRST)?;
    let mut told = costs(ways, &some, pages)?;
    if some.len() == values.len() {
        return Ok(told);
    }
    let scaled = |cost: usize| cost.saturating_mul(values.len()) / some.len().max(1);
    told.iter_mut().for_each(|(cost, _)| *cost = scaled(*cost));
    let least = told.iter().map(|(cost, _)| *cost).min().unwrap_or(0);
    // Each value is in the dictionary once, among all rows as among some.
    let may_be_least = |cost: usize| cost.saturating_mul(some.len()) / values.len() <= least;
    let (open, mut settled): (Vec<_>, Vec<_>) =
        told.into_iter().partition(|(cost, way)| way.dictionary && may_be_least(*cost));
    let open: Vec<Way> = open.into_iter().map(|(_, way)| way).collect();
    settled.extend(costs(&open, values, pages)?);
    Ok(settled)
}

/// So many rows of a column, in a few stretches that lie all over it: by series, its first rows are of one.
fn stretches(values: &ArrayRef, rows: usize) -> Result<ArrayRef, ParquetError> {
    if values.len() <= rows {
        return Ok(Arc::clone(values));
    }
    let (step, length) = (values.len() / TRIAL_STRETCHES, rows / TRIAL_STRETCHES);
    let stretches: Vec<ArrayRef> =
        (0..TRIAL_STRETCHES).map(|stretch| values.slice(stretch * step, length)).collect();
    Ok(concat(&stretches.iter().map(AsRef::as_ref).collect::<Vec<_>>())?)
}

/// What a column costs in each of some ways: its bytes, by their weights.
fn costs(ways: &[Way], values: &ArrayRef, pages: Pages) -> Result<Vec<(usize, Way)>, ParquetError> {
    let mut costs = Vec::with_capacity(ways.len());
    let mut tried: Vec<(Way, EncodedBytes)> = Vec::new();
    for way in ways {
        let bytes = match tried.iter().find(|(other, _)| other.encodes_as(way)) {
            Some((_, bytes)) => *bytes,
            None => {
                let bytes = encoded_bytes(values, *way, pages)?;
                tried.push((*way, bytes));
                bytes
            }
        };
        let bytes = if way.is_packed { bytes.packed } else { bytes.plain };
        costs.push((bytes.saturating_mul(way.weight) / PLAIN_WEIGHT, *way));
    }
    Ok(costs)
}

/// Bytes that a column takes in a file.
#[derive(Debug, Clone, Copy)]
struct EncodedBytes {
    plain: usize,
    /// Packed as pages are, by ZSTD at its usual level where at any.
    packed: usize,
}

/// What a column takes as one way encodes it: packing it tells both, so that each encoding is tried once.
fn encoded_bytes(values: &ArrayRef, way: Way, pages: Pages) -> Result<EncodedBytes, ParquetError> {
    let field = Field::new("trial", values.data_type().clone(), true);
    let schema = Arc::new(Schema::new(vec![field]));
    let mut builder = pages
        .limiting(WriterProperties::builder())
        .set_compression(match pages.packing {
            RunCompression::Zstd(_) => codec(RunCompression::Usual, ZSTD_LEVEL)?,
            packing => codec(packing, ZSTD_LEVEL)?,
        })
        .set_statistics_enabled(EnabledStatistics::None)
        .set_dictionary_enabled(way.dictionary);
    if let Some(encoding) = way.encoding {
        builder = builder.set_encoding(encoding);
    }
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![Arc::clone(values)])?;
    let mut writer = ArrowWriter::try_new(Vec::new(), schema, Some(builder.build()))?;
    writer.write(&batch)?;
    let metadata = writer.close()?;
    let columns = || metadata.row_groups().iter().flat_map(|group| group.columns());
    let bytes = |bytes: i64| usize::try_from(bytes).unwrap_or(usize::MAX);
    Ok(EncodedBytes {
        plain: bytes(columns().map(|column| column.uncompressed_size()).sum()),
        packed: bytes(columns().map(|column| column.compressed_size()).sum()),
    })
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
fn sorting_columns(
    stream: &Stream,
    schema: &SchemaDescriptor,
    series: &[usize],
) -> Option<Vec<SortingColumn>> {
    // Others than text lie together too, but in no order that has a name.
    let is_text = |column: &usize| stream.schema().field(*column).data_type() == &DataType::Utf8;
    if !series.iter().all(is_text) {
        return None;
    }
    let leaf_of = |root: usize| {
        let mut leaves =
            (0..schema.num_columns()).filter(|leaf| schema.get_column_root_idx(*leaf) == root);
        match (leaves.next(), leaves.next()) {
            (Some(leaf), None) => i32::try_from(leaf).ok(),
            _ => None,
        }
    };
    let columns = series.iter().chain(stream.key_columns()).map_while(|root| leaf_of(*root));
    Some(
        columns
            .map(|column_idx| SortingColumn { column_idx, descending: false, nulls_first: false })
            .collect(),
    )
}

#[cfg(test)]
mod tests;

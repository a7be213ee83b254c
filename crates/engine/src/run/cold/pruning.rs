//! What a block may have, and what its columns take, told by metadata, dictionaries and Bloom filters.

use std::ops::RangeInclusive;
use std::sync::Arc;

use parquet::basic::Type as PhysicalType;
use parquet::bloom_filter::Sbbf;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::Statistics;
use timestrata_io::sync::get_or_try_init;

use super::super::checked::{byte_range, guarded};
use super::super::dictionary;
use super::ColdFile;
use super::columns::BlockColumns;
use crate::scan::{BlockBounds, ColumnSize, PruneFilter, Values};
use crate::{LeadKey, Result, Stream};

impl ColdFile {
    /// What each of the file's columns takes, nested ones with all of their parts.
    pub(in crate::run) fn column_sizes(&self) -> Vec<ColumnSize> {
        let schema = self.metadata.file_metadata().schema_descr();
        let mut sizes: Vec<ColumnSize> = Vec::new();
        for group in self.groups() {
            for (leaf, chunk) in group.columns().iter().enumerate() {
                let root = schema.get_column_root_idx(leaf);
                let Some(field) = self.schema.fields().get(root) else { continue };
                let found = chunk_size(field.name(), chunk);
                match sizes.iter_mut().find(|size| size.name == found.name) {
                    Some(size) => size.add(found),
                    None => sizes.push(found),
                }
            }
        }
        sizes
    }

    /// False only where all values of a column are null, as metadata say.
    pub(in crate::run) fn may_have_values(&self, column: usize) -> bool {
        let Some(leaf) = self.only_leaf(column) else { return true };
        self.groups().iter().any(|group| {
            let nulls =
                group.columns().get(leaf).and_then(|chunk| chunk.statistics()?.null_count_opt());
            let rows = u64::try_from(group.num_rows()).ok();
            nulls.is_none() || nulls != rows
        })
    }

    /// The values that a column has in a block, where its dictionary tells all of them.
    pub(in crate::run) fn values(&self, block: usize, column: usize) -> Result<Option<Values>> {
        let (Some(leaf), Some(field)) = (self.only_leaf(column), self.schema.fields().get(column))
        else {
            return Ok(None);
        };
        let Some((group, chunk)) = self.group_of(block).zip(self.chunk(block, column)) else {
            return Ok(None);
        };
        if !dictionary::tells_all(chunk, field.data_type()) {
            return Ok(None);
        }
        let range = self.chunk_range(chunk)?;
        self.file.verify(range.clone())?;
        let pages = BlockColumns::new(self.file.bytes().clone(), Arc::clone(&self.metadata), group);
        let read = || dictionary::read(&mut *pages.pages(leaf)?, chunk);
        guarded(self.file.path(), || {
            read().map(Some).map_err(|error| {
                let message = format!("the values of a column can't be read: {error}");
                self.file.bad(range.start, message).caused_by(error)
            })
        })
    }

    /// False only if the block has no row with this leading key.
    pub(in crate::run) fn may_contain(&self, block: usize, key: LeadKey) -> Result<bool> {
        let Some(slot) = self.group_of(block).and_then(|group| self.filters.get(group)) else {
            return Ok(true);
        };
        let Some(filter) = get_or_try_init(slot, || self.read_filter(block))? else {
            return Ok(true);
        };
        Ok(match key {
            LeadKey::Id16(id) => filter.check(id.as_slice()),
            LeadKey::Id32(id) => filter.check(id.as_slice()),
            LeadKey::Time(_) | LeadKey::Offset(_) => true,
        })
    }

    /// False only if no row of the block has all that `filter` asks for. `stream` is that of today,
    /// whose columns the filter speaks of.
    pub(in crate::run) fn may_match(
        &self,
        stream: &Stream,
        block: usize,
        filter: &PruneFilter,
    ) -> Result<bool> {
        for (column, wanted) in filter.ranges() {
            if !self.may_have_between(stream, block, *column, wanted) {
                return Ok(false);
            }
        }
        let Some(words) = &self.words else { return Ok(true) };
        for any_of in filter.words() {
            let mut may_have = false;
            for word in any_of {
                may_have = may_have || words.may_have(&self.file, block, word)?;
            }
            if !may_have {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether a column of whole numbers or times may have one in a range in the block.
    fn may_have_between(
        &self,
        stream: &Stream,
        block: usize,
        column: usize,
        wanted: &RangeInclusive<i64>,
    ) -> bool {
        self.block_bounds(stream, block, column).is_none_or(|bounds| {
            // No null is in a range.
            let is_between = |(min, max)| min <= *wanted.end() && *wanted.start() <= max;
            bounds.values.is_some_and(is_between)
        })
    }

    /// Between what a column's whole numbers or times lie in a block, as Parquet's statistics tell, which are
    /// part of the verified tail. `stream` is that of today.
    pub(in crate::run) fn block_bounds(
        &self,
        stream: &Stream,
        block: usize,
        column: usize,
    ) -> Option<BlockBounds> {
        let field = stream.stored_schema().fields().get(column)?;
        let Ok(of_file) = self.schema.index_of(field.name()) else {
            return Some(BlockBounds { values: None, may_be_null: true });
        };
        let has_same_type =
            (self.schema.fields().get(of_file)).is_some_and(|f| f.data_type() == field.data_type());
        // Of floats that are stored as decimal numbers the bounds are others.
        let is_as_it_is = has_same_type && self.decimal_digits(of_file).is_none();
        let chunk = self.chunk(block, of_file).filter(|_| is_as_it_is)?;
        let found = chunk.statistics()?;
        let ends = match found {
            Statistics::Int32(found) => (
                found.min_opt().map(|min| i64::from(*min)),
                found.max_opt().map(|max| i64::from(*max)),
            ),
            Statistics::Int64(found) => (found.min_opt().copied(), found.max_opt().copied()),
            _ => return None,
        };
        let nulls = found.null_count_opt();
        if let (Some(min), Some(max)) = ends {
            let may_be_null = nulls != Some(0);
            return Some(BlockBounds { values: Some((min, max)), may_be_null });
        }
        // None but nulls have no ends.
        let group = self.group_of(block).and_then(|group| self.groups().get(group))?;
        let are_all_null = u64::try_from(group.num_rows()).is_ok_and(|rows| nulls == Some(rows));
        are_all_null.then_some(BlockBounds { values: None, may_be_null: true })
    }

    fn read_filter(&self, block: usize) -> Result<Option<Sbbf>> {
        let Some(chunk) = self.chunk(block, self.lead_column) else { return Ok(None) };
        // Without a length nothing could be verified before it is read.
        let (Some(offset), Some(length)) =
            (chunk.bloom_filter_offset(), chunk.bloom_filter_length())
        else {
            return Ok(None);
        };
        let range = byte_range(offset, length)
            .ok_or_else(|| self.file.bad(0, "bad place of a Bloom filter"))?;
        self.file.verify(range.clone())?;
        guarded(self.file.path(), || {
            Sbbf::read_from_column_chunk(chunk, self.file.bytes()).map_err(|error| {
                let message = format!("a Bloom filter can't be read: {error}");
                self.file.bad(range.start, message).caused_by(error)
            })
        })
    }
}

/// Bytes of a length before each text.
const LENGTH_BYTES: i64 = 4;

fn chunk_size(name: &str, chunk: &ColumnChunkMetaData) -> ColumnSize {
    let values = chunk.num_values();
    let width = |bytes: i64| values.saturating_mul(bytes);
    let plain = match chunk.column_type() {
        PhysicalType::BOOLEAN => values / 8,
        PhysicalType::INT32 | PhysicalType::FLOAT => width(4),
        PhysicalType::INT64 | PhysicalType::DOUBLE => width(8),
        PhysicalType::INT96 => width(12),
        PhysicalType::FIXED_LEN_BYTE_ARRAY => width(chunk.column_descr().type_length().into()),
        PhysicalType::BYTE_ARRAY => chunk
            .unencoded_byte_array_data_bytes()
            .unwrap_or_else(|| chunk.uncompressed_size())
            .saturating_add(width(LENGTH_BYTES)),
    };
    // Counts that were made up by somebody may be negative.
    let counted = |number: i64| u64::try_from(number).unwrap_or(0);
    let mut size = ColumnSize { name: name.to_owned(), ..ColumnSize::default() };
    size.add(ColumnSize {
        name: String::new(),
        values: counted(values),
        stored_bytes: counted(chunk.compressed_size()),
        plain_bytes: counted(plain),
        encodings: chunk.encodings().map(|encoding| encoding.to_string()).collect(),
    });
    size
}

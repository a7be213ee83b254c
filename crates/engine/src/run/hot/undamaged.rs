//! Rows of a block that has damaged bytes, which are whole themselves. Of each buffer only the bytes are looked at that the
//! rows lie in, so that a damaged byte costs the rows that share its checksum, and not all of the block. Asked by
//! readers of some of a block's keys once the block as a whole could not be read.

use std::ops::Range;
use std::sync::atomic::Ordering;

use arrow_array::{Array, ArrayRef, BooleanArray, OffsetSizeTrait, make_array, new_null_array};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use arrow_data::ArrayData;
use arrow_ipc::RecordBatch as BatchHeader;
use arrow_schema::{DataType, Field};
use timestrata_format::{KeyRange, LeadKey};

use super::super::checked::guarded;
use super::super::layout::skip_field;
use super::super::tail::Zone;
use super::{HotFile, buffer_range};
use crate::key::KeyView;
use crate::{Error, Result};

/// A block whose header is whole.
struct DamagedBlock<'a> {
    file: &'a HotFile,
    header: BatchHeader<'a>,
    body: Range<u64>,
    rows: usize,
}

/// The node and the buffer of a message that come next.
#[derive(Debug, Clone, Copy)]
struct Place {
    node: usize,
    buffer: usize,
}

impl HotFile {
    /// Remembers that a block can't be read whole.
    pub(in crate::run) fn note_damage(&self, block: usize) {
        if let Some(damaged) = self.damaged.get(block) {
            damaged.store(true, Ordering::Relaxed);
        }
    }

    /// Whether a block could not be read whole.
    pub(in crate::run) fn is_damaged(&self, block: usize) -> bool {
        self.damaged.get(block).is_some_and(|damaged| damaged.load(Ordering::Relaxed))
    }

    /// How many rows of a block have such leading keys, which are in the column `lead`, and columns of these rows.
    ///
    /// # Errors
    /// `Corruption` if any of these rows is damaged, or it can't be told which they are.
    pub(in crate::run) fn read_undamaged(
        &self,
        (block, zone): (usize, &Zone),
        columns: &[usize],
        lead: usize,
        keys: &KeyRange,
    ) -> Result<(usize, Vec<ArrayRef>)> {
        let message = self.messages.get(block).ok_or_else(|| self.file.no_block(block))?;
        guarded(self.file.path(), || {
            let header = self.header_of(message, zone)?;
            let (body, rows) = (message.body.clone(), zone.rows as usize);
            let damaged = DamagedBlock { file: self, header, body, rows };
            let rows = damaged.rows_with(lead, zone, keys)?;
            let arrays = columns.iter().map(|column| damaged.column(*column, &rows));
            Ok((rows.len(), arrays.collect::<Result<_>>()?))
        })
    }
}

impl DamagedBlock<'_> {
    /// The rows that have such keys.
    fn rows_with(&self, lead: usize, zone: &Zone, keys: &KeyRange) -> Result<Range<usize>> {
        let start = match keys.lo {
            Some(lo) if zone.key_min < lo => self.first_not_below(lead, lo)?,
            _ => 0,
        };
        let end = match keys.hi {
            Some(hi) if hi <= zone.key_max => self.first_not_below(lead, hi)?,
            _ => self.rows,
        };
        Ok(start..end.max(start))
    }

    /// The first row whose key is not below that. Keys that can't be read are gone around; where only these could tell,
    /// nobody knows.
    fn first_not_below(&self, lead: usize, key: LeadKey) -> Result<usize> {
        let (mut start, mut end) = (0, self.rows);
        while start < end {
            let middle = start + (end - start) / 2;
            let mut unreadable = None;
            let readable = (middle..end).chain((start..middle).rev()).find_map(|row| {
                let found = self.key_at(lead, row);
                found
                    .map_err(|error| unreadable.get_or_insert(error))
                    .ok()
                    .map(|found| (row, found))
            });
            match (readable, unreadable) {
                (Some((row, found)), _) if found < key => start = row + 1,
                (Some((row, _)), _) => end = row,
                (None, Some(error)) => return Err(error),
                (None, None) => break,
            }
        }
        Ok(start)
    }

    fn key_at(&self, lead: usize, row: usize) -> Result<LeadKey> {
        let key = self.column(lead, &(row..row + 1))?;
        KeyView::of_column(key.as_ref())?.first().ok_or_else(|| self.bad("a row has no key"))
    }

    fn column(&self, column: usize, rows: &Range<usize>) -> Result<ArrayRef> {
        let (schema, layouts) = (&self.file.schema, &self.file.layouts);
        let found = schema.fields().get(column).zip(layouts.get(column));
        let (field, layout) = found.ok_or_else(|| self.bad("a block lacks a column"))?;
        let mut place = Place { node: layout.nodes.start, buffer: layout.buffers.start };
        Ok(make_array(self.array(field, rows, &mut place)?))
    }

    /// These rows of a column, or of what is in one; goes on to the place behind it.
    fn array(&self, field: &Field, rows: &Range<usize>, place: &mut Place) -> Result<ArrayData> {
        let data_type = field.data_type();
        let nodes = self.header.nodes().filter(|nodes| place.node < nodes.len());
        let node = nodes.ok_or_else(|| self.bad("a block lacks a column"))?.get(place.node);
        let are_null = node.null_count() > 0 && node.null_count() == node.length();
        if rows.is_empty() || are_null || data_type == &DataType::Null {
            skip_field(field, &mut place.node, &mut place.buffer);
            return Ok(new_null_array(data_type, rows.len()).to_data());
        }
        place.node += 1;
        let nulls = match arrow_data::layout(data_type).can_contain_null_mask {
            true => self.nulls(rows, node.null_count(), next(&mut place.buffer))?,
            false => None,
        };
        let builder = ArrayData::builder(data_type.clone()).len(rows.len()).nulls(nulls.clone());
        let built = match data_type {
            DataType::Boolean => {
                let bits = self.bits(rows, next(&mut place.buffer))?;
                return Ok(BooleanArray::new(bits, nulls).to_data());
            }
            DataType::Utf8 | DataType::Binary => {
                let (offsets, values) = self.offsets::<i32>(rows, next(&mut place.buffer))?;
                builder.add_buffer(offsets).add_buffer(self.bytes(next(&mut place.buffer), values)?)
            }
            DataType::LargeUtf8 | DataType::LargeBinary => {
                let (offsets, values) = self.offsets::<i64>(rows, next(&mut place.buffer))?;
                builder.add_buffer(offsets).add_buffer(self.bytes(next(&mut place.buffer), values)?)
            }
            DataType::List(item) | DataType::Map(item, _) => {
                let (offsets, items) = self.offsets::<i32>(rows, next(&mut place.buffer))?;
                builder.add_buffer(offsets).add_child_data(self.array(item, &items, place)?)
            }
            DataType::LargeList(item) => {
                let (offsets, items) = self.offsets::<i64>(rows, next(&mut place.buffer))?;
                builder.add_buffer(offsets).add_child_data(self.array(item, &items, place)?)
            }
            DataType::FixedSizeList(item, length) => {
                let items = self.stretch(rows, usize::try_from(*length).ok())?;
                builder.add_child_data(self.array(item, &items, place)?)
            }
            DataType::Struct(fields) => {
                let children = fields.iter().map(|field| self.array(field, rows, place));
                builder.child_data(children.collect::<Result<_>>()?)
            }
            other => {
                let width = match other {
                    DataType::FixedSizeBinary(width) => usize::try_from(*width).ok(),
                    other => other.primitive_width(),
                };
                let values = self.stretch(rows, width)?;
                builder.add_buffer(self.bytes(next(&mut place.buffer), values)?)
            }
        };
        let built = built.align_buffers(true).build();
        built.map_err(|error| self.bad(&error.to_string()).caused_by(error))
    }

    fn nulls(
        &self,
        rows: &Range<usize>,
        null_count: i64,
        buffer: usize,
    ) -> Result<Option<NullBuffer>> {
        // What says that there are none need not be looked at.
        let bits = (null_count != 0).then(|| self.bits(rows, buffer)).transpose()?;
        Ok(bits.map(NullBuffer::new))
    }

    fn bits(&self, rows: &Range<usize>, buffer: usize) -> Result<BooleanBuffer> {
        let bytes = self.bytes(buffer, rows.start / 8..rows.end.div_ceil(8))?;
        Ok(BooleanBuffer::new(bytes, rows.start % 8, rows.len()))
    }

    /// Where the values of rows lie, from the first of them on; and where that is among all.
    fn offsets<O: OffsetSizeTrait>(
        &self,
        rows: &Range<usize>,
        buffer: usize,
    ) -> Result<(Buffer, Range<usize>)> {
        let behind = rows.start..rows.end.saturating_add(1);
        let bytes = self.bytes(buffer, self.stretch(&behind, Some(size_of::<O>()))?)?;
        let offsets = ScalarBuffer::<O>::new(bytes, 0, behind.len());
        let bounds = offsets.first().copied().zip(offsets.last().copied());
        let bounds =
            bounds.and_then(|(first, last)| Some((first, first.to_usize()?, last.to_usize()?)));
        let Some((first, start, end)) = bounds.filter(|(_, start, end)| start <= end) else {
            return Err(self.bad("offsets of a block don't rise"));
        };
        let moved: ScalarBuffer<O> = offsets.iter().map(|offset| *offset - first).collect();
        Ok((moved.into_inner(), start..end))
    }

    /// Rows of values that each take as much.
    fn stretch(&self, rows: &Range<usize>, width: Option<usize>) -> Result<Range<usize>> {
        let of = |row: usize| row.checked_mul(width?);
        let stretch = of(rows.start).zip(of(rows.end)).map(|(start, end)| start..end);
        stretch.ok_or_else(|| self.bad("values of a block have no width"))
    }

    /// A part of a buffer, once its checksums are looked at.
    fn bytes(&self, buffer: usize, part: Range<usize>) -> Result<Buffer> {
        let buffers = self.header.buffers().filter(|buffers| buffer < buffers.len());
        let found = buffers.and_then(|buffers| {
            let buffer = buffers.get(buffer);
            let whole = buffer_range(&self.body, buffer.offset(), buffer.length())?;
            let start = whole.start.checked_add(u64::try_from(part.start).ok()?)?;
            let end = whole.start.checked_add(u64::try_from(part.end).ok()?)?;
            (start <= end && end <= whole.end).then_some(start..end)
        });
        let range = found.ok_or_else(|| self.bad("a buffer lies outside its record batch"))?;
        self.file.file.verify(range.clone())?;
        Ok(self.file.buffer.slice_with_length(range.start as usize, part.len()))
    }

    fn bad(&self, why: &str) -> Error {
        self.file.file.bad(self.body.start, why)
    }
}

fn next(place: &mut usize) -> usize {
    *place += 1;
    *place - 1
}

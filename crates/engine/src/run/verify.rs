//! Reading every byte and row of a run: what `check` does.

use std::cmp::Ordering;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_schema::{ArrowError, SchemaRef};
use timestrata_format::checksum::crc32c;

use super::aggregates::AggregatesBuilder;
use super::block_builder::Block;
use super::decimals::DecimalColumn;
use super::evolve::Evolution;
use super::reader::{Content, Opened, RunReader};
use super::tail::key_of_today;
use crate::Result;
use crate::key::{KeyOrder, KeyView};
use crate::scan::Source;

/// What [`RunReader::verify_all`] has read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct VerifyReport {
    /// Bytes of the file.
    pub(crate) bytes: u64,
    /// Rows decoded.
    pub(crate) rows: u64,
}

impl RunReader {
    /// Compares the checksum of the whole file, decodes every block and compares keys, order
    /// and counts with what the tail and the manifest say. Keeps nothing in the cache.
    ///
    /// # Errors
    /// `Corruption` naming the first thing found wrong; those of [`Source::blocks`].
    pub(crate) fn verify_all(&self) -> Result<VerifyReport> {
        let opened = self.opened()?;
        let file = opened.content.file();
        let found = crc32c(file.bytes());
        if found != self.meta().file_crc {
            // The blocks know better where.
            file.verify(0..self.meta().tail_offset)?;
            let message = format!(
                "bad checksum of a whole run: expected {:#010x}, found {found:#010x}",
                self.meta().file_crc
            );
            return Err(file.bad(0, message));
        }
        let order = KeyOrder::new(self.stream())?;
        let mut before = None;
        let (mut rows, mut delete_markers) = (0_u64, 0_u64);
        let columns: Vec<usize> = (0..opened.file_columns).collect();
        let mut aggregates = AddedAgain::of(opened)?;
        for (block, zone) in opened.zones.iter().enumerate() {
            let batch = opened.content.decode(block, zone, &columns)?;
            self.verify_keys(opened, block, &batch)?;
            let bad = |why: &str| file.bad(0, format!("block {block}: {why}"));
            let keys = batch.project(self.stream().key_columns());
            let keys = keys.map_err(|error| bad(&error.to_string()))?;
            let misplaced = self.first_misplaced(&order, before.as_ref(), &keys);
            if let Some(row) = misplaced.map_err(|error| bad(error.message()))? {
                return Err(bad(&format!("row {row} is out of order")));
            }
            before = keys.num_rows().checked_sub(1).map(|last| keys.slice(last, 1));
            if let Some(aggregates) = &mut aggregates {
                aggregates.add(block, &batch).map_err(|error| bad(&error.to_string()))?;
            }
            rows += batch.num_rows() as u64;
            if self.stream().is_latest() {
                let marks = batch.columns().last().and_then(|column| column.as_boolean_opt());
                delete_markers += marks.map_or(0, |marks| marks.true_count() as u64);
            }
        }
        if (rows, delete_markers) != (self.rows(), self.delete_markers()) {
            let message = format!(
                "a run has {rows} rows and {delete_markers} delete markers, expected {} and {}",
                self.rows(),
                self.delete_markers()
            );
            return Err(file.bad(0, message));
        }
        if let Some(aggregates) = aggregates {
            aggregates.compare().map_err(|why| file.bad(0, why))?;
        }
        Ok(VerifyReport { bytes: file.bytes().len() as u64, rows })
    }

    fn verify_keys(&self, opened: &Opened, block: usize, batch: &RecordBatch) -> Result<()> {
        let keys = KeyView::of(self.stream(), batch)?;
        let ends = opened.zones.get(block).map(|zone| (zone.key_min, zone.key_max));
        let factor = opened.evolution.as_ref().map_or(1, Evolution::times_factor);
        let today = |key| key_of_today(self.path(), key, factor);
        let found = keys.first().zip(keys.last());
        let found = found.map(|(first, last)| Ok((today(first)?, today(last)?))).transpose()?;
        if found != ends {
            let message = format!("the keys of block {block} are not those of its zone map");
            return Err(opened.content.file().bad(0, message));
        }
        Ok(())
    }
    /// The first row of a block's key columns that is not behind the one before it, in this block or, as
    /// the row that is given, the one before.
    fn first_misplaced(
        &self,
        order: &KeyOrder,
        before: Option<&RecordBatch>,
        keys: &RecordBatch,
    ) -> Result<Option<usize>> {
        let keys = order.rows_of_keys(keys)?;
        let each_once = self.stream().is_latest();
        let follows = |order: Ordering| order.is_lt() || (order.is_eq() && !each_once);
        if let Some(before) = before
            && !follows(order.rows_of_keys(before)?.compare(0, &keys, 0))
        {
            return Ok(Some(0));
        }
        Ok((1..keys.len()).find(|row| !follows(keys.compare(row - 1, &keys, *row))))
    }
}

/// What a cold run keeps of what its rows come to, and the same added up again.
pub(super) struct AddedAgain<'a> {
    content: &'a Content,
    schema: SchemaRef,
    decimals: Vec<DecimalColumn>,
    spans: Vec<(u32, u32)>,
    kept: RecordBatch,
    builder: AggregatesBuilder,
    /// Rows of a row group, which are added up together as they were: sums of floats depend on it; and which one it is.
    waiting: Vec<RecordBatch>,
    group: Option<usize>,
}

impl<'a> AddedAgain<'a> {
    /// `None` for runs that keep none.
    pub(super) fn of(opened: &'a Opened) -> Result<Option<Self>> {
        let Content::Cold(cold) = &opened.content else { return Ok(None) };
        let Some((entry, kept)) = cold.kept_aggregates()? else { return Ok(None) };
        let builder = AggregatesBuilder::again(&kept.columns, entry);
        Ok(Some(Self {
            content: &opened.content,
            schema: cold.schema().clone(),
            decimals: cold.decimals(),
            spans: entry.spans.clone(),
            kept: kept.rows,
            builder,
            waiting: Vec::new(),
            group: None,
        }))
    }

    /// Adds the rows of the next block.
    pub(super) fn add(
        &mut self,
        block: usize,
        batch: &RecordBatch,
    ) -> std::result::Result<(), ArrowError> {
        let group = self.content.group_of(block);
        if group != self.group {
            self.add_group()?;
        }
        self.group = group;
        self.waiting.push(batch.clone());
        Ok(())
    }

    fn add_group(&mut self) -> std::result::Result<(), ArrowError> {
        let group = Block::new(&self.schema, std::mem::take(&mut self.waiting));
        match group.rows() {
            0 => Ok(()),
            _ => self.builder.add(&group, &self.decimals).map(|_| ()),
        }
    }

    pub(super) fn compare(mut self) -> std::result::Result<(), String> {
        self.add_group().map_err(|error| error.to_string())?;
        let added = self.builder.finish(&self.schema, &self.decimals);
        let added = added.map_err(|error| error.to_string())?;
        match added.is_some_and(|added| added.spans == self.spans && added.rows == self.kept) {
            true => Ok(()),
            false => Err("what a run keeps of its rows' sums is not what they come to".into()),
        }
    }
}

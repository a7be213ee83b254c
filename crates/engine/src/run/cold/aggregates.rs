//! What a run's rows come to, as its file tells.

use std::ops::Range;
use std::sync::Arc;

use arrow_schema::DataType;
use timestrata_format::{RunAggregates, Zone};

use super::super::aggregates::KeptAggregates;
use super::super::cache::{Form, KeptRows};
use super::super::checked::guarded;
use super::super::decimals::DecimalColumn;
use super::ColdFile;
use crate::Result;
use crate::scan::BlockAggregates;

impl ColdFile {
    /// Blocks whose rows are added up together, as the file's metadata says.
    pub(in crate::run) fn aggregated_blocks(&self) -> Vec<Range<usize>> {
        self.aggregates.iter().flat_map(|entry| self.spans_of(entry)).collect()
    }

    /// The blocks of each span, of which the file tells the row groups.
    fn spans_of(&self, entry: &RunAggregates) -> Vec<Range<usize>> {
        let spans = entry.spans.iter().scan((0_usize, 0), |(groups, blocks), (count, _)| {
            *groups = groups.saturating_add(usize::try_from(*count).unwrap_or(usize::MAX));
            let begin = std::mem::replace(blocks, self.blocks_before(*groups));
            Some(begin..*blocks)
        });
        spans.collect()
    }

    /// What the rows of its blocks come to, series by series, from the cache where it has that; `None` where the file tells
    /// nothing.
    ///
    /// # Errors
    /// `Corruption` for bytes that make no sense.
    pub(in crate::run) fn aggregates(
        &self,
        zones: &[Zone],
    ) -> Result<Option<Arc<BlockAggregates>>> {
        let Some(entry) = &self.aggregates else { return Ok(None) };
        let of_run = KeptRows::all(self.run, 0);
        if let Some(known) = self.cache.known(of_run, 0, Form::Aggregates) {
            return Ok(Some(known));
        }
        let told =
            |kept: KeptAggregates| kept.told(entry, &self.schema, (&self.spans_of(entry), zones));
        let known = Arc::new(self.read_aggregates(entry, told)?);
        let bytes = known.bytes();
        self.cache.insert_known(of_run, (0, Form::Aggregates), Arc::clone(&known), bytes);
        Ok(Some(known))
    }

    /// The same as it is kept, and where.
    ///
    /// # Errors
    /// As [`ColdFile::aggregates`].
    pub(in crate::run) fn kept_aggregates(
        &self,
    ) -> Result<Option<(&RunAggregates, KeptAggregates)>> {
        let Some(entry) = &self.aggregates else { return Ok(None) };
        Ok(Some((entry, self.read_aggregates(entry, Ok)?)))
    }

    fn read_aggregates<T>(
        &self,
        entry: &RunAggregates,
        made: impl FnOnce(KeptAggregates) -> std::result::Result<T, String>,
    ) -> Result<T> {
        let range = entry.offset..entry.offset.saturating_add(entry.length);
        let bytes = self.file.bytes().slice_ref(self.file.slice(range)?);
        let columns = (self.schema.as_ref(), self.decimals());
        guarded(self.file.path(), || {
            let kept =
                KeptAggregates::read(entry, bytes, (columns.0, &columns.1), self.lead_column);
            kept.and_then(made).map_err(|why| {
                self.file.bad(entry.offset, format!("the aggregates of a run can't be read: {why}"))
            })
        })
    }

    /// Columns of floats that are stored as decimal numbers, and their digits.
    pub(in crate::run) fn decimals(&self) -> Vec<DecimalColumn> {
        let columns = self.schema.fields().iter().enumerate();
        let floats = columns.filter(|(_, field)| field.data_type() == &DataType::Float64);
        floats.filter_map(|(column, _)| Some((column, self.decimal_digits(column)?))).collect()
    }
}

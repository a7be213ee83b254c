//! Which values a column has in a range, where that is known without reading rows.

use std::sync::Arc;

use arrow_array::ArrayRef;
use timestrata_format::KeyRange;

use super::view::blocks_met;
use super::{Source, StreamView};
use crate::Result;

/// The values that a column has in some rows: each of them at least once, maybe others too.
///
/// ```
/// # use std::sync::Arc;
/// # use arrow_schema::{DataType, Field, Schema};
/// # use timestrata_engine::*;
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// # let schema = Schema::new(vec![
/// #     Field::new("time", DataType::Int64, false),
/// #     Field::new("celsius", DataType::Float64, true),
/// # ]);
/// # let kitchen = store.create_stream(StreamSpec::new("kitchen", Arc::new(schema)))?;
/// # let mut appender = store.appender(kitchen)?;
/// # for (time, celsius) in [(1_000, 20.5), (2_000, 21.0), (3_000, 21.5)] {
/// #     appender.append(&[Cell::Int(time), Cell::Float(celsius)], Durability::Written)?;
/// # }
/// // Rows in memory have no dictionary that tells their values.
/// assert!(store.snapshot()?.values(kitchen, &KeyRange::ALL, 1)?.is_none());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct Values {
    /// The values, in no order, of the column's type; none of them is null.
    pub columns: Vec<ArrayRef>,
    /// Whether a row may have none.
    pub may_be_null: bool,
}

impl StreamView {
    /// The values that a column has in `range`, from the dictionaries of compacted blocks, and of flushed runs of
    /// few values; `None` where some block has none.
    pub(crate) fn values(&self, range: &KeyRange, column: usize) -> Result<Option<Values>> {
        self.values_by(range, |source, block| source.values(block, column))
    }

    /// The same, as far as it is known by now.
    pub(crate) fn known_values(&self, range: &KeyRange, column: usize) -> Result<Option<Values>> {
        self.values_by(range, |source, block| source.known_values(block, column))
    }

    fn values_by(
        &self,
        range: &KeyRange,
        values: impl Fn(&dyn Source, usize) -> Result<Option<Values>>,
    ) -> Result<Option<Values>> {
        let mut all = Values::default();
        for seen in self.seen(range)? {
            for (block, _, _) in blocks_met(&seen)? {
                let Some(values) = values(seen.0.as_ref(), block)? else { return Ok(None) };
                for column in values.columns {
                    // Blocks of one flushed run share theirs.
                    if !all.columns.last().is_some_and(|last| Arc::ptr_eq(last, &column)) {
                        all.columns.push(column);
                    }
                }
                all.may_be_null |= values.may_be_null;
            }
        }
        Ok(Some(all))
    }

    /// False only where no row has a value in a column.
    pub(crate) fn may_have_values(&self, column: usize) -> Result<bool> {
        for source in &self.sources {
            if source.may_have_values(column)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

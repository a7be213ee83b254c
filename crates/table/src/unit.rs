//! The unit of a table's times is made finer.
//!
//! Rows aren't rewritten: the engine reads those that are there with their times multiplied. What finds rows by their key tells
//! their times too, and gets the unit in the same change.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef, TimeUnit};
use timestrata_engine::{Error, ErrorKind, Result, ScanSpec, Stream, StreamId, finer_times};
use timestrata_values::time::relabeled;

use super::Table;
use super::layout::Layout;
use super::options::with_fields;

impl Table {
    /// What finds rows by their key, with the unit that the table's times get; `None` where it stays.
    pub(super) fn index_with_times_of(
        &self,
        layout: &Layout,
        schema: &SchemaRef,
    ) -> Result<Option<(StreamId, SchemaRef)>> {
        let Some(index) = self.shared.index else { return Ok(None) };
        let time = schema.field(layout.time()).data_type();
        if layout.schema.field(layout.time()).data_type() == time {
            return Ok(None);
        }
        let stream = self.shared.store.stream_of(index)?;
        let mut fields = stream.schema().fields().to_vec();
        if let Some(last) = fields.last_mut() {
            *last = Arc::new(Field::clone(last).with_data_type(time.clone()));
        }
        let finer = with_fields(stream.schema(), fields);
        // It has times of rows that are gone, too.
        self.check_far(&stream, &finer, layout.name())?;
        Ok(Some((index, finer)))
    }

    /// Whether times that are there can be told in finer units where their columns get some. Those that lead the key the engine
    /// knows without a look.
    pub(super) fn check_far_times(&self, layout: &Layout, finer: &Schema) -> Result<()> {
        self.check_far(&layout.stream, finer, layout.name())
    }

    fn check_far(&self, stream: &Stream, finer: &Schema, table: &str) -> Result<()> {
        let changes = stream.schema().fields().iter().zip(finer.fields()).enumerate();
        let refined = changes.filter_map(|(column, (old, new))| {
            let factor = finer_times(old.data_type(), new.data_type())?;
            (column != stream.lead_column()).then_some((column, factor))
        });
        let (columns, factors): (Vec<usize>, Vec<i64>) = refined.unzip();
        if columns.is_empty() {
            return Ok(());
        }
        let snapshot = self.shared.store.snapshot_of(stream.id())?;
        let spec = ScanSpec { columns: Some(columns), ..ScanSpec::default() };
        for batch in snapshot.scan(stream.id(), &spec)? {
            let batch = batch?;
            for (place, factor) in factors.iter().enumerate() {
                let field = batch.schema_ref().field(place);
                let Some(time) = first_too_far(batch.column(place), *factor)? else { continue };
                let message = format!(
                    "table '{table}', column '{}': it can't have so fine a unit, in which {factor} make one of {}: the time {time} \
                     would be more than 64 bits hold",
                    field.name(),
                    field.data_type(),
                );
                let error = Error::new(ErrorKind::InvalidArgument, message);
                return Err(error.hinting("choose a coarser unit, or delete rows with such times"));
            }
        }
        Ok(())
    }
}

/// The first of some times of which `factor` times as much is beyond 64 bits.
fn first_too_far(times: &ArrayRef, factor: i64) -> Result<Option<i64>> {
    let numbers = relabeled(times, &DataType::Int64)?;
    let numbers = numbers.as_primitive_opt::<Int64Type>();
    Ok(numbers.and_then(|n| n.iter().flatten().find(|time| time.checked_mul(factor).is_none())))
}

/// The type that a column of times gets where one of a finer unit is asked for: it keeps its zone where none is said.
pub(super) fn in_zone_of(from: &DataType, wanted: &DataType) -> DataType {
    match (from, wanted) {
        (DataType::Timestamp(_, zone), DataType::Timestamp(unit, None)) => {
            DataType::Timestamp(*unit, zone.clone())
        }
        _ => wanted.clone(),
    }
}

/// A column of times, of a unit that holds these exactly, if its own doesn't.
pub(super) fn time_for(field: &Field, column: &DataType) -> Option<FieldRef> {
    let (DataType::Timestamp(_, zone), DataType::Timestamp(unit, _)) = (field.data_type(), column)
    else {
        return None;
    };
    let unit: &TimeUnit = unit;
    let finer = DataType::Timestamp(*unit, zone.clone());
    finer_times(field.data_type(), &finer)?;
    Some(Arc::new(Field::clone(field).with_data_type(finer)))
}

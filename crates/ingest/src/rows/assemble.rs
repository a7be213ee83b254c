//! Assembly of converted columns into a batch, without the rows that do not fit.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_array::{ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use arrow_select::filter::filter;
use timestrata_engine::Result;

use super::convert::Converted;
use super::options::{OnError, ReadOptions};
use super::report::{Advice, BadRow, Place, invalid};

/// What batches of one input have in common.
pub(super) struct Assembly {
    pub(super) name: String,
    pub(super) schema: SchemaRef,
    pub(super) on_error: OnError,
    advice: Advice,
    /// Set once a value didn't fit a column whose type is inferred: a larger sample has another.
    pub(super) has_misfit: Arc<AtomicBool>,
    inferred: Vec<bool>,
}

impl Assembly {
    pub(super) fn new(
        name: &str,
        schema: &SchemaRef,
        time: Option<&str>,
        options: &ReadOptions,
    ) -> Self {
        let schema = SchemaRef::clone(schema);
        let names = || schema.fields().iter().map(|field| field.name());
        let is_time = |name: &str| time == Some(name);
        let inferred = names().map(|name| !is_time(name) && options.is_inferred(name)).collect();
        let fixed = names().filter(|name| !is_time(name) && !options.is_inferred(name));
        let advice = Advice {
            spelling: options.spelling,
            time: time.map(str::to_owned),
            fixed: fixed.cloned().collect(),
            has_null_text: false,
        };
        let (name, on_error) = (name.to_owned(), options.on_error);
        Self { name, schema, on_error, advice, has_misfit: Arc::default(), inferred }
    }

    /// The same for text, in which nulls can be declared.
    pub(super) fn of_text(mut self) -> Self {
        self.advice.has_null_text = true;
        self
    }

    /// How a larger sample is asked for.
    pub(super) fn larger_sample(&self) -> String {
        self.advice.spelling.option("sample_rows", "ROWS")
    }

    /// Whether the first value that does not fit ends the reading.
    pub(super) fn is_first_enough(&self) -> bool {
        self.on_error == OnError::Fail
    }

    /// A batch of the rows that fit. Those that don't are added to `bad`, each once, which is
    /// then in order; or the first of them is an error.
    pub(super) fn batch(
        &self,
        columns: Vec<Converted>,
        rows: usize,
        place: impl Fn(usize) -> Place,
        bad: &mut Vec<BadRow>,
    ) -> Result<RecordBatch> {
        let mut arrays = Vec::with_capacity(columns.len());
        let mut keep: Vec<bool> = Vec::new();
        let columns = columns.into_iter().zip(self.schema.fields()).zip(&self.inferred);
        for ((converted, field), is_inferred) in columns {
            if *is_inferred && !converted.bad.is_empty() {
                self.has_misfit.store(true, Ordering::Relaxed);
            }
            for cell in converted.bad {
                keep.resize(rows, true);
                if keep.get_mut(cell.at).is_some_and(|keep| std::mem::replace(keep, false)) {
                    let (place, value) = (place(cell.at), cell.value.as_bytes());
                    bad.push(BadRow::value(place, field.name(), value, cell.why));
                }
            }
            arrays.push(converted.array);
        }
        bad.sort_by_key(|row| row.place);
        if self.is_first_enough()
            && let Some(first) = bad.first()
        {
            return Err(first.clone().into_error(&self.name, &self.advice));
        }
        let mut rows = rows;
        if !keep.is_empty() {
            let keep = BooleanArray::from(keep);
            let kept = arrays.iter().map(|array| filter(array, &keep));
            let kept: std::result::Result<Vec<ArrayRef>, _> = kept.collect();
            arrays = kept.map_err(|cause| invalid(&self.name, cause.to_string()))?;
            rows = keep.true_count();
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(SchemaRef::clone(&self.schema), arrays, &options)
            .map_err(|cause| invalid(&self.name, cause.to_string()))
    }
}

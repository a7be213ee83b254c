//! Pages of what a scan gives.

use arrow_array::RecordBatch;
use timestrata_engine::Result;

/// Batches without their first rows: what is behind a page. Those rows are read all the same, so where pages go
/// deep a range that begins where the last page ended is sooner.
///
/// ```
/// use std::sync::Arc;
/// use arrow_array::{Int64Array, RecordBatch};
/// use timestrata_table::without_first;
///
/// let batch = |numbers: Vec<i64>| {
///     RecordBatch::try_from_iter([("x", Arc::new(Int64Array::from(numbers)) as _)]).map_err(|error| {
///         timestrata_engine::Error::new(timestrata_engine::ErrorKind::InvalidData, error.to_string())
///     })
/// };
/// let rest = without_first([batch(vec![1, 2]), batch(vec![3, 4, 5])].into_iter(), 3);
/// let rows: Vec<usize> = rest.map(|batch| batch.map(|batch| batch.num_rows())).collect::<Result<_, _>>()?;
/// assert_eq!(rows, [2]);
/// # Ok::<(), timestrata_engine::Error>(())
/// ```
pub fn without_first(
    batches: impl Iterator<Item = Result<RecordBatch>>,
    rows: usize,
) -> impl Iterator<Item = Result<RecordBatch>> {
    let mut left = rows;
    batches.filter_map(move |batch| match batch {
        Ok(batch) if left > 0 && left >= batch.num_rows() => {
            left -= batch.num_rows();
            None
        }
        Ok(batch) => {
            let rest = batch.slice(left, batch.num_rows() - left);
            left = 0;
            Some(Ok(rest))
        }
        error => Some(error),
    })
}

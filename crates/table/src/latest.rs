//! The newest row of each series.
//!
//! Rows are looked at from the newest to the oldest, and the first of each combination of values is
//! it. Who they are is told by time and these columns alone, by several threads where there are many
//! rows; what has no series that wasn't seen yet, as dictionaries of compacted blocks tell, is not
//! read at all. The rest of the few rows that were found is read behind that.

use std::panic::resume_unwind;
use std::thread::ScopedJoinHandle;

use arrow_array::{ArrayRef, RecordBatch, UInt32Array};
use arrow_schema::Field;
use arrow_select::concat::concat_batches;
use arrow_select::take::take_record_batch;
use hashbrown::HashSet;
use timestrata_engine::{Cell, Error, ErrorKind, KeyRange, LeadKey, Result, ScanSpec};
use timestrata_io::sync::processors;

use super::series_keys::{Keys, Maker, NULL};
use super::view::TableView;
use super::write::unmade;

/// With more series than this it costs less to read whole rows at once.
const SERIES_FEW: usize = 4096;
/// Rows that are worth a thread.
const ROWS_A_THREAD: u64 = 500_000;
type SeenSeries = HashSet<Box<[u8]>>;

/// A row of which time and series are known.
struct LatestRow {
    time: i64,
    key: Box<[u8]>,
}

/// Places of the rows, taken in this order, whose keys were not seen before.
fn unseen(keys: &Keys, rows: impl Iterator<Item = usize>, seen: &mut SeenSeries) -> Vec<u32> {
    let mut places = Vec::new();
    for row in rows {
        let key = keys.get(row);
        if !seen.contains(key) {
            seen.insert(key.into());
            places.push(row as u32);
        }
    }
    places
}

/// The newest row of each combination of values in the columns `by`, newest first.
pub(super) fn latest(view: &TableView, by: &[usize], range: &KeyRange) -> Result<RecordBatch> {
    if by.is_empty() {
        let message = "the newest rows are those of the values of some columns: name at least one";
        return Err(Error::new(ErrorKind::InvalidArgument, message));
    }
    let fields: Vec<_> = by.iter().map(|column| view.schema().field(*column)).collect();
    let maker = Maker::new(&fields)?;
    match few(view, by, &fields, range)? {
        Some(found) => rows_of(view, by, &maker, &found),
        None => whole(view, by, &maker, range),
    }
}

/// The newest of each, if there are few of them.
fn few(
    view: &TableView,
    by: &[usize],
    fields: &[&Field],
    range: &KeyRange,
) -> Result<Option<Vec<LatestRow>>> {
    let (snapshot, id) = (view.snapshot(), view.stream().id());
    let rows = snapshot.estimate(id, &[*range])?.rows_max;
    let threads = processors();
    let parts = usize::try_from(rows / ROWS_A_THREAD).unwrap_or(threads).clamp(1, threads);
    let ranges = match parts {
        1 => vec![*range],
        _ => snapshot.split(id, range, parts)?,
    };
    let of_range = |range| Maker::new(fields).and_then(|maker| few_of(view, by, &maker, range));
    let of_each: Vec<Result<Option<Vec<LatestRow>>>> = match ranges.as_slice() {
        [only] => vec![of_range(only)],
        _ => std::thread::scope(|scope| {
            let of_range = &of_range;
            let threads: Vec<_> =
                ranges.iter().map(|range| scope.spawn(move || of_range(range))).collect();
            let joined = |thread: ScopedJoinHandle<'_, _>| {
                thread.join().unwrap_or_else(|panic| resume_unwind(panic))
            };
            threads.into_iter().map(joined).collect()
        }),
    };
    let (mut seen, mut all) = (SeenSeries::new(), Vec::new());
    // The newest range is the last.
    for found in of_each.into_iter().rev() {
        let Some(found) = found? else { return Ok(None) };
        all.extend(found.into_iter().filter(|found| seen.insert(found.key.clone())));
    }
    Ok((all.len() <= SERIES_FEW).then_some(all))
}

fn few_of(
    view: &TableView,
    by: &[usize],
    maker: &Maker,
    range: &KeyRange,
) -> Result<Option<Vec<LatestRow>>> {
    let lead = view.stream().lead_column();
    let columns: Vec<_> = std::iter::once(lead).chain(by.iter().copied()).collect();
    let (snapshot, id) = (view.snapshot(), view.stream().id());
    let (mut seen, mut all) = (SeenSeries::new(), Vec::new());
    for piece in snapshot.pieces(id, range)?.into_iter().rev() {
        if has_only_seen(view, by, maker, &piece, &seen)? {
            continue;
        }
        let spec = ScanSpec { range: piece, columns: Some(columns.clone()), ..ScanSpec::default() };
        let batches = snapshot.scan(id, &spec)?.collect::<Result<Vec<_>>>()?;
        for batch in batches.iter().rev() {
            let [times, by @ ..] = batch.columns() else { continue };
            let keys = maker.keys(by)?;
            for place in unseen(&keys, (0..batch.num_rows()).rev(), &mut seen) {
                let Some(Cell::Int(time)) = Cell::of(times, place as usize) else {
                    return Err(Error::new(ErrorKind::InvalidData, "a row without a time"));
                };
                all.push(LatestRow { time, key: keys.get(place as usize).into() });
            }
        }
        if all.len() > SERIES_FEW {
            return Ok(None);
        }
    }
    Ok(Some(all))
}

/// Whether it is known, without reading rows, that all series in `range` were seen before.
fn has_only_seen(
    view: &TableView,
    by: &[usize],
    maker: &Maker,
    range: &KeyRange,
    seen: &SeenSeries,
) -> Result<bool> {
    let [by] = by else { return Ok(false) };
    if seen.is_empty() {
        return Ok(false);
    }
    let Some(values) = view.snapshot().values(view.stream().id(), range, *by)? else {
        return Ok(false);
    };
    if values.may_be_null && !seen.contains(NULL) {
        return Ok(false);
    }
    for column in values.columns {
        let rows = column.len();
        let keys = maker.keys(&[column])?;
        if !(0..rows).all(|row| seen.contains(keys.get(row))) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The rows that were found, in their order.
fn rows_of(
    view: &TableView,
    by: &[usize],
    maker: &Maker,
    found: &[LatestRow],
) -> Result<RecordBatch> {
    let mut parts = Vec::new();
    for of_time in found.chunk_by(|a, b| a.time == b.time) {
        let Some(first) = of_time.first() else { continue };
        let range = KeyRange::point(LeadKey::Time(first.time));
        let mut wanted: SeenSeries = of_time.iter().map(|found| found.key.clone()).collect();
        let spec = ScanSpec { range, reverse: true, ..ScanSpec::default() };
        for batch in view.snapshot().scan(view.stream().id(), &spec)? {
            let batch = batch?;
            let keys = maker.keys(&columns_of(&batch, by))?;
            let places: Vec<u32> = (0..batch.num_rows())
                .filter(|row| wanted.remove(keys.get(*row)))
                .map(|row| row as u32)
                .collect();
            parts.push(take_record_batch(&batch, &UInt32Array::from(places)).map_err(unmade)?);
            if wanted.is_empty() {
                break;
            }
        }
    }
    concat_batches(view.schema(), &parts).map_err(unmade)
}

/// All columns at once.
fn whole(view: &TableView, by: &[usize], maker: &Maker, range: &KeyRange) -> Result<RecordBatch> {
    let (mut seen, mut found) = (SeenSeries::new(), Vec::new());
    let spec = ScanSpec { range: *range, reverse: true, ..ScanSpec::default() };
    for batch in view.snapshot().scan(view.stream().id(), &spec)? {
        let batch = batch?;
        let keys = maker.keys(&columns_of(&batch, by))?;
        let places = unseen(&keys, 0..batch.num_rows(), &mut seen);
        if !places.is_empty() {
            found.push(take_record_batch(&batch, &UInt32Array::from(places)).map_err(unmade)?);
        }
    }
    concat_batches(view.schema(), &found).map_err(unmade)
}

fn columns_of(batch: &RecordBatch, columns: &[usize]) -> Vec<ArrayRef> {
    columns.iter().filter_map(|column| batch.columns().get(*column)).cloned().collect()
}

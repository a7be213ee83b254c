//! The newest row of each key in a piece of a stream, without a look at the other columns of the others.
//!
//! ```text
//!   keys of the piece that were not seen yet     a, c        where its dictionaries tell
//!   times and keys, the newest row first         90 b  90 a  80 b  80 c    until each of these was met
//!   the rows to be read                          90 a, 80 c
//! ```
//!
//! Of rows with the same time and key all are read, and whoever reads them takes the first.

use datafusion::arrow::array::cast::AsArray;
use datafusion::arrow::array::types::Int64Type;
use datafusion::arrow::array::{
    ArrayRef, BooleanArray, BooleanBufferBuilder, RecordBatch, UInt64Array,
};
use datafusion::arrow::buffer::BooleanBuffer;
use datafusion::arrow::compute::{cast, filter, take};
use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::row::{RowConverter, SortField};
use datafusion::common::{DataFusionError, Result, internal_datafusion_err};
use hashbrown::{HashMap, HashSet};
use timestrata_engine::{KeyRange, RowFilter, ScanFilter, ScanSpec, Snapshot, StreamId};

use super::super::StreamScan;
use super::super::numbered::Groups;
use super::super::scan::Wanted;
use super::SeenKeys;
use crate::error::{carried, from_datafusion};

/// Of pieces with fewer rows all columns are read at once.
const ROWS_MIN: u64 = 16 << 10;

/// With more new keys in a piece most of its rows are read anyway, and memory is not asked for these.
const KEYS_MAX: usize = 32 << 10;

/// Looks for the newest rows of pieces of one stream.
pub(super) struct NewestOfPieces {
    snapshot: Snapshot,
    stream: StreamId,
    /// Columns of the stream: the time and the key.
    columns: [usize; 2],
    /// More columns than these are wanted, and rows may be left out of a scan.
    spares_columns: bool,
}

impl NewestOfPieces {
    /// Of a scan whose columns at `time` and `by` are the time, a text that is the key.
    pub(super) fn new(scan: &StreamScan, time: usize, by: usize) -> Result<Self> {
        let column = |shown: usize| scan.columns.get(shown).copied();
        let columns = column(time).zip(column(by));
        let columns = columns.ok_or_else(|| internal_datafusion_err!("a scan lacks a column"))?;
        let spec = scan.table.stream.spec();
        let has_times = spec
            .schema
            .fields()
            .get(columns.0)
            .is_some_and(|field| field.data_type().is_temporal());
        Ok(Self {
            snapshot: scan.snapshot.clone(),
            stream: scan.table.stream.id(),
            columns: columns.into(),
            spares_columns: has_times && scan.takes_other_filter() && scan.columns.len() > 2,
        })
    }

    /// What is to be read of a piece, where some keys were seen already.
    pub(super) fn wanted(&self, piece: &KeyRange, seen: &mut SeenKeys) -> Result<Wanted> {
        let [_, by] = self.columns;
        let values = self.snapshot.values(self.stream, piece, by).map_err(carried)?;
        let lacking = values.map(|values| seen.lacking(&values)).transpose()?;
        if lacking.as_ref().is_some_and(HashSet::is_empty) {
            return Ok(Wanted::Nothing);
        }
        let rows = self.snapshot.estimate(self.stream, &[*piece]).map_err(carried)?.rows_max;
        if !self.spares_columns || rows < ROWS_MIN {
            return Ok(Wanted::All);
        }
        let Some(newest) = self.newest(piece, seen, lacking)? else { return Ok(Wanted::All) };
        Ok(match newest.values().min() {
            None => Wanted::Nothing,
            Some(first) => Wanted::Rows(ScanFilter::new(NewestRows {
                columns: self.columns.to_vec(),
                first: *first,
                converter: converter()?,
                newest,
            })),
        })
    }

    /// The time of the newest row of each key in a piece that was not seen yet: of `lacking` where these are known.
    /// `None`: there are too many of them to be worth it.
    fn newest(
        &self,
        piece: &KeyRange,
        seen: &SeenKeys,
        mut lacking: Option<HashSet<Box<[u8]>>>,
    ) -> Result<Option<HashMap<Box<[u8]>, i64>>> {
        let spec = ScanSpec {
            range: *piece,
            columns: Some(self.columns.to_vec()),
            reverse: true,
            text_views: true,
            ..ScanSpec::default()
        };
        let mut keys = KeysOfPiece::new()?;
        let mut newest = HashMap::new();
        for batch in self.snapshot.scan(self.stream, &spec).map_err(carried)? {
            for (key, time) in keys.first_of(&batch.map_err(carried)?)? {
                if let Some(lacking) = &mut lacking {
                    lacking.remove(&key);
                }
                if !seen.has(&key) {
                    newest.insert(key, time);
                }
            }
            if newest.len() > KEYS_MAX {
                return Ok(None);
            }
            if lacking.as_ref().is_some_and(HashSet::is_empty) {
                break;
            }
        }
        Ok(Some(newest))
    }
}

/// The keys that were met in a piece.
struct KeysOfPiece {
    groups: Groups,
    /// The number of each row's key.
    numbers: Vec<usize>,
    converter: RowConverter,
}

impl KeysOfPiece {
    fn new() -> Result<Self> {
        let groups = Groups::by(&[DataType::Utf8View]);
        let groups = groups.ok_or_else(|| internal_datafusion_err!("text has no numbers"))?;
        Ok(Self { groups, numbers: Vec::new(), converter: converter()? })
    }

    /// Keys that were not met before, each with the time of its first row.
    fn first_of(&mut self, rows: &RecordBatch) -> Result<Vec<(Box<[u8]>, i64)>> {
        let (times, keys) = times_and_keys(rows)?;
        let known = self.groups.len();
        self.groups.number(std::slice::from_ref(&keys), &mut self.numbers)?;
        // Numbers are given in the order in which keys are met.
        let mut next = known;
        let mut firsts = Vec::new();
        for (row, number) in (0_u64..).zip(&self.numbers) {
            if *number == next {
                firsts.push(row);
                next += 1;
            }
        }
        let firsts = UInt64Array::from(firsts);
        let keys = self.converter.convert_columns(&[take(&keys, &firsts, None)?])?;
        let times = take(&times, &firsts, None)?;
        let times = times.as_primitive::<Int64Type>().values().iter();
        Ok(keys.iter().zip(times).map(|(key, time)| (key.as_ref().into(), *time)).collect())
    }
}

fn converter() -> Result<RowConverter> {
    Ok(RowConverter::new(vec![SortField::new(DataType::Utf8View)])?)
}

/// Both columns of a batch that has these two, as whole numbers and views.
fn times_and_keys(rows: &RecordBatch) -> Result<(ArrayRef, ArrayRef)> {
    let [times, keys] = rows.columns() else {
        return Err(internal_datafusion_err!("{} columns of times and keys", rows.num_columns()));
    };
    Ok((cast(times, &DataType::Int64)?, cast(keys, &DataType::Utf8View)?))
}

/// The rows with the newest time of their key.
#[derive(Debug)]
struct NewestRows {
    columns: Vec<usize>,
    /// The least of the newest times.
    first: i64,
    converter: RowConverter,
    newest: HashMap<Box<[u8]>, i64>,
}

impl NewestRows {
    fn evaluate(&self, rows: &RecordBatch) -> Result<BooleanArray> {
        let (times, keys) = times_and_keys(rows)?;
        let times = times.as_primitive::<Int64Type>().values();
        // Most rows are older than that, and their keys need not be looked at.
        let may_pass = BooleanBuffer::collect_bool(times.len(), |row| times[row] >= self.first);
        let keys = filter(&keys, &BooleanArray::new(may_pass.clone(), None))?;
        let keys = self.converter.convert_columns(&[keys])?;
        let mut passes = BooleanBufferBuilder::new(times.len());
        passes.append_n(times.len(), false);
        for (row, key) in may_pass.set_indices().zip(&keys) {
            let newest = self.newest.get(key.as_ref());
            passes.set_bit(row, newest == times.get(row));
        }
        Ok(BooleanArray::new(passes.finish(), None))
    }
}

impl RowFilter for NewestRows {
    fn columns(&self) -> &[usize] {
        &self.columns
    }

    fn passes(&self, rows: &RecordBatch) -> timestrata_engine::Result<BooleanArray> {
        self.evaluate(rows).map_err(|error: DataFusionError| from_datafusion(error))
    }
}

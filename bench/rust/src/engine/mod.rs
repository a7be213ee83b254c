//! The engine's own suite: one module a chapter, one function a group of measures.

mod alternate;
mod append;
mod batches;
mod bulk;
mod deletes;
mod growth;
mod late;
mod long;
mod many;
pub(crate) mod recovery;
mod reopen;
mod scan;
mod synced;
mod upkeep;

use std::path::Path;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_schema::SchemaRef;
use timestrata_bench::child::{part, tell};
use timestrata_bench::{Batches, Group, Result, Watch};
use timestrata_engine::{Changes, Durability, ScanSpec, Settings, Store, StreamId, StreamSpec};

/// Single rows a second that the seed (a time log in C and Python) reports.
const PUBLISHED_APPENDS: f64 = 8.08e6;

/// All groups, in the order of the report.
pub(crate) const GROUPS: [Group; 16] = [
    Group { name: "append", run: append::run },
    Group { name: "batches", run: batches::run },
    Group { name: "bulk", run: bulk::run },
    Group { name: "synced", run: synced::run },
    Group { name: "threads", run: synced::run_threads },
    Group { name: "recovery", run: recovery::run },
    Group { name: "upkeep", run: upkeep::run },
    Group { name: "long", run: long::run },
    Group { name: "reopen", run: reopen::run },
    Group { name: "many", run: many::run },
    Group { name: "scan", run: scan::run },
    Group { name: "late", run: late::run },
    Group { name: "alternate", run: alternate::run },
    Group { name: "growth", run: growth::run },
    Group { name: "rolling", run: deletes::run_rolling },
    Group { name: "scattered", run: deletes::run_scattered },
];

/// Plays the part of this suite's children that the arguments say.
pub(crate) fn play(arguments: &mut dyn Iterator<Item = String>) -> Result<()> {
    let (role, dir, amount) = part(arguments)?;
    match role.as_str() {
        recovery::FILL => tell(&recovery::fill(&dir, amount)?),
        recovery::RECOVER => tell(&recovery::recover(&dir)?),
        long::INGEST_NEAR | long::INGEST_ANYWHERE => tell(&long::ingest(&role, &dir, amount)?),
        _ => Err(format!("a child can't play '{role}'").into()),
    }
}

/// A store with one stream, `rows`.
fn store(dir: &Path, settings: Settings, schema: SchemaRef) -> Result<(Store, StreamId)> {
    with_stream(Store::open(dir, settings)?, schema)
}

fn with_stream(store: Store, schema: SchemaRef) -> Result<(Store, StreamId)> {
    let stream = store.create_stream(StreamSpec::new("rows", schema))?;
    Ok((store, stream))
}

/// Commits rows, `Written`, in batches of so many. Gives the seconds that the commits take; making the
/// rows is not counted.
fn take_in(
    store: &Store,
    stream: StreamId,
    batches: &mut Batches,
    rows: u64,
    batch_rows: u64,
) -> Result<f64> {
    let (watch, mut seconds) = (Watch::new(), 0.0);
    for _ in 0..rows / batch_rows {
        let changes = Changes::new().insert(stream, batches.next_batch(batch_rows as usize)?);
        seconds += watch.time(|| store.commit(changes, Durability::Written))?.0;
    }
    Ok(seconds)
}

/// The bytes of all columns' buffers, one after another.
fn flat(batch: &RecordBatch) -> Vec<u8> {
    let mut bytes = Vec::new();
    for column in batch.columns() {
        column.to_data().buffers().iter().for_each(|buffer| bytes.extend_from_slice(buffer));
    }
    bytes
}

/// Sum of the times of all rows, and how many rows there are: the work of the scan measures.
fn sum_times(store: &Store, stream: StreamId) -> Result<(i64, usize)> {
    let spec = ScanSpec { columns: Some(vec![0]), ..ScanSpec::default() };
    let (mut total, mut rows) = (0_i64, 0);
    for batch in store.snapshot_of(stream)?.scan(stream, &spec)? {
        let batch = batch?;
        let times = batch.column(0).as_primitive::<Int64Type>().values();
        total = total.wrapping_add(sum(times));
        rows += times.len();
    }
    Ok((total, rows))
}

/// The same sum over an array: what a scan is held against.
fn sum(times: &[i64]) -> i64 {
    times.iter().fold(0, |total: i64, time| total.wrapping_add(*time))
}

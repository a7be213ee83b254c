//! Many streams of one row each: to make them, to flush them, to open the store.

use std::sync::Arc;

use arrow_array::{BinaryArray, RecordBatch, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use timestrata_bench::{Bench, Better, Measure, Result, Watch, scratch};
use timestrata_engine::{Changes, Durability, Settings, Store, StreamSpec};

/// Seconds of each step.
struct Steps {
    make: f64,
    flush: f64,
    open: f64,
}

pub(super) fn run(bench: &mut Bench) -> Result<()> {
    let count = bench.many(4_096);
    let fewer = of(bench, count / 4)?;
    let all = of(bench, count)?;
    let steps = [
        ("make", fewer.make, all.make),
        ("flush", fewer.flush, all.flush),
        ("open", fewer.open, all.open),
    ];
    for (step, fewer, all) in steps {
        bench.report(
            Measure::new(format!("{step} {count} streams of a row"), "ms", all * 1e3)
                .against(format!("4 times {} streams", count / 4), fewer * 4e3, Better::Lower)
                .aim(0.7)
                .note("made with one call; a row each with one commit; nothing in the background"),
        );
    }
    Ok(())
}

fn of(bench: &Bench, count: u64) -> Result<Steps> {
    let dir = scratch(&bench.dir)?;
    let path = dir.path().join("store");
    let schema: SchemaRef = Arc::new(Schema::new(vec![
        Field::new("offset", DataType::UInt64, false),
        Field::new("value", DataType::Binary, false),
    ]));
    let specs: Vec<StreamSpec> =
        (0..count).map(|n| StreamSpec::new(format!("events/{n}"), Arc::clone(&schema))).collect();
    let settings =
        Settings { maintenance: timestrata_engine::Maintenance::Manual, ..Settings::default() };
    let watch: &Watch = &bench.watch;
    let store = Store::open(&path, settings.clone())?;
    let (make, streams) = watch.time(|| store.create_streams(&specs))?;
    let row = RecordBatch::try_new(
        schema,
        vec![
            Arc::new(UInt64Array::from(vec![0])),
            Arc::new(BinaryArray::from_iter_values([b"one record of a partition"])),
        ],
    )?;
    let changes =
        streams.iter().fold(Changes::new(), |changes, stream| changes.insert(*stream, row.clone()));
    store.commit(changes, Durability::Written)?;
    let (flush, ()) = watch.time(|| store.flush())?;
    store.close()?;
    let (open, store) = watch.time(|| Store::open(&path, settings.clone()))?;
    store.close()?;
    Ok(Steps { make, flush, open })
}

//! Ours: a `Latest` stream, the engine's nearest thing to a key-value store.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BinaryArray, FixedSizeBinaryArray, RecordBatch};
use arrow_buffer::{Buffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use timestrata_bench::Result;
use timestrata_engine::{Cell, Changes, Durability, Merge, ScanSpec, Settings, Store, StreamSpec};

use crate::data::{Rows, Seen, VALUE_BYTES};
use crate::race::{Race, Syncs};

pub(super) fn run(dir: &Path, race: &mut Race<'_>) -> Result<()> {
    let schema: SchemaRef = Arc::new(Schema::new(vec![
        Field::new("key", DataType::FixedSizeBinary(16), false),
        Field::new("value", DataType::Binary, false),
    ]));
    let store = Store::open(dir, Settings::default())?;
    let spec = StreamSpec { merge: Merge::Latest, ..StreamSpec::new("rows", Arc::clone(&schema)) };
    let stream = store.create_stream(spec)?;
    let durability = match race.syncs {
        Syncs::AtTheEnd => Durability::Written,
        Syncs::EachBatch => Durability::Synced,
    };
    race.ingest(
        |rows| {
            let batch = batch(&schema, rows)?;
            store.commit(Changes::new().insert(stream, batch), durability)?;
            Ok(())
        },
        || store.sync().map(drop).map_err(Into::into),
    )?;
    let snapshot = store.snapshot_of(stream)?;
    race.scan(|seen| {
        for batch in snapshot.scan(stream, &ScanSpec::default())? {
            let batch = batch?;
            let (keys, values) = columns(&batch)?;
            (0..batch.num_rows()).for_each(|row| seen.row(keys.value(row), values.value(row)));
        }
        Ok(())
    })?;
    race.points(|key, seen: &mut Seen| {
        let row = snapshot.get(stream, &[Cell::Bytes(key)])?.ok_or("a key is missing")?;
        let (keys, values) = columns(&row.batch)?;
        seen.row(keys.value(row.index), values.value(row.index));
        Ok(())
    })?;
    Ok(store.close()?)
}

/// Copies the rows into Arrow's form; the peers are handed the rows as they are.
fn batch(schema: &SchemaRef, rows: Rows<'_>) -> Result<RecordBatch> {
    let keys = Buffer::from(rows.keys.as_flattened());
    let keys: ArrayRef = Arc::new(FixedSizeBinaryArray::try_new(16, keys, None)?);
    let offsets = OffsetBuffer::from_lengths(std::iter::repeat_n(VALUE_BYTES, rows.keys.len()));
    let values: ArrayRef =
        Arc::new(BinaryArray::try_new(offsets, Buffer::from(rows.values), None)?);
    Ok(RecordBatch::try_new(Arc::clone(schema), vec![keys, values])?)
}

fn columns(batch: &RecordBatch) -> Result<(&FixedSizeBinaryArray, &BinaryArray)> {
    let keys = batch.columns().first().and_then(|column| column.as_any().downcast_ref());
    let values = batch.columns().get(1).and_then(|column| column.as_any().downcast_ref());
    keys.zip(values).ok_or_else(|| "the columns have other types".into())
}

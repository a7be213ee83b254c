//! RocksDB, a log-structured merge tree in C++.

use std::path::Path;

use rocksdb::{DB, DBCompressionType, Options, WriteBatch, WriteOptions};
use timestrata_bench::Result;

use crate::race::{Race, Syncs};

pub(super) fn run(dir: &Path, race: &mut Race<'_>) -> Result<()> {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_compression_type(DBCompressionType::None);
    let database = DB::open(&options, dir)?;
    let mut write = WriteOptions::default();
    write.set_sync(race.syncs == Syncs::EachBatch);
    race.ingest(
        |rows| {
            let mut batch = WriteBatch::default();
            rows.iter().for_each(|(key, value)| batch.put(key, value));
            Ok(database.write_opt(batch, &write)?)
        },
        || Ok(database.flush_wal(true)?),
    )?;
    race.scan(|seen| {
        let mut rows = database.raw_iterator();
        rows.seek_to_first();
        while let Some((key, value)) = rows.item() {
            seen.row(key, value);
            rows.next();
        }
        Ok(rows.status()?)
    })?;
    race.points(|key, seen| {
        let value = database.get_pinned(key)?.ok_or("a key is missing")?;
        seen.row(key, &value);
        Ok(())
    })
}

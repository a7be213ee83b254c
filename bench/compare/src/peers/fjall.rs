//! fjall, a log-structured merge tree in Rust.

use std::path::Path;

use fjall::{Database, KeyspaceCreateOptions, PersistMode};
use timestrata_bench::Result;

use crate::race::{Race, Syncs};

pub(super) fn run(dir: &Path, race: &mut Race<'_>) -> Result<()> {
    let database = Database::builder(dir).open()?;
    let rows = database.keyspace("rows", KeyspaceCreateOptions::default)?;
    let durability = match race.syncs {
        Syncs::AtTheEnd => None,
        Syncs::EachBatch => Some(PersistMode::SyncData),
    };
    race.ingest(
        |batch_rows| {
            let mut batch = database.batch().durability(durability);
            batch_rows.iter().for_each(|(key, value)| batch.insert(&rows, key, value));
            Ok(batch.commit()?)
        },
        || Ok(database.persist(PersistMode::SyncData)?),
    )?;
    race.scan(|seen| {
        for row in rows.iter() {
            let (key, value) = row.into_inner()?;
            seen.row(&key, &value);
        }
        Ok(())
    })?;
    race.points(|key, seen| {
        let value = rows.get(key)?.ok_or("a key is missing")?;
        seen.row(key, &value);
        Ok(())
    })
}

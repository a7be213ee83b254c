//! SQLite, by way of `rusqlite`, built from its own source.

use std::path::Path;

use rusqlite::Connection;
use timestrata_bench::Result;

use crate::race::{Race, Syncs};

pub(super) fn run(dir: &Path, race: &mut Race<'_>) -> Result<()> {
    let connection = Connection::open(dir.join("rows.sqlite"))?;
    let synchronous = match race.syncs {
        Syncs::AtTheEnd => "OFF",
        Syncs::EachBatch => "FULL",
    };
    connection.execute_batch(&format!(
        "PRAGMA journal_mode = WAL;
         PRAGMA synchronous = {synchronous};
         PRAGMA cache_size = -262144;
         CREATE TABLE rows (key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;"
    ))?;
    let mut insert = connection.prepare("INSERT INTO rows (key, value) VALUES (?1, ?2)")?;
    race.ingest(
        |rows| {
            connection.execute_batch("BEGIN")?;
            for (key, value) in rows.iter() {
                insert.execute((key, value))?;
            }
            Ok(connection.execute_batch("COMMIT")?)
        },
        || {
            // A checkpoint syncs the log and the file, unless syncs are off.
            let checkpoint = "PRAGMA synchronous = FULL; PRAGMA wal_checkpoint(FULL);";
            Ok(connection.execute_batch(checkpoint)?)
        },
    )?;
    connection.execute_batch("BEGIN")?;
    let mut all = connection.prepare("SELECT key, value FROM rows ORDER BY key")?;
    race.scan(|seen| {
        let mut rows = all.query(())?;
        while let Some(row) = rows.next()? {
            seen.row(row.get_ref(0)?.as_blob()?, row.get_ref(1)?.as_blob()?);
        }
        Ok(())
    })?;
    let mut one = connection.prepare("SELECT value FROM rows WHERE key = ?1")?;
    race.points(|key, seen| {
        let mut rows = one.query((key,))?;
        let row = rows.next()?.ok_or("a key is missing")?;
        seen.row(key, row.get_ref(0)?.as_blob()?);
        Ok(())
    })?;
    Ok(connection.execute_batch("COMMIT")?)
}

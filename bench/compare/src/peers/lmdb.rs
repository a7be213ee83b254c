//! LMDB, a mapped B+tree, by way of `heed`.

use std::path::Path;

use heed::types::Bytes;
use heed::{CommitOrAbort, Database, EnvFlags, EnvOpenOptions, PutFlags};
use timestrata_bench::Result;

use crate::race::{Race, Syncs};

const MAP_BYTES: usize = 4 << 30;

pub(super) fn run(dir: &Path, race: &mut Race<'_>) -> Result<()> {
    let mut options = EnvOpenOptions::new();
    options.map_size(MAP_BYTES);
    if race.syncs == Syncs::AtTheEnd {
        // SAFETY: without syncs a power cut may damage the file; it is a scratch file, and
        // the process goes on.
        unsafe { options.flags(EnvFlags::NO_SYNC) };
    }
    // SAFETY: nobody else opens this folder, which was made for this run.
    let env = unsafe { options.open(dir) }?;
    let table: Database<'_, Bytes, Bytes> = env
        .create_databases_and_commit(env.write_txn()?, |opener, transaction| {
            let table = opener.create_database::<Bytes, Bytes>(transaction, None)?;
            Ok::<_, heed::Error>(CommitOrAbort::<_, ()>::Commit(table))
        })?
        .commit()
        .ok_or("the table was not made")?;
    race.ingest(
        |rows| {
            let mut transaction = env.write_txn()?;
            for (key, value) in rows.iter() {
                table.put_with_flags(&mut transaction, PutFlags::APPEND, key, value)?;
            }
            Ok(transaction.commit()?)
        },
        || Ok(env.force_sync()?),
    )?;
    let view = env.read_txn()?;
    race.scan(|seen| {
        for row in table.iter(&view)? {
            let (key, value) = row?;
            seen.row(key, value);
        }
        Ok(())
    })?;
    race.points(|key, seen| {
        let value = table.get(&view, key)?.ok_or("a key is missing")?;
        seen.row(key, value);
        Ok(())
    })
}

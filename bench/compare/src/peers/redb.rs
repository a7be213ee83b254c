//! redb, a copy-on-write B-tree.

use std::path::Path;

use redb::{Database, Durability, ReadableDatabase, ReadableTable, TableDefinition};
use timestrata_bench::Result;

use crate::race::{Race, Syncs};

const TABLE: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("rows");

pub(super) fn run(dir: &Path, race: &mut Race<'_>) -> Result<()> {
    let database = Database::create(dir.join("rows.redb"))?;
    let durability = match race.syncs {
        Syncs::AtTheEnd => Durability::None,
        Syncs::EachBatch => Durability::Immediate,
    };
    race.ingest(
        |rows| {
            let mut transaction = database.begin_write()?;
            transaction.set_durability(durability)?;
            {
                let mut table = transaction.open_table(TABLE)?;
                for (key, value) in rows.iter() {
                    table.insert(key.as_slice(), value)?;
                }
            }
            Ok(transaction.commit()?)
        },
        || {
            let mut transaction = database.begin_write()?;
            transaction.set_durability(Durability::Immediate)?;
            Ok(transaction.commit()?)
        },
    )?;
    let view = database.begin_read()?;
    let table = view.open_table(TABLE)?;
    race.scan(|seen| {
        for row in table.iter()? {
            let (key, value) = row?;
            seen.row(key.value(), value.value());
        }
        Ok(())
    })?;
    race.points(|key, seen| {
        let value = table.get(key.as_slice())?.ok_or("a key is missing")?;
        seen.row(key, value.value());
        Ok(())
    })
}

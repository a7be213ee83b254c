//! Statements that write, on the table model.

use datafusion::arrow::array::RecordBatch;
use timestrata_engine::{Durability, KeyRange, Result, Store};
use timestrata_table::{
    IngestOptions, Table, TableOptions, WriteOptions, create_materialized_view, create_view,
    drop_view, ingest,
};
use timestrata_timelog::{Timelog, is_timelog};

use crate::error::{invalid, table_exists};
use crate::writer::{
    Predicate, RowChange, SqlWriter, TableChange, TableDefinition, ViewDefinition,
};

/// Writes to the tables of a store.
#[derive(Debug)]
pub(crate) struct TableWriter {
    pub(crate) store: Store,
}

impl SqlWriter for TableWriter {
    fn insert(
        &self,
        table: &str,
        batches: &mut dyn Iterator<Item = Result<RecordBatch>>,
    ) -> Result<u64> {
        // It must be a table, and not a stream of another model.
        Table::open(&self.store, table)?;
        let write = WriteOptions { durability: Durability::Synced, ..WriteOptions::default() };
        let options = IngestOptions { write, ..IngestOptions::default() };
        Ok(ingest(&self.store, table, batches, &options)?.rows)
    }

    fn delete_where(&self, table: &str, predicate: &Predicate) -> Result<u64> {
        let table = Table::open(&self.store, table)?;
        delete_rows(&table, &KeyRange::ALL, predicate, Durability::Synced)
    }

    fn update_where(&self, table: &str, predicate: &Predicate, change: &RowChange) -> Result<u64> {
        let table = Table::open(&self.store, table)?.with_times_of(&predicate.stream);
        let picked = |batch: &RecordBatch| predicate.matches(batch);
        table.update_where(&predicate.ranges, picked, |batch| change.apply(batch))
    }

    fn alter(&self, table: &str, change: &TableChange) -> Result<()> {
        if self.store.stream(table).is_some_and(|stream| is_timelog(&stream)) {
            return alter_timelog(&Timelog::open(&self.store, table)?, change);
        }
        let table = Table::open(&self.store, table)?;
        match change {
            TableChange::Columns { added, widened } => {
                table.alter_columns(added, widened).map(drop)
            }
            TableChange::Rename { name } => table.rename(name),
        }
    }

    fn create(&self, definition: &TableDefinition) -> Result<()> {
        if !definition.if_not_exists && self.store.stream(&definition.name).is_some() {
            return Err(table_exists(&definition.name));
        }
        let options = TableOptions { key: definition.key.clone(), ..TableOptions::default() };
        Table::create(&self.store, &definition.name, &definition.schema, &options)?;
        Ok(())
    }

    fn drop_table(&self, table: &str) -> Result<()> {
        Table::drop(&self.store, table)
    }

    fn create_view(&self, view: &ViewDefinition) -> Result<()> {
        match &view.materialized {
            Some(kept) => create_materialized_view(&self.store, kept),
            None => create_view(&self.store, &view.name, &view.query, view.replaces),
        }
    }

    fn drop_view(&self, view: &str) -> Result<()> {
        drop_view(&self.store, view)
    }
}

/// Time logs get columns, and no more.
fn alter_timelog(log: &Timelog, change: &TableChange) -> Result<()> {
    match change {
        TableChange::Columns { added, widened } if widened.is_empty() => {
            log.add_columns(added).map(drop)
        }
        TableChange::Columns { .. } | TableChange::Rename { .. } => Err(invalid(format!(
            "time log '{}': of ALTER TABLE it takes ADD COLUMN name type",
            log.name()
        ))),
    }
}

/// Deletes the rows of a table in `range` that a predicate means; gives how many there were.
///
/// # Errors
/// As [`Table::delete_where`].
pub fn delete_rows(
    table: &Table,
    range: &KeyRange,
    predicate: &Predicate,
    durability: Durability,
) -> Result<u64> {
    table.check_times_of(&predicate.stream)?;
    let table = table.with_times_of(&predicate.stream);
    let parts = predicate.ranges.iter().map(|part| part.intersect(range));
    let parts: Vec<KeyRange> = parts.filter(|part| !part.is_empty()).collect();
    match predicate.is_exact {
        true => table.delete_ranges(&parts, durability),
        false => table.delete_where(&parts, |batch| predicate.matches(batch)),
    }
}

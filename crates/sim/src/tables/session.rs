//! A store of tables in use.

use arrow_array::{BooleanArray, RecordBatch};
use timestrata_engine::{
    Durability, Error, ErrorKind, KeyRange, LeadKey, Result, Retention, RunFormat, Store,
};
use timestrata_table::{OnMismatch, Table, TableOptions, WriteOptions, is_hidden};

use super::ingest::ingest_rows;
use super::model::{Kind, TableChange, TableRow, TablesModel};
use super::read;
use super::rows::{batch, cells, changes_columns, rows_of};
use super::step::{self, Write, row};
use crate::subject::{Action, Alphabet, Judgement, Showing, Subject, Work, misfit};

/// How rows are written: wider columns are no error.
pub(super) fn options(durability: Durability) -> WriteOptions {
    WriteOptions { durability, on_mismatch: OnMismatch::Widen }
}

fn table_options(kind: Kind) -> TableOptions {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let default = TableOptions::default();
    match kind {
        // So that its rows lie by series, and runs keep what they come to.
        Kind::Kept => TableOptions { tags: names(&["symbol"]), ..default },
        Kind::ByTime => {
            TableOptions { key: names(&["symbol", "time"]), run_format: RunFormat::Hot, ..default }
        }
        Kind::ById => TableOptions { hand_out_ids: true, ..default },
        Kind::BySymbol => TableOptions { key: names(&["symbol"]), ..default },
    }
}

/// Opens a table by one of its names, or makes it.
fn table_of(store: &Store, kind: Kind) -> Result<Table> {
    let known = kind.names().iter().find(|name| store.stream(name).is_some());
    let first = row(0, 0, 0, "a");
    let columns = batch(kind, std::slice::from_ref(&first), true)?.schema();
    Table::create(store, known.unwrap_or(&kind.names()[0]), &columns, &table_options(kind))
}

/// Tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tables;

/// What is open of them.
#[derive(Debug)]
pub struct TablesParts {
    tables: Vec<Table>,
    pub(super) ids: Ids,
}

/// What identities the table that hands them out will hand out.
#[derive(Debug, Default)]
pub(super) struct Ids {
    /// The greatest one since the store was opened.
    handed_out: u64,
}

impl Ids {
    /// Rows as they will be written: those without an identity have those that come next.
    ///
    /// # Errors
    /// `InvalidData` if an identity comes that a row has.
    pub(super) fn given(
        &mut self,
        work: &Work<'_, TablesModel>,
        kind: Kind,
        rows: &[TableRow],
    ) -> Result<Vec<TableRow>> {
        let mut rows = rows.to_vec();
        if !are_handed_out(kind, &rows) {
            return Ok(rows);
        }
        let store = work.store;
        let hidden = store.streams().into_iter().filter(|stream| is_hidden(stream));
        let index = hidden.into_iter().find(|stream| stream.name().ends_with(kind.names()[0]));
        let index = index.ok_or_else(|| Error::new(ErrorKind::NotFound, "no index"))?;
        let last = match store.snapshot()?.max_key(index.id(), &KeyRange::ALL)? {
            Some(LeadKey::Offset(greatest)) => greatest.max(self.handed_out),
            _ => self.handed_out,
        };
        let greatest = work.story.last().greatest_id(kind);
        if last < greatest {
            let next = last + 1;
            return Err(misfit(format!("id {next} is handed out; a row has id {greatest}")));
        }
        for (row, id) in rows.iter_mut().zip(last + 1..) {
            row.id = id;
        }
        self.handed_out = last + rows.len() as u64;
        Ok(rows)
    }
}

/// Whether rows are to be given identities.
pub(super) fn are_handed_out(kind: Kind, rows: &[TableRow]) -> bool {
    kind == Kind::ById && rows.iter().any(|row| row.id == 0)
}

impl Subject for Tables {
    type Model = TablesModel;
    type Write = Write;
    type Parts = TablesParts;
    const KIND: &'static str = "tables";
    const ALPHABET: Alphabet<Write> = step::ALPHABET;
    const CHOSEN: &'static [&'static str] = step::CHOSEN;

    fn attach(store: &Store) -> Result<TablesParts> {
        let tables = Kind::ALL.into_iter().map(|kind| table_of(store, kind));
        Ok(TablesParts { tables: tables.collect::<Result<_>>()?, ids: Ids::default() })
    }

    fn write(
        parts: &mut TablesParts,
        work: &mut Work<'_, TablesModel>,
        write: &Write,
    ) -> Result<()> {
        match write {
            Write::Append { kind, rows, durability } => {
                parts.append(work, *kind, rows, *durability, &[])
            }
            Write::AppendCells { kind, row, durability } => {
                let changes = [TableChange::Put(*kind, vec![row.clone()])];
                let table = parts.table(*kind);
                let schema = table.schema()?;
                let append = || table.append_row(&cells(row, &schema), *durability);
                work.commit(&changes, *durability, append)
            }
            Write::Ingest { kind, batches, commits } => {
                ingest_rows(parts, work, *kind, batches, *commits)
            }
            Write::Delete { kind, lo, hi, durability } => {
                let changes = [TableChange::DeleteRange(*kind, *lo, *hi)];
                let delete = || parts.table(*kind).delete(*lo..*hi, *durability);
                work.commit(&changes, *durability, delete)
            }
            Write::DeleteRanges { kind, ranges } => {
                let changes = ranges.map(|(lo, hi)| TableChange::DeleteRange(*kind, lo, hi));
                let ranges = ranges.map(|(lo, hi)| KeyRange::times(lo, hi));
                let delete = |table: &Table| table.delete_ranges(&ranges, Durability::Synced);
                parts.delete(work, *kind, &changes, delete)
            }
            Write::DeleteSymbol { kind, symbol } => {
                let changes = [TableChange::DeleteSymbol(*kind, symbol)];
                let has_it = |batch: &RecordBatch| {
                    let rows = rows_of(batch)?;
                    Ok(BooleanArray::from_iter(rows.iter().map(|row| Some(row.symbol == *symbol))))
                };
                let delete = |table: &Table| table.delete_where(&[KeyRange::ALL], has_it);
                parts.delete(work, *kind, &changes, delete)
            }
            Write::Retain { kind, row } => {
                let rows = std::slice::from_ref(row);
                let expiring = [TableChange::Expiring(*kind)];
                parts.append(work, *kind, rows, Durability::Synced, &expiring)?;
                parts.table(*kind).set_retention(Retention { age_ns: None, bytes: Some(1) })
            }
            Write::Rename { row } => parts.rename(work, row),
            Write::Remake { row } => parts.remake(work, row),
        }
    }

    fn is_only_a_commit(write: &Write) -> bool {
        match write {
            Write::Append { rows, .. } => !changes_columns(rows),
            Write::AppendCells { .. } | Write::Delete { .. } | Write::DeleteRanges { .. } => true,
            _ => false,
        }
    }

    fn after_recovery(_: u64) -> Vec<Action<Write>> {
        let append =
            |kind, rows, durability| Action::Write(Write::Append { kind, rows, durability });
        let known = |n, time, id| TableRow { id, ..row(900, n, time, "c") };
        vec![
            append(Kind::Kept, vec![row(900, 0, 3, "c")], Durability::Written),
            append(Kind::ById, vec![row(900, 1, 4, "c")], Durability::Written),
            append(Kind::ById, vec![known(2, 1, 1), known(3, 6, 2)], Durability::Written),
            append(Kind::BySymbol, vec![row(900, 4, 2, "b")], Durability::Synced),
            Action::Flush,
            Action::Compact,
        ]
    }

    fn after_failure() -> Write {
        let rows = vec![row(901, 0, 3, "d")];
        Write::Append { kind: Kind::Kept, rows, durability: Durability::Synced }
    }

    fn compare(showing: &Showing<'_>, model: &TablesModel) -> Judgement<()> {
        read::compare(showing, model)
    }
}

impl TablesParts {
    pub(super) fn table(&self, kind: Kind) -> &Table {
        &self.tables[kind as usize]
    }

    /// One commit of rows; `changes` come true with it.
    fn append(
        &mut self,
        work: &mut Work<'_, TablesModel>,
        kind: Kind,
        rows: &[TableRow],
        durability: Durability,
        changes: &[TableChange],
    ) -> Result<()> {
        let batch = batch(kind, rows, !are_handed_out(kind, rows))?;
        let rows = self.ids.given(work, kind, rows)?;
        let changes = [&[TableChange::Put(kind, rows)], changes].concat();
        let append = || self.table(kind).append(&batch, options(durability));
        work.commit(&changes, durability, append)
    }

    /// A delete that says how many rows it found, and is no commit if there were none.
    fn delete(
        &self,
        work: &mut Work<'_, TablesModel>,
        kind: Kind,
        changes: &[TableChange],
        delete: impl FnOnce(&Table) -> Result<u64>,
    ) -> Result<()> {
        let before = work.story.known().and_then(|model| model.rows(kind));
        work.begin(changes);
        let after = work.story.known().and_then(|model| model.rows(kind));
        let deleted = before.zip(after).map(|(before, after)| before - after);
        let outcome = delete(self.table(kind));
        if let (Ok(rows), Some(expected)) = (&outcome, deleted)
            && *rows != expected as u64
        {
            return Err(misfit(format!("{rows} rows were deleted, expected {expected}")));
        }
        if matches!(outcome, Ok(0)) {
            work.story.commit_refused();
            return Ok(());
        }
        let seq = outcome.and_then(|_| Ok(work.store.snapshot()?.seq()));
        work.committed(seq, Durability::Synced)
    }

    /// Gives the table that keeps every row its other name. The commits before and after say
    /// which names it may be found by.
    fn rename(&mut self, work: &mut Work<'_, TablesModel>, row: &TableRow) -> Result<()> {
        let kind = Kind::Kept;
        let old = self.table(kind).name()?;
        let new = kind.names().iter().copied().find(|name| *name != old).unwrap_or_default();
        let (rows, synced) = (std::slice::from_ref(row), Durability::Synced);
        let both = [TableChange::Named(kind, kind.names().to_vec())];
        self.append(work, Kind::ByTime, rows, synced, &both)?;
        self.table(kind).rename(new)?;
        let one = [TableChange::Named(kind, vec![new])];
        self.append(work, kind, rows, synced, &one)
    }

    /// Drops the table with a symbol a row and makes it anew, unless a pin holds it.
    fn remake(&mut self, work: &mut Work<'_, TablesModel>, row: &TableRow) -> Result<()> {
        if work.pinned {
            return Ok(());
        }
        let kind = Kind::BySymbol;
        let (rows, synced) = (std::slice::from_ref(row), Durability::Synced);
        self.append(work, Kind::Kept, rows, synced, &[TableChange::Dropping(kind)])?;
        Table::drop(work.store, kind.names()[0])?;
        self.tables[kind as usize] = table_of(work.store, kind)?;
        self.append(work, Kind::Kept, rows, synced, &[TableChange::Remade(kind)])
    }
}

//! The reference model of tables: lists of rows, in which the last of a key is the table's.

use crate::story::Model;

/// The tables, by which row replaces which.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// None.
    Kept,
    /// One of the same symbol and time.
    ByTime,
    /// One of the same id, which the table hands out.
    ById,
    /// One of the same symbol.
    BySymbol,
}

impl Kind {
    pub(super) const ALL: [Self; 4] = [Self::Kept, Self::ByTime, Self::ById, Self::BySymbol];

    /// Names that the table may have.
    pub(super) fn names(self) -> &'static [&'static str] {
        match self {
            Self::Kept => &["ticks", "ticks renamed"],
            Self::ByTime => &["quotes"],
            Self::ById => &["orders"],
            Self::BySymbol => &["accounts"],
        }
    }

    fn replaces(self, new: &TableRow, old: &TableRow) -> bool {
        match self {
            Self::Kept => false,
            Self::ByTime => (new.time, new.symbol) == (old.time, old.symbol),
            Self::ById => new.id == old.id,
            Self::BySymbol => new.symbol == old.symbol,
        }
    }

    /// The place of a row among others; equal ones are in the order of their commits.
    fn place(self, row: &TableRow) -> (i64, u64, &'static str) {
        match self {
            Self::Kept => (row.time, 0, ""),
            Self::ByTime | Self::BySymbol => (row.time, 0, row.symbol),
            Self::ById => (row.time, row.id, ""),
        }
    }
}

/// A row of any table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableRow {
    pub(super) time: i64,
    /// 0 where the table has no such column, and where it is to be handed out.
    pub(super) id: u64,
    pub(super) symbol: &'static str,
    /// Its value, twice: an odd one makes the column wider.
    pub(super) halves: i64,
    pub(super) note: String,
    /// The value of a column that comes later.
    pub(super) extra: Option<i64>,
}

/// One change of one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TableChange {
    /// Rows, each in the place of the one that it replaces.
    Put(Kind, Vec<TableRow>),
    /// Deletes the rows of earlier commits with times in `[lo, hi)`.
    DeleteRange(Kind, i64, i64),
    /// Deletes the rows of earlier commits with this symbol.
    DeleteSymbol(Kind, &'static str),
    /// From now on rows may expire at any time.
    Expiring(Kind),
    /// From now on the table has one of these names.
    Named(Kind, Vec<&'static str>),
    /// From now on the table may be gone, or be there anew.
    Dropping(Kind),
    /// It is there, anew.
    Remade(Kind),
}

/// What may be found of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TableModel {
    pub(super) kind: Kind,
    pub(super) names: Vec<&'static str>,
    pub(super) may_be_missing: bool,
    /// Whether rows may be missing.
    pub(super) may_expire: bool,
    /// Its rows: one of these.
    pub(super) contents: Vec<Vec<TableRow>>,
}

/// Tables after some number of commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TablesModel {
    pub(super) tables: Vec<TableModel>,
}

impl Default for TablesModel {
    fn default() -> Self {
        let table = |kind: Kind| TableModel {
            kind,
            names: kind.names()[..1].to_vec(),
            may_be_missing: false,
            may_expire: false,
            contents: vec![Vec::new()],
        };
        Self { tables: Kind::ALL.into_iter().map(table).collect() }
    }
}

impl TablesModel {
    /// How many rows a table has, where that is sure.
    pub(super) fn rows(&self, kind: Kind) -> Option<usize> {
        let table = &self.tables[kind as usize];
        match &table.contents[..] {
            [rows] if !table.may_expire => Some(rows.len()),
            _ => None,
        }
    }

    /// The greatest identity that a row of a table has.
    pub(super) fn greatest_id(&self, kind: Kind) -> u64 {
        let rows = self.tables[kind as usize].contents.iter().flatten();
        rows.map(|row| row.id).max().unwrap_or_default()
    }
}

impl Model for TablesModel {
    type Change = TableChange;

    fn apply(&mut self, change: &TableChange) {
        use TableChange::*;
        let (Put(kind, _)
        | DeleteRange(kind, ..)
        | DeleteSymbol(kind, _)
        | Expiring(kind)
        | Named(kind, _)
        | Dropping(kind)
        | Remade(kind)) = change;
        let table = &mut self.tables[*kind as usize];
        match change {
            Put(_, rows) => {
                table.may_be_missing = false;
                rows.iter().for_each(|row| table.put(row));
            }
            DeleteRange(_, lo, hi) => table.retain(|row| !(*lo..*hi).contains(&row.time)),
            DeleteSymbol(_, symbol) => table.retain(|row| row.symbol != *symbol),
            Expiring(_) => table.may_expire = true,
            Named(_, names) => table.names.clone_from(names),
            Dropping(_) => {
                table.may_be_missing = true;
                table.contents.push(Vec::new());
            }
            Remade(_) => {
                (table.may_be_missing, table.may_expire) = (false, false);
                table.contents = vec![Vec::new()];
            }
        }
    }
}

impl TableModel {
    fn put(&mut self, row: &TableRow) {
        let kind = self.kind;
        for rows in &mut self.contents {
            rows.retain(|old| !kind.replaces(row, old));
            let at = rows.partition_point(|old| kind.place(old) <= kind.place(row));
            rows.insert(at, row.clone());
        }
    }

    fn retain(&mut self, stays: impl Fn(&TableRow) -> bool) {
        self.contents.iter_mut().for_each(|rows| rows.retain(&stays));
    }

    /// Whether these rows, in their order, may be what the table has.
    pub(super) fn allows(&self, found: &[TableRow]) -> bool {
        self.contents.iter().any(|rows| match self.may_expire {
            false => rows == found,
            true => {
                let mut rows = rows.iter();
                found.iter().all(|row| rows.any(|expected| expected == row))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Kind, TableChange::*, TableRow, TablesModel};
    use crate::story::Model;

    fn row(time: i64, id: u64, symbol: &'static str) -> TableRow {
        TableRow { time, id, symbol, halves: 2, note: String::new(), extra: None }
    }

    #[test]
    fn the_last_row_of_a_key_is_the_table_s() {
        let rows = vec![row(2, 1, "a"), row(1, 1, "a"), row(2, 1, "a")];
        let put = |kind| TablesModel::default().after(&[Put(kind, rows.clone())]);
        assert_eq!(put(Kind::Kept).rows(Kind::Kept), Some(3));
        assert_eq!(put(Kind::ByTime).rows(Kind::ByTime), Some(2));
        for kind in [Kind::ById, Kind::BySymbol] {
            let model = put(kind);
            assert!(model.tables[kind as usize].allows(&[row(2, 1, "a")]));
            assert!(!model.tables[kind as usize].allows(&[row(1, 1, "a")]));
            assert_eq!(model.greatest_id(kind), 1);
        }
    }

    #[test]
    fn what_expires_may_be_missing_and_what_is_deleted_must_be() {
        let kind = Kind::ById;
        let rows = vec![row(1, 1, "a"), row(2, 2, "b"), row(3, 3, "a")];
        let model = TablesModel::default().after(&[Put(kind, rows), Expiring(kind)]);
        let model = model.after(&[DeleteRange(kind, 3, 4)]);
        let allows = |rows: &[TableRow]| model.tables[kind as usize].allows(rows);
        assert!(allows(&[row(1, 1, "a"), row(2, 2, "b")]) && allows(&[row(2, 2, "b")]));
        assert!(allows(&[]) && !allows(&[row(3, 3, "a")]));
        let model = model.after(&[DeleteSymbol(kind, "b")]);
        assert!(!model.tables[kind as usize].allows(&[row(2, 2, "b")]));
    }

    #[test]
    fn a_table_that_is_dropped_is_as_it_was_or_empty_until_it_is_made_anew() {
        let kind = Kind::BySymbol;
        let model = TablesModel::default().after(&[Put(kind, vec![row(1, 0, "a")])]);
        let model = model.after(&[Dropping(kind)]);
        let table = &model.tables[kind as usize];
        assert!(table.may_be_missing && table.allows(&[]) && table.allows(&[row(1, 0, "a")]));
        let model = model.after(&[Remade(kind)]);
        let table = &model.tables[kind as usize];
        assert!(!table.may_be_missing && table.allows(&[]) && !table.allows(&[row(1, 0, "a")]));
    }
}

//! Tables of a store that was opened.

use timestrata::table::{Table, TableScan};

use super::super::{Rows, RowsWanted, TableFace};
use super::DURABILITY;
use crate::failure::Result;
use crate::ranges::table_range;

pub(super) struct OpenedTable {
    table: Table,
}

impl OpenedTable {
    pub(super) fn new(table: Table) -> Self {
        Self { table }
    }
}

impl TableFace for OpenedTable {
    fn rows(&self, wanted: &RowsWanted<'_>) -> Result<Box<dyn Rows>> {
        let view = self.table.view()?;
        let scan = TableScan {
            range: table_range(&view, (wanted.from, wanted.to))?,
            columns: wanted.columns.map(<[String]>::to_vec),
            limit: wanted.limit,
            reverse: wanted.reverse,
            ahead: true,
            skip_damaged: wanted.skip_damaged,
        };
        Ok(Box::new(view.scan(&scan)?))
    }

    fn delete(&self, from: Option<&str>, to: Option<&str>) -> Result<u64> {
        let view = self.table.view()?;
        let range = table_range(&view, (from, to))?;
        let table = self.table.with_times_of(view.stream());
        Ok(table.delete_ranges(&[range], DURABILITY)?)
    }
}

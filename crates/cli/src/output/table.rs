//! Rows as a table for people: columns as wide as the first rows need.

use std::io::{self, Write};

use super::Request;
use super::columns::OutputColumns;
use crate::failure::{Failure, Result};

/// Rows that decide how wide the columns are.
const SAMPLE_ROWS: usize = 1000;
/// Characters of a cell that are shown.
const CELL_CHARACTERS_MAX: usize = 60;

pub(super) fn write(
    out: &mut impl Write,
    request: &Request,
    columns: &mut OutputColumns,
) -> Result<u64> {
    let mut table = Table::new(columns.list.iter().map(|column| column.name.as_str()));
    for row in request.rows() {
        let row = row?;
        let cells = columns.list.iter_mut().map(|column| column.text(&row, request.unit));
        table.push(cells.collect(), out).map_err(Failure::output)?;
    }
    table.finish(out).map_err(Failure::output)
}

/// A table being written: holds back the first rows until the widths are known.
pub(crate) struct Table {
    header: Vec<String>,
    widths: Vec<usize>,
    sample: Vec<Vec<String>>,
    begun: bool,
    rows: u64,
}

impl Table {
    pub(crate) fn new<'a>(header: impl Iterator<Item = &'a str>) -> Self {
        let header: Vec<String> = header.map(cut).collect();
        let widths = header.iter().map(|name| name.chars().count()).collect();
        Self { header, widths, sample: Vec::new(), begun: false, rows: 0 }
    }

    /// Adds a row with one cell a column.
    pub(crate) fn push(&mut self, cells: Vec<String>, out: &mut impl Write) -> io::Result<()> {
        let cells: Vec<String> = cells.iter().map(|cell| cut(cell)).collect();
        self.rows += 1;
        if self.begun {
            return self.write_line(&cells, out);
        }
        for (width, cell) in self.widths.iter_mut().zip(&cells) {
            *width = (*width).max(cell.chars().count());
        }
        self.sample.push(cells);
        if self.sample.len() >= SAMPLE_ROWS { self.begin(out) } else { Ok(()) }
    }

    /// Writes what is left; gives the number of rows.
    pub(crate) fn finish(mut self, out: &mut impl Write) -> io::Result<u64> {
        if !self.begun {
            self.begin(out)?;
        }
        Ok(self.rows)
    }

    fn begin(&mut self, out: &mut impl Write) -> io::Result<()> {
        self.begun = true;
        self.write_line(&self.header, out)?;
        let rule: Vec<String> = self.widths.iter().map(|width| "-".repeat(*width)).collect();
        self.write_line(&rule, out)?;
        for cells in std::mem::take(&mut self.sample) {
            self.write_line(&cells, out)?;
        }
        Ok(())
    }

    fn write_line(&self, cells: &[String], out: &mut impl Write) -> io::Result<()> {
        let mut line = String::new();
        for (width, cell) in self.widths.iter().zip(cells) {
            if !line.is_empty() {
                line.push_str("  ");
            }
            line.push_str(cell);
            let missing = width.saturating_sub(cell.chars().count());
            line.extend(std::iter::repeat_n(' ', missing));
        }
        writeln!(out, "{}", line.trim_end())
    }
}

/// A cell on one line, not too long.
pub(super) fn cut(cell: &str) -> String {
    let long = cell.chars().nth(CELL_CHARACTERS_MAX).is_some();
    let kept = if long { CELL_CHARACTERS_MAX - 1 } else { CELL_CHARACTERS_MAX };
    let mut text: String =
        cell.chars().take(kept).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if long {
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(rows: &[&[&str]]) -> String {
        let mut out = Vec::new();
        let mut table = Table::new(["a", "name"].into_iter());
        for row in rows {
            table.push(row.iter().map(|cell| (*cell).to_owned()).collect(), &mut out).unwrap();
        }
        table.finish(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        assert_eq!(shown(&[&["1", "x"], &["1000", ""]]), "a     name\n----  ----\n1     x\n1000\n");
    }

    #[test]
    fn a_table_without_rows_has_its_header() {
        assert_eq!(shown(&[]), "a  name\n-  ----\n");
    }

    #[test]
    fn long_cells_are_cut_and_line_ends_do_not_break_the_table() {
        let long = "ä".repeat(61);
        let text = shown(&[&[&long, "two\nlines"]]);
        assert!(text.contains(&format!("{}…  two lines", "ä".repeat(59))), "{text}");
    }
}

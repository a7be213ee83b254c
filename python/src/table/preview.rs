//! A few rows as text and as HTML: what interpreters and notebooks show of tables and answers. Bounded, whatever the rows hold.

use std::fmt::Write as _;

use arrow_array::RecordBatch;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::Schema;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use timestrata_engine::{KeyRange, Result};
use timestrata_table::Table as TableModel;

use crate::interrupt::detached;

/// Rows that are shown.
pub(super) const ROWS_SHOWN: usize = 10;
const COLUMNS_SHOWN: usize = 20;
const CELL_CHARS: usize = 40;
const OPTIONS: FormatOptions<'_> = FormatOptions::new().with_null("null").with_display_error(true);

/// The names and types of columns, and what some rows hold in them.
pub(super) struct Preview {
    columns: Vec<(String, String)>,
    columns_left: usize,
    rows: Vec<Vec<String>>,
    /// What is said below: how many rows there are.
    told: String,
}

impl Preview {
    /// Of the first rows of some batches; those behind are not looked at.
    pub(super) fn of(schema: &Schema, batches: &[RecordBatch]) -> Self {
        let fields = schema.fields();
        let shown = fields.iter().take(COLUMNS_SHOWN);
        let columns = shown.map(|field| (cut(field.name()), cut(&field.data_type().to_string())));
        let columns: Vec<_> = columns.collect();
        let mut rows = Vec::new();
        for batch in batches {
            let cells = batch.columns().iter().take(columns.len());
            let cells: Vec<_> = cells.map(|cell| ArrayFormatter::try_new(cell, &OPTIONS)).collect();
            for row in 0..batch.num_rows().min(ROWS_SHOWN - rows.len()) {
                let cell = |cell: &std::result::Result<ArrayFormatter<'_>, _>| match cell {
                    Ok(cell) => cut(&cell.value(row).to_string()),
                    Err(_) => "?".to_owned(),
                };
                rows.push(cells.iter().map(cell).collect());
            }
        }
        let all: usize = batches.iter().map(RecordBatch::num_rows).sum();
        let told = match (all, all > rows.len()) {
            (1, _) => "1 row".to_owned(),
            (_, true) => format!("the first {} rows", rows.len()),
            (all, false) => format!("{all} rows"),
        };
        Self { columns_left: fields.len() - columns.len(), columns, rows, told }
    }

    /// Of the newest rows of a table, and how many it has where that is known without reading them.
    pub(super) fn of_table(model: &TableModel) -> Result<(Self, Option<u64>)> {
        let view = model.view()?;
        let all = [KeyRange::ALL];
        let estimate = view.snapshot().estimate(view.stream().id(), &all)?;
        let count = estimate.counts_cheaply.then(|| view.count(&KeyRange::ALL)).transpose()?;
        let newest = view.last(ROWS_SHOWN)?;
        let preview = Self::of(view.schema(), std::slice::from_ref(&newest));
        let told = match (count, newest.num_rows()) {
            (Some(count), shown) if count > shown as u64 => {
                format!("the last {shown} of {count} rows")
            }
            (None, ROWS_SHOWN) => format!("the last {ROWS_SHOWN} rows"),
            _ => return Ok((preview, count)),
        };
        Ok((Self { told, ..preview }, count))
    }

    /// `head`, and the rows below it in columns.
    pub(super) fn text(&self, head: &str) -> String {
        let chars = |text: &String| text.chars().count();
        let width = |(place, (name, _)): (usize, &(String, String))| {
            let cells = self.rows.iter().filter_map(|row| row.get(place)).map(chars);
            cells.chain([chars(name)]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = self.columns.iter().enumerate().map(width).collect();
        let mut text = head.to_owned();
        let mut put = |cells: &mut dyn Iterator<Item = &String>| {
            let padded = cells.zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
            let mut line = padded.collect::<Vec<_>>().join("  ");
            if self.columns_left > 0 {
                line.push_str("  ...");
            }
            text.push('\n');
            text.push_str(line.trim_end());
        };
        if !self.rows.is_empty() {
            put(&mut self.columns.iter().map(|(name, _)| name));
            self.rows.iter().for_each(|row| put(&mut row.iter()));
        }
        let _ = write!(text, "\n({}{})", self.told, self.columns_told());
        text
    }

    /// The same as a table of HTML, with the types of the columns.
    pub(super) fn html(&self, caption: &str) -> String {
        let mut html = String::from("<table><caption>");
        html.push_str(&escaped(caption));
        html.push_str("</caption><thead><tr>");
        for (name, data_type) in &self.columns {
            let (name, data_type) = (escaped(name), escaped(data_type));
            let _ = write!(html, "<th>{name}<br><small>{data_type}</small></th>");
        }
        html.push_str("</tr></thead><tbody>");
        for row in &self.rows {
            let cells: String =
                row.iter().map(|cell| format!("<td>{}</td>", escaped(cell))).collect();
            let _ = write!(html, "<tr>{cells}</tr>");
        }
        let told = format!("{}{}", self.told, self.columns_told());
        let _ = write!(html, "</tbody></table><small>{}</small>", escaped(&told));
        html
    }

    fn columns_told(&self) -> String {
        match self.columns_left {
            0 => String::new(),
            left => format!(", and {left} columns more"),
        }
    }
}

/// What is shown where rows can't be read, as where a store was closed; an interrupt goes on.
pub(super) fn unless_unread(
    py: Python<'_>,
    shown: PyResult<String>,
    head: &str,
) -> PyResult<String> {
    match shown {
        Err(error) if error.is_instance_of::<PyException>(py) => {
            Ok(format!("{head}\n({})", cut_to(&error.value(py).to_string(), 400)))
        }
        shown => shown,
    }
}

/// The same of HTML.
pub(super) fn unless_unread_html(
    py: Python<'_>,
    shown: PyResult<String>,
    head: &str,
) -> PyResult<String> {
    let Err(error) = shown else { return shown };
    unless_unread(py, Err(error), head).map(|text| format!("<pre>{}</pre>", escaped(&text)))
}

/// The newest rows of a table, and how many it has where that is known.
pub(super) fn of_table(py: Python<'_>, model: &TableModel) -> PyResult<(Preview, Option<u64>)> {
    detached(py, || Preview::of_table(model))
}

/// A text as one line, up to a length.
fn cut(text: &str) -> String {
    cut_to(text, CELL_CHARS)
}

fn cut_to(text: &str, chars_max: usize) -> String {
    let mut shown = String::new();
    for (place, character) in text.chars().enumerate() {
        if place == chars_max {
            shown.push_str("...");
            break;
        }
        match character.is_control() {
            true => shown.extend(character.escape_default()),
            false => shown.push(character),
        }
    }
    shown
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

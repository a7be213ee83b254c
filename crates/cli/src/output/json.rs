//! Rows as JSON lines.

use std::io::Write;
use std::iter::once;

use ciborium::Value;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use timestrata::timelog::Unit;

use super::cell::AsJson;
use super::columns::OutputColumns;
use super::{CURSOR, Request, Row, TIME};
use crate::failure::{Failure, Result};
use crate::times;

/// A row with the fields that it has, and maybe the place behind it.
pub(super) fn write_row(
    out: &mut impl Write,
    row: &Row,
    unit: Unit,
    cursor: Option<&str>,
) -> Result<()> {
    let cursor = cursor.map(|cursor| Value::Text(cursor.to_owned()));
    let fields = row.fields.iter().map(|(name, value)| match name.as_str() {
        // A field that is itself called so.
        CURSOR if cursor.is_some() => ("value.cursor", Some(value)),
        name => (name, Some(value)),
    });
    let cursor = cursor.iter().map(|cursor| (CURSOR, Some(cursor)));
    let cells = once((TIME, None)).chain(cursor).chain(fields).collect();
    Cells { cells, time: row.time, unit }.write(out)
}

/// Rows with the fields that each has.
pub(super) fn write_whole(out: &mut impl Write, request: &Request) -> Result<u64> {
    let mut rows = 0;
    for row in request.rows() {
        let row = row?;
        let fields = row.fields.iter().map(|(name, value)| (name.as_str(), Some(value)));
        let cells = once((TIME, None)).chain(fields).collect();
        Cells { cells, time: row.time, unit: request.unit }.write(out)?;
        rows += 1;
    }
    Ok(rows)
}

/// Rows with the columns asked for; a field that a row lacks is null.
pub(super) fn write(
    out: &mut impl Write,
    request: &Request,
    columns: &mut OutputColumns,
) -> Result<u64> {
    let mut rows = 0;
    for row in request.rows() {
        let row = row?;
        let cells = columns.list.iter_mut().map(|column| {
            let value = if column.is_time() { None } else { column.value(&row) };
            (column.name.as_str(), value)
        });
        Cells { cells: cells.collect(), time: row.time, unit: request.unit }.write(out)?;
        rows += 1;
    }
    Ok(rows)
}

/// A row, its columns in order: the time, values, nulls.
struct Cells<'a> {
    cells: Vec<(&'a str, Option<&'a Value>)>,
    time: i64,
    unit: Unit,
}

impl Cells<'_> {
    fn write(&self, out: &mut impl Write) -> Result<()> {
        serde_json::to_writer(&mut *out, self)
            .map_err(std::io::Error::from)
            .and_then(|()| out.write_all(b"\n"))
            .map_err(Failure::output)
    }
}

impl Serialize for Cells<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.cells.len()))?;
        for (name, value) in &self.cells {
            match *name {
                TIME => map.serialize_entry(TIME, &times::format(self.time, self.unit))?,
                name => map.serialize_entry(name, &value.map(AsJson))?,
            }
        }
        map.end()
    }
}

//! Rows as JSON lines.

use std::io::Write;

use ciborium::Value;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use timestrata::timelog::Unit;

use super::cell::AsJson;
use super::columns::Columns;
use super::{Request, Row, TIME};
use crate::failure::{Failure, Result};
use crate::times;

/// Rows with the fields that each has.
pub(super) fn write_whole(out: &mut impl Write, request: &Request) -> Result<u64> {
    let mut rows = 0;
    for row in request.rows() {
        write_line(out, &WholeRow { row: &row?, unit: request.unit })?;
        rows += 1;
    }
    Ok(rows)
}

/// Rows with the columns asked for; a field that a row lacks is null.
pub(super) fn write(out: &mut impl Write, request: &Request, columns: &mut Columns) -> Result<u64> {
    let mut rows = 0;
    for row in request.rows() {
        let row = row?;
        let cells: Vec<_> = columns
            .list
            .iter_mut()
            .map(|column| {
                let value = if column.is_time() { None } else { column.value(&row) };
                (column.name.as_str(), value)
            })
            .collect();
        write_line(out, &ChosenCells { cells: &cells, time: row.time, unit: request.unit })?;
        rows += 1;
    }
    Ok(rows)
}

fn write_line(out: &mut impl Write, row: &impl Serialize) -> Result<()> {
    serde_json::to_writer(&mut *out, row)
        .map_err(std::io::Error::from)
        .and_then(|()| out.write_all(b"\n"))
        .map_err(Failure::output)
}

struct WholeRow<'a> {
    row: &'a Row,
    unit: Unit,
}

impl Serialize for WholeRow<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.row.fields.len() + 1))?;
        map.serialize_entry(TIME, &times::format(self.row.time, self.unit))?;
        for (name, value) in &self.row.fields {
            map.serialize_entry(name, &AsJson(value))?;
        }
        map.end()
    }
}

struct ChosenCells<'a> {
    cells: &'a [(&'a str, Option<&'a Value>)],
    time: i64,
    unit: Unit,
}

impl Serialize for ChosenCells<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.cells.len()))?;
        for (name, value) in self.cells {
            match value {
                _ if *name == TIME => {
                    map.serialize_entry(name, &times::format(self.time, self.unit))?;
                }
                Some(value) => map.serialize_entry(name, &AsJson(value))?,
                None => map.serialize_entry(name, &())?,
            }
        }
        map.end()
    }
}

//! Which columns the rows have: named by the user, or found by reading the rows once.

use std::collections::HashMap;

use arrow_schema::DataType;
use ciborium::Value;

use super::{Request, Row, TIME, cell};
use crate::failure::Result;
use crate::times;
use timestrata::timelog::Unit;

fn type_of(value: &Value) -> DataType {
    match value {
        Value::Null => DataType::Null,
        Value::Bool(_) => DataType::Boolean,
        Value::Integer(value) if i64::try_from(*value).is_ok() => DataType::Int64,
        Value::Float(_) => DataType::Float64,
        Value::Bytes(_) => DataType::Binary,
        Value::Tag(_, value) => type_of(value),
        _ => DataType::Utf8,
    }
}

/// The narrowest type that holds the values of both.
fn common_type(one: &DataType, other: DataType) -> DataType {
    use DataType::{Float64, Int64, Null, Utf8};
    match (one, other) {
        (a, b) if *a == b => b,
        (Null, b) => b,
        (a, Null) => a.clone(),
        (Int64, Float64) | (Float64, Int64) => Float64,
        _ => Utf8,
    }
}

/// One column.
#[derive(Debug, Clone)]
pub(super) struct Column {
    pub(super) name: String,
    /// Null where only nulls were found; text where values fit nothing else.
    pub(super) data_type: DataType,
    seen: bool,
    position: usize,
}

impl Column {
    fn new(name: &str) -> Self {
        Self { name: name.to_owned(), data_type: DataType::Null, seen: name == TIME, position: 0 }
    }

    /// Whether it has the rows' times.
    pub(super) fn is_time(&self) -> bool {
        self.name == TIME
    }

    /// The column's value in `row`. Not for the time column.
    pub(super) fn value<'a>(&mut self, row: &'a Row) -> Option<&'a Value> {
        let value = row.field(&self.name, &mut self.position);
        self.seen |= value.is_some();
        value
    }

    /// The column's cell in `row`, as text.
    pub(super) fn text(&mut self, row: &Row, unit: Unit) -> String {
        if self.is_time() {
            return times::format(row.time, unit);
        }
        self.value(row).map(cell::text).unwrap_or_default()
    }
}

/// The columns of an output, in order.
#[derive(Debug, Clone)]
pub(super) struct OutputColumns {
    pub(super) list: Vec<Column>,
}

impl OutputColumns {
    /// Those that the user named.
    pub(super) fn named(names: &[String]) -> Self {
        Self { list: names.iter().map(|name| Column::new(name)).collect() }
    }

    /// The time, then each field that a row has, in the order in which they turn up.
    pub(super) fn found(request: &Request) -> Result<Self> {
        let mut list = vec![Column::new(TIME)];
        let mut indexes: HashMap<String, usize> = HashMap::new();
        for row in request.rows() {
            for (position, (name, value)) in row?.fields.iter().enumerate() {
                // Most rows have the same fields in the same order as the first.
                let guess = list.get(position + 1).filter(|column| column.name == *name);
                let index = match (guess, indexes.get(name)) {
                    (Some(_), _) => position + 1,
                    (None, Some(index)) => *index,
                    (None, None) => {
                        indexes.insert(name.clone(), list.len());
                        list.push(Column::new(name));
                        list.len() - 1
                    }
                };
                if let Some(column) = list.get_mut(index) {
                    column.data_type = common_type(&column.data_type, type_of(value));
                    column.seen = true;
                }
            }
        }
        Ok(Self { list })
    }

    /// Of these, only the ones named, in the order named.
    pub(super) fn only(self, names: &[String]) -> Self {
        let find = |name: &String| {
            let found = self.list.iter().find(|column| column.name == *name).cloned();
            found.unwrap_or_else(|| Column::new(name))
        };
        Self { list: names.iter().map(find).collect() }
    }

    /// Names of columns that no row had.
    pub(super) fn never_seen(&self) -> impl Iterator<Item = &str> {
        self.list.iter().filter(|column| !column.seen).map(|column| column.name.as_str())
    }
}

//! The types of columns of JSON, from a sample.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields, SchemaRef};

use super::super::convert::Column;
use super::super::infer::{Role, Seen, Writing};
use super::super::report::Place;
use super::super::schema::{FoundColumn, as_type};
use super::value::Json;

/// What the values of one name look like.
#[derive(Debug, Clone, Default)]
pub(super) struct Shape {
    seen: Seen,
    has_scalars: bool,
    list: Option<Box<Shape>>,
    object: Option<Entries>,
}

/// Values by name, in the order in which the names first appear.
#[derive(Debug, Clone, Default)]
pub(super) struct Entries {
    shapes: Vec<(String, Shape)>,
    places: HashMap<String, usize>,
    writing: Writing,
}

impl Entries {
    /// None yet, of values that are written so.
    pub(super) fn new(writing: Writing) -> Self {
        Self { writing, ..Self::default() }
    }

    pub(super) fn add(&mut self, name: &str, value: &Json, line: u64) {
        let place = self.places.get(name).and_then(|place| self.shapes.get_mut(*place));
        if let Some((_, shape)) = place {
            shape.add(value, line);
            return;
        }
        let mut shape = Shape::new(&self.writing);
        shape.add(value, line);
        self.places.insert(name.to_owned(), self.shapes.len());
        self.shapes.push((name.to_owned(), shape));
    }

    /// Forgets the values, but for what they say of their columns.
    pub(super) fn forget(&mut self, expected: Option<&SchemaRef>) {
        for (name, shape) in &mut self.shapes {
            let field = expected.and_then(|schema| schema.field_with_name(name).ok());
            shape.forget(field.map(|field| as_type(name, &shape.seen, field.data_type())).as_ref());
        }
    }

    pub(super) fn into_shapes(self) -> Vec<(String, Shape)> {
        self.shapes
    }
}

impl Shape {
    fn new(writing: &Writing) -> Self {
        Self { seen: Seen::new(writing), ..Self::default() }
    }

    /// Adds a value of the record on this line.
    pub(super) fn add(&mut self, value: &Json, line: u64) {
        self.has_scalars |= matches!(value, Json::Boolean(_) | Json::Number(_) | Json::Text(_));
        match value {
            Json::Null => {}
            Json::Boolean(_) => self.seen.add(b"true", Some(Place::Line(line))),
            Json::Number(text) => self.seen.add(text.as_bytes(), Some(Place::Line(line))),
            Json::Text(text) => self.seen.add_text(text.as_bytes(), Some(Place::Line(line))),
            Json::List(items) => {
                let list = self.list.get_or_insert_with(|| Box::new(Self::new(&Writing::nested())));
                items.iter().for_each(|item| list.add(item, line));
            }
            Json::Object(entries) => {
                let object = self.object.get_or_insert_with(|| Entries::new(Writing::nested()));
                entries.iter().for_each(|(name, value)| object.add(name, value, line));
            }
        }
    }

    fn forget(&mut self, column: Option<&Column>) {
        self.seen.forget(column);
        if let Some(list) = &mut self.list {
            list.forget(None);
        }
        if let Some(object) = &mut self.object {
            object.forget(None);
        }
    }

    /// As a column; `None` if no one type holds all its values.
    pub(super) fn into_found(self, name: String) -> Option<FoundColumn> {
        if self.list.is_none() && self.object.is_none() {
            return Some(FoundColumn::of_text(name, self.seen));
        }
        let data_type = self.data_type(&name)?;
        Some(FoundColumn::written(&name, data_type, Seen::default()))
    }

    fn data_type(&self, name: &str) -> Option<DataType> {
        match (&self.list, &self.object) {
            (None, None) => Some(self.seen.data_type(name, Role::default())),
            _ if self.has_scalars => None,
            (Some(_), Some(_)) => None,
            (Some(item), None) => {
                Some(DataType::List(Arc::new(Field::new("item", item.data_type(name)?, true))))
            }
            (None, Some(entries)) => {
                let fields = entries
                    .shapes
                    .iter()
                    .map(|(name, shape)| Some(Field::new(name, shape.data_type(name)?, true)));
                Some(DataType::Struct(fields.collect::<Option<Fields>>()?))
            }
        }
    }
}

/// The columns as which values are first read: all scalars as their text.
pub(super) fn fields_as_text(fields: &Fields) -> Fields {
    let text = |field: &FieldRef| Field::new(field.name(), as_text(field.data_type()), true);
    fields.iter().map(text).collect()
}

fn as_text(data_type: &DataType) -> DataType {
    match data_type {
        DataType::List(item) => {
            DataType::List(Arc::new(Field::new(item.name(), as_text(item.data_type()), true)))
        }
        DataType::Struct(fields) => DataType::Struct(fields_as_text(fields)),
        DataType::Map(..) | DataType::LargeList(_) | DataType::FixedSizeList(..) => {
            data_type.clone()
        }
        _ => DataType::Utf8,
    }
}

//! The columns of entries, read row by row: one way for searches, for answers and for SQL.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray, Int8Array, StringArray, TimestampNanosecondArray};
use timestrata_values::cbor::{comma, member, write_text};

use super::field_column::FieldColumn;
use super::layout::Layout;
use super::options::{FIELDS, LABELS, LEVEL, MESSAGE, SOURCE_TIME, TIMESTAMP};
use super::value::{each_field, find};
use super::{FieldValue, Level};

const TIMES: [usize; 2] = [TIMESTAMP, SOURCE_TIME];
const TEXTS: [usize; 2] = [MESSAGE, LABELS];

/// Those of a log's columns that were read, with their types told once. What was not read is as if it
/// were null.
#[derive(Debug, Clone)]
pub(super) struct EntryColumns {
    layout: Arc<Layout>,
    /// Those of [`TIMES`].
    times: [Option<TimestampNanosecondArray>; 2],
    level: Option<Int8Array>,
    /// Those of [`TEXTS`].
    texts: [Option<StringArray>; 2],
    rest: Option<BinaryArray>,
    /// In the order of the layout.
    promoted: Vec<Option<FieldColumn>>,
}

impl EntryColumns {
    /// `column` gives a column by its place in the log's stream, if it was read.
    pub(super) fn new<'a>(
        layout: Arc<Layout>,
        column: impl Fn(usize) -> Option<&'a ArrayRef>,
    ) -> Self {
        let times = |place: usize| column(place)?.as_primitive_opt().cloned();
        let texts = |place: usize| column(place)?.as_string_opt().cloned();
        let promoted = layout.promoted.iter();
        let promoted =
            promoted.map(|known| Some(FieldColumn::new(known.kind, column(known.column)?)));
        Self {
            times: TIMES.map(times),
            level: column(LEVEL).and_then(|levels| levels.as_primitive_opt().cloned()),
            texts: TEXTS.map(texts),
            rest: column(FIELDS).and_then(|rest| rest.as_binary_opt().cloned()),
            promoted: promoted.collect(),
            layout,
        }
    }

    pub(super) fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    /// One of the two columns of times.
    pub(super) fn times(&self, column: usize) -> Option<&TimestampNanosecondArray> {
        self.times.get(TIMES.iter().position(|known| *known == column)?)?.as_ref()
    }

    /// A row's time in one of these.
    pub(super) fn time(&self, column: usize, row: usize) -> Option<i64> {
        let times = self.times(column)?;
        times.is_valid(row).then(|| times.value(row))
    }

    pub(super) fn level(&self, row: usize) -> Option<Level> {
        let levels = self.level.as_ref()?;
        if levels.is_null(row) { None } else { Level::of_severity(levels.value(row)) }
    }

    /// The column of messages, or the one of labels.
    pub(super) fn texts(&self, column: usize) -> Option<&StringArray> {
        self.texts.get(TEXTS.iter().position(|known| *known == column)?)?.as_ref()
    }

    /// A row's text in one of these.
    pub(super) fn text(&self, column: usize, row: usize) -> Option<&str> {
        let texts = self.texts(column)?;
        texts.is_valid(row).then(|| texts.value(row))
    }

    /// A row's fields without columns, as a CBOR map.
    pub(super) fn rest(&self, row: usize) -> Option<&[u8]> {
        let rest = self.rest.as_ref()?;
        rest.is_valid(row).then(|| rest.value(row))
    }

    /// Calls `take` with the name and value of each of a row's fields.
    pub(super) fn each_field<'a>(
        &'a self,
        row: usize,
        mut take: impl FnMut(&'a str, FieldValue<'a>),
    ) {
        for (known, column) in self.layout.promoted.iter().zip(&self.promoted) {
            if let Some(value) = column.as_ref().and_then(|column| column.get(row)) {
                take(&known.name, FieldValue::Scalar(value));
            }
        }
        if let Some(rest) = self.rest(row) {
            // What is damaged ends the list; `check` tells of damage.
            let _ = each_field(rest, |name, item| {
                take(name, FieldValue::of_item(item));
                false
            });
        }
    }

    /// A row's value of a field; a name with dots may lead into objects.
    pub(super) fn field(&self, row: usize, name: &str) -> Option<FieldValue<'_>> {
        let place = self.layout.promoted.iter().position(|known| known.name == name);
        let column = place.and_then(|place| self.promoted.get(place)?.as_ref());
        match column.and_then(|column| column.get(row)) {
            Some(value) => Some(FieldValue::Scalar(value)),
            None => self.rest(row).and_then(|rest| find(rest, name)),
        }
    }

    /// A row's value of the field that is called so, and not of what a name with dots leads to.
    pub(super) fn own_field(&self, row: usize, name: &str) -> Option<FieldValue<'_>> {
        let place = self.layout.promoted.iter().position(|known| known.name == name);
        let column = place.and_then(|place| self.promoted.get(place)?.as_ref());
        match column.and_then(|column| column.get(row)) {
            Some(value) => Some(FieldValue::Scalar(value)),
            None => self.rest(row).and_then(|rest| member(rest, name)).map(FieldValue::of_item),
        }
    }

    /// Appends a row's fields as a JSON object; false if there are none.
    pub(super) fn write_fields_json(&self, row: usize, out: &mut String) -> bool {
        out.push('{');
        let mut is_first = true;
        self.each_field(row, |name, value| write_member(&mut is_first, name, value, out));
        out.push('}');
        !is_first
    }

    /// As [`write_fields_json`](Self::write_fields_json), by name.
    pub(super) fn write_sorted_fields_json(&self, row: usize, out: &mut String) -> bool {
        let mut fields = Vec::new();
        self.each_field(row, |name, value| fields.push((name, value)));
        fields.sort_by_key(|(name, _)| *name);
        out.push('{');
        let mut is_first = true;
        fields.into_iter().for_each(|(name, value)| write_member(&mut is_first, name, value, out));
        out.push('}');
        !is_first
    }
}

fn write_member(is_first: &mut bool, name: &str, value: FieldValue<'_>, out: &mut String) {
    comma(is_first, out);
    write_text(name, out);
    out.push(':');
    value.write_json(out);
}

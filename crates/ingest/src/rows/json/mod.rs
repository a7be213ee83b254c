//! JSON: an object a row, its keys the columns.

mod records;
mod shape;
mod value;

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow_array::RecordBatch;
use arrow_json::ReaderBuilder;
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};
use timestrata_engine::Result;

use self::records::{Closed, Record, RecordForm, is_too_deep};
use self::shape::{Entries, fields_as_text};
use self::value::Json;
use super::assemble::Assembly;
use super::convert::{Column, NullText};
use super::infer::{Seen, Writing};
use super::input::Opened;
use super::options::ReadOptions;
use super::pieces::{Cutter, PIECE_BYTES, Piece};
use super::report::{BadRow, Place, invalid};
use super::schema::{ColumnLayout, FoundColumn};
use super::workers::{ParsePiece, Parsed, Pieces};
use super::{Opening, Rows, guard, names, nested};

const WHAT: &str = "JSON";

/// The records of an input.
fn begin(opened: Opened, options: &ReadOptions) -> (RecordForm, Cutter) {
    let form = RecordForm::of(&opened.start);
    let is_array = opened.start.trim_ascii_start().starts_with(b"[");
    let reader: Box<dyn Read + Send> =
        if is_array { Box::new(Closed::new(opened.reader)) } else { opened.reader };
    let mut cutter = Cutter::new(&opened.name, reader, Box::new(form), options.row_bytes_max);
    cutter.begins_behind(options.skip_lines);
    (form, cutter)
}

/// Opens JSON: reads a sample, unless its columns are known, and settles types by it.
pub(super) fn open(
    opened: Opened,
    options: &ReadOptions,
    known: Option<Vec<FoundColumn>>,
    may_repeat: bool,
) -> Result<Opening> {
    let name = opened.name.clone();
    let (form, mut cutter) = begin(opened, options);
    let is_sampled = known.is_none();
    let mut found = known.unwrap_or_default();
    if is_sampled && let Some(piece) = cutter.next(options.sample_bytes)? {
        let mut entries = Entries::new(Writing::of(options));
        look_at(form, &piece, options.sample_rows, &mut entries);
        found = columns_of(&name, entries, options)?;
        cutter.give_back(piece);
    }
    if is_sampled && may_repeat && found.iter().any(FoundColumn::is_unclear) {
        return Ok(Opening::Unclear);
    }
    // An empty input has no columns, so none can be missing.
    let mut options = options.clone();
    options.time = options.time.filter(|_| !found.is_empty());
    let layout = ColumnLayout::new(&name, found, &options)?;
    let raw = fields_as_text(layout.schema.fields());
    let (schema, columns) = without_empty_groups(&layout);
    let assembly = Assembly::new(&name, &schema, layout.time.as_deref(), &options);
    let has_misfit = Arc::clone(&assembly.has_misfit);
    let rows = JsonRows {
        assembly,
        form,
        raw: Arc::new(Schema::new(raw)),
        columns,
        batch_rows: options.batch_rows.max(1),
    };
    Ok(Opening::Ready(Rows {
        schema,
        time: layout.time,
        spoils_time: layout.spoils_time,
        notes: layout.notes,
        delimiter: None,
        has_misfit,
        batches: Box::new(Pieces::new(cutter, Arc::new(rows), options.threads)),
    }))
}

/// The columns as all records show them.
pub(super) fn look_at_all(opened: Opened, options: &ReadOptions) -> Result<Vec<FoundColumn>> {
    let name = opened.name.clone();
    let (form, mut cutter) = begin(opened, options);
    let mut entries = Entries::new(Writing::of(options));
    while let Some(piece) = cutter.next(PIECE_BYTES)? {
        look_at(form, &piece, usize::MAX, &mut entries);
        entries.forget(options.schema.as_ref());
    }
    columns_of(&name, entries, options)
}

/// Adds the records of a piece, of which at most so many are looked at.
fn look_at(form: RecordForm, piece: &Piece, rows_max: usize, entries: &mut Entries) {
    for (range, line) in form.records(&piece.bytes, piece.line).into_iter().take(rows_max) {
        let record = piece.bytes.get(range).unwrap_or_default();
        if let Ok(Json::Object(object)) = Json::parse(record) {
            object.iter().for_each(|(name, value)| entries.add(name, value, line));
        }
    }
}

/// The columns of records that were looked at.
fn columns_of(input: &str, entries: Entries, options: &ReadOptions) -> Result<Vec<FoundColumn>> {
    let shapes = entries.into_shapes();
    names::check(input, shapes.iter().map(|(name, _)| name.as_str()))?;
    let expected = options.schema.as_ref();
    let found = shapes.into_iter().map(|(name, shape)| {
        let known = expected.and_then(|schema| schema.field_with_name(&name).ok());
        if let Some(field) = known.filter(|field| field.data_type().is_nested()) {
            return Ok(FoundColumn::written(&name, field.data_type().clone(), Seen::default()));
        }
        let message = format!(
            "column '{}' holds values beside lists or objects: no type holds them all",
            super::report::shorten(name.as_bytes())
        );
        shape.into_found(name).ok_or_else(|| invalid(input, message))
    });
    found.collect()
}

/// The columns without groups that have no members, which can't be stored.
fn without_empty_groups(layout: &ColumnLayout) -> (SchemaRef, Vec<Column>) {
    let kept = layout.schema.fields().iter().zip(&layout.columns).filter_map(|(field, column)| {
        let data_type = with_members(field.data_type())?;
        let field = field.as_ref().clone().with_data_type(data_type.clone());
        Some((field, Column { data_type, ..column.clone() }))
    });
    let (fields, columns): (Vec<Field>, Vec<Column>) = kept.unzip();
    (Arc::new(Schema::new(fields)), columns)
}

fn with_members(data_type: &DataType) -> Option<DataType> {
    match data_type {
        DataType::Struct(fields) => {
            let kept = fields.iter().filter_map(|field| {
                let data_type = with_members(field.data_type())?;
                Some(field.as_ref().clone().with_data_type(data_type))
            });
            let kept: Fields = kept.collect();
            (!kept.is_empty()).then_some(DataType::Struct(kept))
        }
        DataType::List(item) => {
            let data_type = with_members(item.data_type())?;
            Some(DataType::List(Arc::new(item.as_ref().clone().with_data_type(data_type))))
        }
        other => Some(other.clone()),
    }
}

/// How pieces of one JSON input become batches.
struct JsonRows {
    assembly: Assembly,
    form: RecordForm,
    /// All columns, with their scalars as text.
    raw: SchemaRef,
    /// How those that are kept are converted.
    columns: Vec<Column>,
    batch_rows: usize,
}

impl ParsePiece for JsonRows {
    fn parse(&self, piece: Piece) -> Result<Parsed> {
        let mut parsed = Parsed::default();
        let records = self.form.records(&piece.bytes, piece.line);
        for records in records.chunks(self.batch_rows) {
            parsed.batches.push(self.batch(&piece.bytes, records, &mut parsed.skipped)?);
        }
        Ok(parsed)
    }
}

impl JsonRows {
    fn batch(
        &self,
        bytes: &[u8],
        records: &[Record],
        skipped: &mut Vec<BadRow>,
    ) -> Result<RecordBatch> {
        let mut bad = Vec::new();
        let (texts, lines) = match self.decode(bytes, records) {
            Ok(batch) => (batch, records.iter().map(|(_, line)| *line).collect::<Vec<_>>()),
            Err(_) => self.decode_each(bytes, records, &mut bad)?,
        };
        let nulls = NullText::none();
        let is_first_enough = self.assembly.is_first_enough();
        let columns = self.assembly.schema.fields().iter().zip(&self.columns);
        let columns = columns.filter_map(|(field, column)| {
            let array = texts.column_by_name(field.name())?;
            Some(nested::convert(array, column, &nulls, is_first_enough))
        });
        let columns = columns.collect();
        let place = |at: usize| Place::Line(lines.get(at).copied().unwrap_or_default());
        let batch = self.assembly.batch(columns, lines.len(), place, &mut bad)?;
        skipped.append(&mut bad);
        Ok(batch)
    }

    /// Records as text in columns; an error if any of them is not a row.
    fn decode(&self, bytes: &[u8], records: &[Record]) -> Result<RecordBatch> {
        let input = &self.assembly.name;
        let is_deep = |(range, _): &Record| bytes.get(range.clone()).is_none_or(is_too_deep);
        if records.iter().any(is_deep) {
            return Err(invalid(input, "it is nested too deep"));
        }
        guard::decode(input, WHAT, || {
            let mut decoder = ReaderBuilder::new(Arc::clone(&self.raw))
                .with_batch_size(records.len().max(1))
                .with_coerce_primitive(true)
                .with_strict_mode(true)
                .build_decoder()
                .map_err(|cause| cause.to_string())?;
            for (at, (range, _)) in records.iter().enumerate() {
                let record = bytes.get(range.clone()).unwrap_or_default();
                let taken = decoder.decode(record).map_err(|cause| cause.to_string())?;
                if taken < record.trim_ascii_end().len()
                    || decoder.has_partial_record()
                    || decoder.len() != at + 1
                {
                    return Err("it is not one object".to_owned());
                }
            }
            let batch = decoder.flush().map_err(|cause| cause.to_string())?;
            Ok(batch.unwrap_or_else(|| RecordBatch::new_empty(Arc::clone(&self.raw))))
        })
    }

    /// As [`decode`](Self::decode), leaving out records that are not rows, with the lines of
    /// the others.
    fn decode_each(
        &self,
        bytes: &[u8],
        records: &[Record],
        bad: &mut Vec<BadRow>,
    ) -> Result<(RecordBatch, Vec<u64>)> {
        let mut good = Vec::new();
        for record in records {
            if self.decode(bytes, std::slice::from_ref(record)).is_ok() {
                good.push(record.clone());
                continue;
            }
            bad.push(self.explain(bytes.get(record.0.clone()).unwrap_or_default(), record.1));
            if self.assembly.is_first_enough() {
                break;
            }
        }
        let batch = self.decode(bytes, &good)?;
        Ok((batch, good.into_iter().map(|(_, line)| line).collect()))
    }

    /// What is wrong with a record that is no row.
    fn explain(&self, record: &[u8], line: u64) -> BadRow {
        let place = Place::Line(line);
        let whole = |why: String| BadRow::value(place, "", record.trim_ascii(), why);
        if is_too_deep(record) {
            return whole(format!("is nested deeper than {} levels", records::DEPTH_MAX));
        }
        let object = match Json::parse(record) {
            Ok(Json::Object(object)) => object,
            Ok(_) => return whole("is not a JSON object".to_owned()),
            Err(cause) => return whole(format!("is not JSON: {cause}")),
        };
        for (name, value) in object {
            let text = value.to_string();
            let bad = |why: String| BadRow::value(place, &name, text.as_bytes(), why);
            let Ok(field) = self.raw.field_with_name(&name) else {
                self.assembly.has_misfit.store(true, Ordering::Relaxed);
                let larger = self.assembly.larger_sample();
                return bad(format!(
                    "is in a column that neither the sample nor the schema has; a larger sample \
                     may have it ({larger})"
                ));
            };
            if !fits(&value, field.data_type()) {
                return bad(format!("does not fit the column's type, {}", field.data_type()));
            }
        }
        whole("could not be read".to_owned())
    }
}

/// Whether a value has the lists and groups of a type whose scalars are text.
fn fits(value: &Json, data_type: &DataType) -> bool {
    match (value, data_type) {
        (Json::Null, _) => true,
        (Json::List(items), DataType::List(item)) => {
            items.iter().all(|value| fits(value, item.data_type()))
        }
        (Json::Object(entries), DataType::Struct(fields)) => entries.iter().all(|(name, value)| {
            fields.find(name).is_some_and(|(_, field)| fits(value, field.data_type()))
        }),
        (Json::List(_) | Json::Object(_), DataType::Utf8) => false,
        (_, DataType::List(_) | DataType::Struct(_)) => false,
        _ => true,
    }
}

//! CSV: what its dialect and columns are, and its rows as batches.

mod sniff;
mod tokens;

use std::sync::Arc;

use arrow_array::RecordBatch;
use timestrata_engine::Result;

use self::tokens::{Dialect, FieldRange, Malformed, Tokens};
use super::assemble::Assembly;
use super::convert::{Cell, Column, NullText};
use super::infer::{Seen, Writing};
use super::input::Opened;
use super::options::{Delimiter, ReadOptions};
use super::pieces::{Cutter, PIECE_BYTES, Piece};
use super::report::{Advice, BadRow, Place, invalid};
use super::schema::{self, ColumnLayout, FoundColumn};
use super::workers::{ParsePiece, Parsed, Pieces};
use super::{Opening, Rows, names};

const QUOTE: u8 = b'"';
/// Rows that tell the unit of numbers in a column that is known to hold times.
const UNIT_SAMPLE_ROWS: usize = 1_000;

/// An input of which the columns' names are known.
struct Begun {
    name: String,
    dialect: Dialect,
    cutter: Cutter,
    /// The first rows, behind the names.
    piece: Piece,
    names: Vec<String>,
    nulls: NullText,
}

/// Settles dialect and names.
fn begin(mut opened: Opened, options: &ReadOptions) -> Result<Begun> {
    let (quote, comment) = (options.quote.unwrap_or(QUOTE), options.comment);
    let given = options.delimiter.or_else(|| sniff::of_name(&opened.name));
    let sniffed = |start: &[u8]| {
        let found = given.unwrap_or_else(|| sniff::delimiter(start, quote, comment));
        // A comma that stands in numbers separates no fields.
        let is_taken = options.decimal == Some(b',') && found == Delimiter::Byte(b',');
        if is_taken { Delimiter::Byte(b';') } else { found }
    };
    let mut dialect = Dialect { delimiter: sniffed(&opened.start), quote, comment };
    let mut skipped = options.skip_lines;
    let comments = sniff::comments(&opened.start, dialect);
    if skipped == 0 && comment.is_none() && comments > 0 {
        opened.skip_lines(comments)?;
        skipped = comments;
        dialect.delimiter = sniffed(&opened.start);
    }
    let name = opened.name;
    let mut cutter = Cutter::new(&name, opened.reader, Box::new(dialect), options.row_bytes_max);
    cutter.begins_behind(skipped);
    let Some(mut piece) = cutter.next(options.sample_bytes)? else {
        return Err(invalid(&name, "the input is empty: CSV begins with the names of its columns"));
    };
    let names = take_names(&name, &mut piece, dialect, options)?;
    names::check(&name, names.iter().map(String::as_str)).map_err(|error| {
        let advice = Advice { spelling: options.spelling, ..Advice::default() };
        invalid(&name, format!("{}; {}", error.message(), advice.about_names()))
    })?;
    let nulls = NullText::new(options.null_text.as_deref());
    Ok(Begun { name, dialect, cutter, piece, names, nulls })
}

/// Opens CSV: reads a sample, unless its columns are known, and settles types by it.
pub(super) fn open(
    opened: Opened,
    options: &ReadOptions,
    known: Option<Vec<FoundColumn>>,
    may_repeat: bool,
) -> Result<Opening> {
    let Begun { name, dialect, mut cutter, piece, names, nulls } = begin(opened, options)?;
    let is_sampled = known.is_none();
    let found = known.unwrap_or_else(|| {
        let mut inference = Inference::new(names, dialect, options);
        inference.add(&piece, &nulls, options.sample_rows);
        inference.into_found()
    });
    cutter.give_back(piece);
    if is_sampled && may_repeat && found.iter().any(FoundColumn::is_unclear) {
        return Ok(Opening::Unclear);
    }
    let layout = ColumnLayout::new(&name, found, options)?;
    let assembly = Assembly::new(&name, &layout.schema, layout.time.as_deref(), options).of_text();
    let has_misfit = Arc::clone(&assembly.has_misfit);
    let rows = CsvRows {
        assembly,
        dialect,
        columns: layout.columns,
        nulls,
        batch_rows: options.batch_rows.max(1),
        fills_short: options.fill_short_rows,
    };
    Ok(Opening::Ready(Rows {
        schema: layout.schema,
        time: layout.time,
        spoils_time: layout.spoils_time,
        notes: layout.notes,
        delimiter: Some(dialect.delimiter),
        has_misfit,
        batches: Box::new(Pieces::new(cutter, Arc::new(rows), options.threads)),
    }))
}

/// The columns as all rows show them.
pub(super) fn look_at_all(opened: Opened, options: &ReadOptions) -> Result<Vec<FoundColumn>> {
    let Begun { dialect, mut cutter, piece, names, nulls, .. } = begin(opened, options)?;
    let mut inference = Inference::new(names, dialect, options);
    let mut next = Some(piece);
    while let Some(piece) = next {
        inference.add(&piece, &nulls, usize::MAX);
        inference.forget(options);
        next = cutter.next(PIECE_BYTES)?;
    }
    Ok(inference.into_found())
}

/// The names of the columns: of the first row, which is taken off, or by agreement.
fn take_names(
    name: &str,
    piece: &mut Piece,
    dialect: Dialect,
    options: &ReadOptions,
) -> Result<Vec<String>> {
    let mut bytes = match dialect.comment {
        Some(_) => piece.bytes.clone(),
        None => first_rows(&piece.bytes, 1, dialect.quote).to_vec(),
    };
    let mut tokens = Tokens::new(&mut bytes, piece.line, dialect);
    let mut fields = Vec::new();
    let Some((line, row)) = tokens.row(&mut fields) else {
        return Err(invalid(name, "the input is empty: CSV begins with the names of its columns"));
    };
    if let Err(malformed) = row {
        let advice = Advice { spelling: options.spelling, ..Advice::default() };
        return Err(bad_row(Place::Line(line), malformed, 0).into_error(name, &advice));
    }
    names::check_count(name, fields.len())?;
    if !options.has_header {
        let expected = options.schema.as_ref().map(|schema| schema.fields());
        let expected = expected.filter(|expected| expected.len() == fields.len());
        return Ok((0..fields.len())
            .map(|at| match expected.and_then(|expected| expected.get(at)) {
                Some(field) => field.name().clone(),
                None => unnamed(at),
            })
            .collect());
    }
    let names = fields.iter().enumerate().map(|(at, field)| {
        match std::str::from_utf8(field.text(tokens.bytes())) {
            Ok("") => Ok(unnamed(at)),
            Ok(text) => Ok(text.to_owned()),
            Err(_) => Err(invalid(
                name,
                format!("line {line}: the name of column {} is not UTF-8 text", at + 1),
            )),
        }
    });
    let names = names.collect::<Result<Vec<_>>>()?;
    piece.line = tokens.line();
    let taken = tokens.taken();
    piece.bytes.drain(..taken);
    Ok(names)
}

/// The beginning of `bytes` with so many rows, or all of them: where rows end without being taken apart
/// can be told only if nothing is quoted.
fn first_rows(bytes: &[u8], rows: usize, quote: u8) -> &[u8] {
    let mut ends = memchr::memchr2_iter(b'\n', quote, bytes);
    // Lines without anything on them are no rows.
    let mut left = rows;
    let mut start = 0;
    while left > 0 {
        let Some(at) = ends.next() else { return bytes };
        if bytes.get(at) == Some(&quote) {
            return bytes;
        }
        left -= usize::from(bytes.get(start..at).is_some_and(|line| !line.trim_ascii().is_empty()));
        start = at + 1;
    }
    bytes.get(..start).unwrap_or(bytes)
}

/// What a column without a name is called.
fn unnamed(at: usize) -> String {
    format!("column_{}", at + 1)
}

/// What rows hold, in columns of which that isn't known.
struct Inference {
    dialect: Dialect,
    width: usize,
    fills_short: bool,
    wants: Vec<Want>,
    found: Vec<(String, Seen)>,
}

impl Inference {
    fn new(names: Vec<String>, dialect: Dialect, options: &ReadOptions) -> Self {
        let writing = Writing::of(options).with_delimiter(dialect.delimiter);
        let is_expected = |name: &str| {
            options.schema.as_ref().is_some_and(|schema| schema.field_with_name(name).is_ok())
        };
        let seen = |name: String| {
            let seen = Seen::new(&writing);
            let seen = if is_expected(&name) { seen } else { seen.of_any_type() };
            (name, seen)
        };
        Self {
            dialect,
            width: names.len(),
            fills_short: options.fill_short_rows,
            wants: names.iter().map(|name| Want::of(name, options)).collect(),
            found: names.into_iter().map(seen).collect(),
        }
    }

    /// How many rows have to be looked at, of those that may be.
    fn rows(&self, rows_max: usize) -> usize {
        match self.wants.iter().max() {
            Some(Want::Type) => rows_max,
            Some(Want::Unit) if self.found.iter().any(|(_, seen)| seen.is_unclear()) => rows_max,
            Some(Want::Unit) => rows_max.min(UNIT_SAMPLE_ROWS),
            Some(Want::Nothing) | None => 0,
        }
    }

    fn add(&mut self, piece: &Piece, nulls: &NullText, rows_max: usize) {
        let mut bytes = match rows_max {
            usize::MAX => piece.bytes.clone(),
            _ => match self.wants.iter().max() {
                Some(Want::Type | Want::Unit) => {
                    first_rows(&piece.bytes, rows_max, self.dialect.quote).to_vec()
                }
                Some(Want::Nothing) | None => Vec::new(),
            },
        };
        let mut tokens = Tokens::new(&mut bytes, piece.line, self.dialect);
        let mut fields = Vec::new();
        let mut rows = 0;
        while rows < self.rows(rows_max) {
            fields.clear();
            let Some((line, row)) = tokens.row(&mut fields) else { break };
            if self.fills_short {
                fill(&mut fields, 0, self.width);
            }
            if row.is_err() || fields.len() != self.width {
                continue;
            }
            rows += 1;
            let place = Some(Place::Line(line));
            for ((field, (_, seen)), want) in fields.iter().zip(&mut self.found).zip(&self.wants) {
                match nulls.typed(cell(*field, tokens.bytes())) {
                    Some(text) if *want == Want::Type => seen.add(text, place),
                    Some(text) if *want == Want::Unit => seen.add_time(text, place),
                    _ => {}
                }
            }
        }
    }

    /// Forgets the values, but for what they say of their columns.
    fn forget(&mut self, options: &ReadOptions) {
        let expected = options.schema.as_ref();
        for (name, seen) in &mut self.found {
            let field = expected.and_then(|schema| schema.field_with_name(name).ok());
            let column = field.map(|field| schema::as_type(name, seen, field.data_type()));
            seen.forget(column.as_ref());
        }
    }

    fn into_found(self) -> Vec<FoundColumn> {
        self.found.into_iter().map(|(name, seen)| FoundColumn::of_text(name, seen)).collect()
    }
}

/// Ends a row, whose fields begin at `start`, as one of so many: with nulls, or without an empty field too many.
fn fill(fields: &mut Vec<FieldRange>, start: usize, width: usize) {
    let count = fields.len() - start;
    if count == width + 1 && fields.last().is_some_and(|last| last.is_nothing()) {
        fields.pop();
    }
    fields.resize(fields.len().max(start + width), FieldRange::MISSING);
}

/// What the sample has to tell of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Want {
    /// Its type is known.
    Nothing,
    /// It is known to hold times: the unit, should they be numbers.
    Unit,
    Type,
}

impl Want {
    fn of(name: &str, options: &ReadOptions) -> Self {
        let expected = options.schema.as_ref();
        match expected.and_then(|schema| schema.field_with_name(name).ok()) {
            None => Self::Type,
            Some(_) if options.may_widen(name) => Self::Type,
            Some(field) if field.data_type().is_temporal() => Self::Unit,
            Some(_) => Self::Nothing,
        }
    }
}

fn cell(field: FieldRange, bytes: &[u8]) -> Cell<'_> {
    Cell { text: (!field.is_missing()).then(|| field.text(bytes)), is_quoted: field.is_quoted() }
}

/// How pieces of one CSV input become batches.
struct CsvRows {
    assembly: Assembly,
    dialect: Dialect,
    columns: Vec<Column>,
    nulls: NullText,
    batch_rows: usize,
    /// Whether short rows end with nulls.
    fills_short: bool,
}

/// Rows that have been taken apart.
#[derive(Default)]
struct Grid {
    fields: Vec<FieldRange>,
    lines: Vec<u64>,
    bad: Vec<BadRow>,
    is_at_end: bool,
}

impl ParsePiece for CsvRows {
    fn parse(&self, mut piece: Piece) -> Result<Parsed> {
        let mut tokens = Tokens::new(&mut piece.bytes, piece.line, self.dialect);
        let mut parsed = Parsed::default();
        loop {
            let mut grid = self.take_apart(&mut tokens);
            parsed.batches.push(self.batch(&mut grid, tokens.bytes())?);
            parsed.skipped.append(&mut grid.bad);
            if grid.is_at_end {
                return Ok(parsed);
            }
        }
    }
}

impl CsvRows {
    /// The next rows, up to those of a batch; up to the first malformed one, if that is an error.
    fn take_apart(&self, tokens: &mut Tokens<'_>) -> Grid {
        let mut grid = Grid::default();
        let width = self.columns.len();
        while grid.lines.len() < self.batch_rows {
            let before = grid.fields.len();
            let Some((line, row)) = tokens.row(&mut grid.fields) else {
                grid.is_at_end = true;
                break;
            };
            if self.fills_short && row.is_ok() {
                fill(&mut grid.fields, before, width);
            }
            let count = grid.fields.len() - before;
            let row = row.and(if count == width { Ok(()) } else { Err(Malformed::Fields(count)) });
            let Err(malformed) = row else {
                grid.lines.push(line);
                continue;
            };
            grid.fields.truncate(before);
            grid.bad.push(bad_row(Place::Line(line), malformed, width));
            if self.assembly.is_first_enough() {
                break;
            }
        }
        grid
    }

    fn batch(&self, grid: &mut Grid, bytes: &[u8]) -> Result<RecordBatch> {
        let width = self.columns.len();
        let columns = self.columns.iter().enumerate().map(|(at, column)| {
            let fields = grid.fields.iter().skip(at).step_by(width);
            let cells = fields.map(|field| cell(*field, bytes));
            column.convert(cells, &self.nulls, self.assembly.is_first_enough())
        });
        let columns = columns.collect();
        let place = |at: usize| Place::Line(grid.lines.get(at).copied().unwrap_or_default());
        self.assembly.batch(columns, grid.lines.len(), place, &mut grid.bad)
    }
}

fn bad_row(place: Place, malformed: Malformed, width: usize) -> BadRow {
    let why = match malformed {
        Malformed::OpenQuote => "a quote is opened and never closed".to_owned(),
        Malformed::TextBehindQuote => {
            "text follows a closing quote; within quotes, a quote is doubled".to_owned()
        }
        Malformed::Fields(count) => format!("the row has {count} fields, the columns are {width}"),
        Malformed::TooLong => "the row is too long".to_owned(),
    };
    let is_short = matches!(malformed, Malformed::Fields(count) if count < width);
    let is_long = matches!(malformed, Malformed::Fields(count) if count > width);
    BadRow { is_short, is_long, ..BadRow::row(place, why) }
}

#[cfg(test)]
mod tests;

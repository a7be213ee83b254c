//! CSV: what its dialect and columns are, and its rows as batches.

mod sniff;
mod tokens;

use std::sync::Arc;

use arrow_array::RecordBatch;
use timestrata_engine::Result;

use self::tokens::{Dialect, FieldRange, Malformed, Tokens};
use super::assemble::Assembly;
use super::convert::{Cell, Column, NullText};
use super::infer::Seen;
use super::input::Opened;
use super::options::ReadOptions;
use super::pieces::{Cutter, Piece};
use super::report::{BadRow, Place, invalid};
use super::schema::{ColumnLayout, FoundColumn};
use super::workers::{ParsePiece, Parsed, Pieces};
use super::{Rows, names};

const QUOTE: u8 = b'"';
/// Rows that tell the unit of numbers in a column that is known to hold times.
const UNIT_SAMPLE_ROWS: usize = 1_000;

/// Opens CSV: reads a sample, and settles dialect, names and types by it.
pub(super) fn open(opened: Opened, options: &ReadOptions) -> Result<Rows> {
    let name = opened.name;
    let quote = options.quote.unwrap_or(QUOTE);
    let given = options.delimiter.or_else(|| sniff::of_name(&name));
    let delimiter = given.unwrap_or_else(|| sniff::delimiter(&opened.start, quote));
    let dialect = Dialect { delimiter, quote };
    let mut cutter = Cutter::new(&name, opened.reader, Box::new(dialect), options.row_bytes_max);
    let Some(mut piece) = cutter.next(options.sample_bytes)? else {
        return Err(invalid(&name, "the input is empty: CSV begins with the names of its columns"));
    };
    let names = take_names(&name, &mut piece, dialect, options)?;
    names::check(&name, names.iter().map(String::as_str))?;
    let nulls = NullText::new(options.null_text.as_deref());
    let found = infer(&piece, dialect, names, options);
    cutter.give_back(piece);
    let layout = ColumnLayout::new(&name, found, options)?;
    let rows = CsvRows {
        assembly: Assembly::new(&name, &layout.schema, options),
        dialect,
        columns: layout.columns,
        nulls,
        batch_rows: options.batch_rows.max(1),
    };
    Ok(Rows {
        schema: layout.schema,
        time: layout.time,
        spoils_time: layout.spoils_time,
        batches: Box::new(Pieces::new(cutter, Arc::new(rows), options.threads)),
    })
}

/// The names of the columns: of the first row, which is taken off, or by agreement.
fn take_names(
    name: &str,
    piece: &mut Piece,
    dialect: Dialect,
    options: &ReadOptions,
) -> Result<Vec<String>> {
    let mut bytes = first_rows(&piece.bytes, 1, dialect.quote).to_vec();
    let mut tokens = Tokens::new(&mut bytes, piece.line, dialect);
    let mut fields = Vec::new();
    let Some((line, row)) = tokens.row(&mut fields) else {
        return Err(invalid(name, "the input is empty: CSV begins with the names of its columns"));
    };
    if let Err(malformed) = row {
        return Err(bad_row(Place::Line(line), malformed, 0).into_error(name));
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

/// What the rows of the sample hold, in columns of which that isn't known.
fn infer(
    piece: &Piece,
    dialect: Dialect,
    names: Vec<String>,
    options: &ReadOptions,
) -> Vec<FoundColumn> {
    let nulls = NullText::new(options.null_text.as_deref());
    let wants: Vec<Want> = names.iter().map(|name| Want::of(name, options)).collect();
    let sample_rows = match wants.iter().max() {
        Some(Want::Type) => options.sample_rows,
        Some(Want::Unit) => options.sample_rows.min(UNIT_SAMPLE_ROWS),
        Some(Want::Nothing) | None => 0,
    };
    let mut bytes = match sample_rows {
        0 => Vec::new(),
        rows => first_rows(&piece.bytes, rows, dialect.quote).to_vec(),
    };
    let mut tokens = Tokens::new(&mut bytes, piece.line, dialect);
    let mut found: Vec<(String, Seen)> =
        names.into_iter().map(|name| (name, Seen::default())).collect();
    let mut fields = Vec::new();
    let mut rows = 0;
    while rows < sample_rows {
        fields.clear();
        let Some((line, row)) = tokens.row(&mut fields) else { break };
        if row.is_err() || fields.len() != found.len() {
            continue;
        }
        rows += 1;
        for ((field, (_, seen)), want) in fields.iter().zip(&mut found).zip(&wants) {
            let cell = cell(*field, tokens.bytes());
            match nulls.typed(cell) {
                Some(text) if *want == Want::Type => {
                    seen.add(text);
                    seen.stands_at(Place::Line(line));
                }
                Some(text) if *want == Want::Unit => seen.add_number(text),
                _ => {}
            }
        }
    }
    found.into_iter().map(|(name, seen)| FoundColumn::of_text(name, seen)).collect()
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
    Cell { text: Some(field.text(bytes)), is_quoted: field.is_quoted() }
}

/// How pieces of one CSV input become batches.
struct CsvRows {
    assembly: Assembly,
    dialect: Dialect,
    columns: Vec<Column>,
    nulls: NullText,
    batch_rows: usize,
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
    BadRow::row(place, why)
}

#[cfg(test)]
mod tests;

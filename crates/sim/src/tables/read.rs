//! Tables held against their model: in every way of reading that there is, the same rows.

use std::collections::BTreeMap;

use arrow_array::ArrayRef;
use timestrata_engine::{
    Cell, KeyRange, Result, ScanSpec, SeriesAggregates, Share, Snapshot, StreamId,
};
use timestrata_table::{Table, TableView};

use super::model::{Kind, TableModel, TableRow, TablesModel};
use super::rows::{SYMBOLS, key, row_at, rows_of};
use crate::subject::{Judgement, Showing, misfit, wrong};

/// Times of which the rows are counted.
const COUNTED: (i64, i64) = (2, 4);

/// Holds a snapshot against a model; an empty table may be missing if it isn't promised.
pub(super) fn compare(showing: &Showing<'_>, model: &TablesModel) -> Judgement<()> {
    // A pin sees rows of long ago, under the names of today.
    let is_live = showing.is_live()?;
    model.tables.iter().try_for_each(|table| {
        let compared = compare_table(showing, table, is_live);
        compared.map_err(|problem| problem.of(format_args!("{:?}", table.kind)))
    })
}

fn compare_table(showing: &Showing<'_>, model: &TableModel, is_live: bool) -> Judgement<()> {
    let Showing { store, snapshot, is_made } = *showing;
    let mut names = model.kind.names().iter().copied();
    let Some(name) = names.find(|name| store.stream(name).is_some()) else {
        return match model.may_be_missing || (!is_made && model.allows(&[])) {
            true => Ok(()),
            false => wrong("is missing".to_owned()),
        };
    };
    if let Some(other) = names.find(|name| store.stream(name).is_some()) {
        return wrong(format!("has two names, '{name}' and '{other}'"));
    }
    if is_live && !model.names.contains(&name) {
        return wrong(format!("is called '{name}', expected {:?}", model.names));
    }
    let table = Table::open(store, name)?;
    let found = scan(snapshot, table.id(), false)?;
    if !model.allows(&found) {
        let expected: Vec<_> = model.contents.iter().map(|rows| shown(rows)).collect();
        let what = if model.may_expire { "at most" } else { "expected" };
        return wrong(format!("holds {}, {what} {}", shown(&found), expected.join(" or ")));
    }
    let mut backward = scan(snapshot, table.id(), true)?;
    backward.reverse();
    if backward != found {
        return wrong(format!(
            "read from the end holds {}, from the front {}",
            shown(&backward),
            shown(&found)
        ));
    }
    for range in [KeyRange::ALL, KeyRange::times(COUNTED.0, COUNTED.1)] {
        let count = snapshot.count(table.id(), &range)?;
        let is_in =
            |row: &&TableRow| range == KeyRange::ALL || (COUNTED.0..COUNTED.1).contains(&row.time);
        if count != found.iter().filter(is_in).count() as u64 {
            return wrong(format!("counts {count} rows in {range:?} and holds {}", shown(&found)));
        }
    }
    if model.kind == Kind::Kept {
        compare_aggregates(snapshot, table.id(), &found)?;
    }
    if is_live && model.kind != Kind::Kept {
        let view = table.view()?;
        // What expires may have gone since.
        let rows = if model.may_expire { scan(view.snapshot(), table.id(), false)? } else { found };
        look_up(&view, model.kind, &rows)?;
    }
    Ok(())
}

/// What rows of one symbol come to: how many, their halves, and their first time and last.
type Added = (u64, i64, i64, i64);

/// Holds what compacted runs keep of their rows, and the rows of which they keep nothing, against all rows.
fn compare_aggregates(snapshot: &Snapshot, id: StreamId, rows: &[TableRow]) -> Judgement<()> {
    let stream = snapshot.streams().find(|stream| stream.id() == id);
    let stream = stream.ok_or_else(|| misfit("a table's stream is missing"))?;
    let column = |name: &str| stream.schema().index_of(name).map_err(misfit);
    let (symbol, value) = (column("symbol")?, column("value")?);
    for range in [KeyRange::ALL, KeyRange::times(COUNTED.0, COUNTED.1)] {
        let known = snapshot.aggregates(id, &[range], &[symbol], &[value])?;
        let mut found = BTreeMap::new();
        for piece in &known.pieces {
            add_kept(&mut found, piece)?;
        }
        let spec = ScanSpec {
            range,
            any_order: Some(Share::WHOLE),
            without: known.blocks,
            ..ScanSpec::default()
        };
        for batch in snapshot.scan(id, &spec)? {
            rows_of(&batch?)?.iter().for_each(|row| add(&mut found, row.symbol, of_row(row)));
        }
        let mut expected = BTreeMap::new();
        let is_in =
            |row: &&TableRow| range == KeyRange::ALL || (COUNTED.0..COUNTED.1).contains(&row.time);
        rows.iter().filter(is_in).for_each(|row| add(&mut expected, row.symbol, of_row(row)));
        if found != expected {
            return wrong(format!("comes to {found:?} in {range:?}, its rows to {expected:?}"));
        }
    }
    Ok(())
}

fn of_row(row: &TableRow) -> Added {
    (1, row.halves, row.time, row.time)
}

fn add(all: &mut BTreeMap<String, Added>, symbol: &str, (rows, halves, first, last): Added) {
    let known = all.entry(symbol.to_owned()).or_insert((0, 0, first, last));
    *known = (known.0 + rows, known.1 + halves, known.2.min(first), known.3.max(last));
}

fn add_kept(all: &mut BTreeMap<String, Added>, piece: &SeriesAggregates) -> Result<()> {
    let cell = |column: &ArrayRef, row: usize| match Cell::of(column, row) {
        Some(Cell::Int(number)) => Ok(number as f64),
        Some(Cell::Float(number)) => Ok(number),
        other => Err(misfit(format!("aggregates have {other:?} where a number should be"))),
    };
    let ([symbols], [values]) = (piece.series.as_slice(), piece.numbers.as_slice()) else {
        return Err(misfit("aggregates lack a column"));
    };
    for row in 0..piece.rows.len() {
        let Some(Cell::Text(symbol)) = Cell::of(symbols, row) else {
            return Err(misfit("aggregates lack a symbol"));
        };
        let (rows, halves) = (piece.rows.value(row), cell(&values.sum, row)? * 2.0);
        let (first, last) = (cell(&piece.first, row)?, cell(&piece.last, row)?);
        let told = (rows.cast_unsigned(), halves as i64, first as i64, last as i64);
        add(all, symbol, told);
    }
    Ok(())
}

/// Every row is found by its key, and no other.
fn look_up(view: &TableView, kind: Kind, rows: &[TableRow]) -> Judgement<()> {
    let look = |key: &[Cell<'_>]| -> Result<Option<TableRow>> {
        view.row(key)?.map(|row| row_at(&row.batch, row.index)).transpose()
    };
    for row in rows {
        let found = look(&key(kind, row))?;
        if found.as_ref() != Some(row) {
            let found = shown(found.as_slice());
            let row = shown(std::slice::from_ref(row));
            return wrong(format!("holds {row} and by its key gives {found}"));
        }
    }
    let greatest = rows.iter().map(|row| row.id).max().unwrap_or_default();
    let others: Vec<[Cell<'_>; 1]> = match kind {
        Kind::ById => (1..greatest + 3).map(|id| [Cell::UInt(id)]).collect(),
        Kind::BySymbol => SYMBOLS.map(|symbol| [Cell::Text(symbol)]).to_vec(),
        _ => Vec::new(),
    };
    for other in others {
        if let Some(row) = look(&other)?
            && !rows.contains(&row)
        {
            let row = shown(std::slice::from_ref(&row));
            return wrong(format!("by the key {other:?} gives {row}, which is gone"));
        }
    }
    Ok(())
}

fn scan(snapshot: &Snapshot, stream: StreamId, reverse: bool) -> Result<Vec<TableRow>> {
    let mut rows = Vec::new();
    for batch in snapshot.scan(stream, &ScanSpec { reverse, ..ScanSpec::default() })? {
        rows.extend(rows_of(&batch?)?);
    }
    Ok(rows)
}

/// Rows for a message: long notes cut.
fn shown(rows: &[TableRow]) -> String {
    let short = |row: &TableRow| {
        let note: String = row.note.chars().take(16).collect();
        let extra = row.extra.map(|extra| format!(" extra {extra}")).unwrap_or_default();
        let value = row.halves as f64 / 2.0;
        format!("{}: id {} {} {value} '{note}'{extra}", row.time, row.id, row.symbol)
    };
    format!("[{}]", rows.iter().map(short).collect::<Vec<_>>().join(", "))
}

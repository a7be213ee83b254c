//! Evaluation of a filter on a batch of rows.
//!
//! Each part of the filter is tried on those rows only that are still in doubt. Text that has a column is
//! searched as one piece of memory; what lies in CBOR is walked row by row.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};
use timestrata_engine::words;

use super::Clock;
use crate::columns::EntryColumns;
use crate::filter::{Expr, Pattern, Target, Term, Test};
use crate::layout::{ColumnKind, Layout};
use crate::options::{LABELS, MESSAGE, SOURCE_TIME, TIMESTAMP};
use crate::{FieldValue, Labels, Scalar};

/// From so many words on they are looked for together: each word of a text is looked up among them, however many they
/// are, where one that is looked for alone costs a look through the text.
const WORDS_TOGETHER_MIN: usize = 16;

/// What is looked for in texts.
enum Sought<'a> {
    Pattern(&'a Pattern),
    /// One of these words, folded.
    AnyWord(&'a HashSet<&'a [u8]>),
}

impl Sought<'_> {
    fn is_match(&self, text: &str) -> bool {
        match self {
            Self::Pattern(pattern) => pattern.is_match(text),
            Self::AnyWord(known) => {
                let mut is_found = false;
                words::each(text, |word| is_found = is_found || known.contains(word));
                is_found
            }
        }
    }

    /// The rows whose texts match, which lie end to end.
    fn rows(&self, texts: &StringArray, mut hit: impl FnMut(usize)) {
        match self {
            Self::Pattern(pattern) => pattern.rows(texts.value_data(), texts.value_offsets(), hit),
            Self::AnyWord(_) => {
                for row in (0..texts.len()).filter(|row| self.is_match(texts.value(*row))) {
                    hit(row);
                }
            }
        }
    }
}

/// The word that an expression looks for anywhere, folded, if that is all it does.
fn word(expr: &Expr) -> Option<&[u8]> {
    match expr {
        Expr::Term(Term { target: Target::Anywhere, test: Test::Contains(pattern) }) => {
            pattern.as_word().map(str::as_bytes)
        }
        _ => None,
    }
}

/// Of alternatives, words that are looked for together, and all others.
fn words_of(parts: &[Expr]) -> (HashSet<&[u8]>, Vec<&Expr>) {
    if parts.iter().filter(|part| word(part).is_some()).count() < WORDS_TOGETHER_MIN {
        return (HashSet::new(), parts.iter().collect());
    }
    (
        parts.iter().filter_map(word).collect(),
        parts.iter().filter(|part| word(part).is_none()).collect(),
    )
}

/// SearchedRows, with some of the columns of their log.
#[derive(Debug)]
pub(super) struct SearchedRows<'a> {
    batch: &'a RecordBatch,
    /// Which of the stream's columns the batch has, in its order.
    read: &'a [usize],
    pub(super) columns: EntryColumns,
}

impl<'a> SearchedRows<'a> {
    pub(super) fn new(batch: &'a RecordBatch, read: &'a [usize], layout: &Arc<Layout>) -> Self {
        let columns = EntryColumns::new(Arc::clone(layout), |column| find(batch, read, column));
        Self { batch, read, columns }
    }

    pub(super) fn len(&self) -> usize {
        self.batch.num_rows()
    }

    /// A column of the stream, if it was asked for.
    fn column(&self, column: usize) -> Option<&'a ArrayRef> {
        find(self.batch, self.read, column)
    }

    /// When the rows arrived.
    pub(super) fn timestamps(&self) -> &[i64] {
        self.columns.times(TIMESTAMP).map_or(&[], |times| times.values())
    }

    /// A row's time by a clock; that of its sender only where this column was asked for.
    pub(super) fn time(&self, by: Clock, row: usize) -> i64 {
        let arrived = self.timestamps().get(row).copied().unwrap_or_default();
        by.time(arrived, self.columns.time(SOURCE_TIME, row))
    }

    /// Those rows whose time is within a range.
    pub(super) fn times_between(
        &self,
        by: Clock,
        from: Option<i64>,
        to: Option<i64>,
        within: &BooleanBuffer,
    ) -> BooleanBuffer {
        each(within, |row| {
            let time = self.time(by, row);
            from.is_none_or(|from| from <= time) && to.is_none_or(|to| time < to)
        })
    }

    /// Calls `take` with a row's value of a field: of its label, of its column, or of what lies among
    /// its other fields.
    pub(super) fn field<T>(
        &self,
        row: usize,
        name: &str,
        take: impl FnOnce(Option<FieldValue<'_>>) -> T,
    ) -> T {
        if let Some(text) = self.columns.text(LABELS, row)
            && let Some(label) = Labels::parse(text).ok().and_then(|labels| labels.take(name))
        {
            return take(Some(FieldValue::Scalar(Scalar::Text(&label))));
        }
        take(self.columns.field(row, name))
    }

    /// Calls `take` with the name and value of each of a row's labels and fields.
    pub(super) fn each_field(&self, row: usize, mut take: impl FnMut(&str, FieldValue<'_>)) {
        let labels = self.columns.text(LABELS, row).and_then(|text| Labels::parse(text).ok());
        let labels = labels.unwrap_or_default();
        for (key, label) in labels.iter() {
            take(key, FieldValue::Scalar(Scalar::Text(label)));
        }
        self.columns.each_field(row, take);
    }
}

/// A column of a log's stream, if it is among those that a batch has.
fn find<'a>(batch: &'a RecordBatch, read: &[usize], column: usize) -> Option<&'a ArrayRef> {
    let place = read.iter().position(|known| *known == column)?;
    batch.columns().get(place)
}

/// Those of the rows `within` that pass.
pub(super) fn hits(expr: &Expr, rows: &SearchedRows<'_>, within: &BooleanBuffer) -> BooleanBuffer {
    match expr {
        Expr::All => within.clone(),
        Expr::And(parts) => {
            let mut parts: Vec<&Expr> = parts.iter().collect();
            parts.sort_by_key(|part| cost(part));
            let mut left = within.clone();
            for part in parts {
                if left.count_set_bits() == 0 {
                    break;
                }
                left = hits(part, rows, &left);
            }
            left
        }
        Expr::Or(parts) => {
            let (words, parts) = words_of(parts);
            let mut found = match words.is_empty() {
                true => BooleanBuffer::new_unset(rows.len()),
                false => anywhere(&Sought::AnyWord(&words), rows, within),
            };
            for part in parts {
                let left = within & &!&found;
                found = &found | &hits(part, rows, &left);
            }
            found
        }
        Expr::Not(inner) => within & &!&hits(inner, rows, within),
        Expr::Term(term) => of_term(term, rows, within),
    }
}

/// What is tried first: the less it reads, the lower.
fn cost(expr: &Expr) -> u32 {
    match expr {
        Expr::All => 0,
        Expr::And(parts) | Expr::Or(parts) => parts.iter().map(cost).max().unwrap_or(0),
        Expr::Not(inner) => cost(inner),
        Expr::Term(term) => match term.target {
            Target::Level | Target::Timestamp | Target::SourceTime => 1,
            Target::Message => 2,
            Target::Field(_) => 3,
            Target::Anywhere => 4,
        },
    }
}

fn of_term(term: &Term, rows: &SearchedRows<'_>, within: &BooleanBuffer) -> BooleanBuffer {
    let of_times = |column: usize| match rows.columns.times(column) {
        Some(times) => each(within, |row| {
            term.test.accepts_time((!times.is_null(row)).then(|| times.value(row)))
        }),
        None => BooleanBuffer::new_unset(rows.len()),
    };
    match &term.target {
        Target::Level => each(within, |row| term.test.accepts_level(rows.columns.level(row))),
        Target::Timestamp => of_times(TIMESTAMP),
        Target::SourceTime => of_times(SOURCE_TIME),
        Target::Message => match &term.test {
            Test::Contains(pattern) => {
                in_column(rows.column(MESSAGE), &Sought::Pattern(pattern), within)
            }
            test => {
                each(within, |row| test.accepts(rows.columns.text(MESSAGE, row).map(Scalar::Text)))
            }
        },
        Target::Field(name) => in_field(name, &term.test, rows, within),
        Target::Anywhere => match &term.test {
            Test::Contains(pattern) => anywhere(&Sought::Pattern(pattern), rows, within),
            // Nothing but patterns is looked for everywhere.
            Test::Compare(..) | Test::Exists => BooleanBuffer::new_unset(rows.len()),
        },
    }
}

fn in_field(
    name: &str,
    test: &Test,
    rows: &SearchedRows<'_>,
    within: &BooleanBuffer,
) -> BooleanBuffer {
    let promoted = rows.columns.layout().find(name).filter(|known| known.kind == ColumnKind::Text);
    let labels_are_empty =
        rows.columns.texts(LABELS).is_none_or(|labels| labels.null_count() == labels.len());
    let mut found = BooleanBuffer::new_unset(rows.len());
    let mut left = within.clone();
    // Where a field has a column of text, the column is searched at once; what is left over is rows
    // without a value there.
    if let (Some(column), Test::Contains(pattern), true) =
        (promoted.and_then(|known| rows.column(known.column)), test, labels_are_empty)
    {
        found = in_column(Some(column), &Sought::Pattern(pattern), within);
        left = match column.nulls() {
            Some(nulls) => within & &!nulls.inner(),
            None => return found,
        };
    }
    let rest = each(&left, |row| rows.field(row, name, |value| accepts(test, value)));
    &found | &rest
}

/// Whether a field's value passes; of a list, one of its scalars or numbers has to.
fn accepts(test: &Test, value: Option<FieldValue<'_>>) -> bool {
    match value.filter(|value| !value.is_null()) {
        None => test.accepts(None),
        Some(FieldValue::Scalar(scalar)) => test.accepts(Some(scalar)),
        Some(_) if *test == Test::Exists => true,
        Some(value) => value.any_single(&mut |single| match single {
            FieldValue::Scalar(scalar) => test.accepts(Some(scalar)),
            item => item.whole().is_some_and(|whole| test.accepts_whole(&whole)),
        }),
    }
}

fn anywhere(sought: &Sought<'_>, rows: &SearchedRows<'_>, within: &BooleanBuffer) -> BooleanBuffer {
    let mut found = in_column(rows.column(MESSAGE), sought, within);
    for known in
        rows.columns.layout().promoted.iter().filter(|known| known.kind == ColumnKind::Text)
    {
        found = &found | &in_column(rows.column(known.column), sought, within);
    }
    if let Some(labels) = rows.columns.texts(LABELS) {
        let left = within & &!&found;
        // Labels mostly stay the same from row to row.
        let mut last: (&str, bool) = ("", false);
        let in_labels = each(&left, |row| {
            let text = if labels.is_null(row) { "" } else { labels.value(row) };
            if text != last.0 {
                let parsed = Labels::parse(text).unwrap_or_default();
                last = (text, parsed.iter().any(|(_, value)| sought.is_match(value)));
            }
            last.1
        });
        found = &found | &in_labels;
    }
    let left = within & &!&found;
    let in_rest =
        each(&left, |row| rows.columns.rest(row).is_some_and(|rest| in_cbor(rest, sought)));
    &found | &in_rest
}

fn in_cbor(rest: &[u8], sought: &Sought<'_>) -> bool {
    let mut is_found = false;
    // What is damaged ends the search; `check` tells of damage.
    let _ = words::each_text_in_cbor(rest, |text| {
        is_found = is_found || sought.is_match(text);
    });
    is_found
}

/// Those of the rows `within` whose text in a column has a match.
fn in_column(
    column: Option<&ArrayRef>,
    sought: &Sought<'_>,
    within: &BooleanBuffer,
) -> BooleanBuffer {
    let texts = column.and_then(|column| column.as_string_opt::<i32>());
    let Some(texts) = texts.filter(|texts| texts.null_count() < texts.len()) else {
        return BooleanBuffer::new_unset(within.len());
    };
    // A few rows are looked at one by one.
    if within.count_set_bits() * 8 < within.len() {
        return each(within, |row| !texts.is_null(row) && sought.is_match(texts.value(row)));
    }
    let mut found = BooleanBufferBuilder::new(within.len());
    found.append_n(within.len(), false);
    sought.rows(texts, |row| found.set_bit(row, true));
    let found = &found.finish() & within;
    match texts.nulls() {
        Some(nulls) => &found & nulls.inner(),
        None => found,
    }
}

/// Those of the rows `within` that pass a test.
fn each(within: &BooleanBuffer, mut test: impl FnMut(usize) -> bool) -> BooleanBuffer {
    let mut found = BooleanBufferBuilder::new(within.len());
    found.append_n(within.len(), false);
    for row in within.set_indices() {
        if test(row) {
            found.set_bit(row, true);
        }
    }
    found.finish()
}

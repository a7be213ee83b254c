//! The columns that a filter reads, and the conditions by which whole blocks are skipped unread (pruning).

use timestrata_engine::PruneFilter;

use crate::Level;
use crate::filter::{Expr, Filter, Op, Target, Term, Test, Value};
use crate::layout::{ColumnKind, Layout};
use crate::options::{FIELDS, LABELS, LEVEL, MESSAGE, SOURCE_TIME, TIMESTAMP};

/// The columns that a search reads of each row, the timestamp first.
#[derive(Debug, Clone)]
pub(super) struct ReadColumns {
    columns: Vec<usize>,
}

impl ReadColumns {
    /// Those that a filter looks at.
    pub(super) fn of(filter: &Filter, layout: &Layout) -> Self {
        let mut read = Self { columns: vec![TIMESTAMP] };
        read.look_at(filter.root(), layout);
        read
    }

    /// Adds a column, if it isn't there yet.
    pub(super) fn add(&mut self, column: usize) {
        if !self.columns.contains(&column) {
            self.columns.push(column);
        }
    }

    /// The columns, in the order in which they are read.
    pub(super) fn columns(&self) -> &[usize] {
        &self.columns
    }

    fn look_at(&mut self, expr: &Expr, layout: &Layout) {
        match expr {
            Expr::All => {}
            Expr::And(parts) | Expr::Or(parts) => {
                parts.iter().for_each(|part| self.look_at(part, layout));
            }
            Expr::Not(inner) => self.look_at(inner, layout),
            Expr::Term(term) => match &term.target {
                Target::Anywhere => {
                    [MESSAGE, LABELS, FIELDS].into_iter().for_each(|column| self.add(column));
                    let texts =
                        layout.promoted.iter().filter(|known| known.kind == ColumnKind::Text);
                    texts.for_each(|known| self.add(known.column));
                }
                Target::Message => self.add(MESSAGE),
                Target::Level => self.add(LEVEL),
                Target::Timestamp => self.add(TIMESTAMP),
                Target::SourceTime => self.add(SOURCE_TIME),
                Target::Field(name) => {
                    self.add(LABELS);
                    self.add(FIELDS);
                    if let Some(known) = layout.find(name) {
                        self.add(known.column);
                    }
                }
            },
        }
    }

    /// What blocks are asked unread.
    pub(super) fn prune_filter(filter: &Filter) -> PruneFilter {
        let mut prune_filter = PruneFilter::default();
        for any_of in filter.root().required_words() {
            prune_filter = prune_filter.with_any_word(any_of.iter().map(String::as_str));
        }
        if let Some(least) = least_level(filter.root()) {
            let severities = i64::from(least.severity())..=i64::from(i8::MAX);
            prune_filter = prune_filter.with_range(LEVEL, severities);
        }
        prune_filter
    }
}

/// The least level that an entry must have, where a filter asks for one.
fn least_level(expr: &Expr) -> Option<Level> {
    match expr {
        Expr::And(parts) => parts.iter().filter_map(least_level).max(),
        Expr::Term(Term {
            target: Target::Level,
            test: Test::Compare(Op::Equal | Op::Greater | Op::GreaterOrEqual, literal),
        }) => match literal.value() {
            Value::Level(level) => Some(*level),
            _ => None,
        },
        _ => None,
    }
}

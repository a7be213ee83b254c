//! The syntax tree, and whether a value passes a test.

use std::cmp::Ordering;
use std::sync::Arc;

use num_bigint::BigInt;

use super::super::{Level, Scalar};
use super::{Literal, Op, Pattern, Value};

/// A filter expression. Those that [`Filter::parse`](super::Filter::parse) makes hold no `And` in an
/// `And`, no `Or` in an `Or`, neither with fewer than two parts, and `All` only at the top or in a
/// `Not`.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Expr {
    /// Every entry.
    #[default]
    All,
    /// Entries that pass all of these.
    And(Vec<Expr>),
    /// Entries that pass one of these.
    Or(Vec<Expr>),
    /// Entries that don't pass.
    Not(Box<Expr>),
    /// Entries that pass a test.
    Term(Term),
}

/// A test of some part of an entry.
#[derive(Debug, Clone, PartialEq)]
pub struct Term {
    /// What is tested.
    pub target: Target,
    /// How.
    pub test: Test,
}

/// A part of an entry.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Target {
    /// The message, all texts within fields, and the values of labels: one of them has to pass.
    Anywhere,
    /// The message.
    Message,
    /// The level.
    Level,
    /// When the entry arrived.
    Timestamp,
    /// When its sender says that it happened.
    SourceTime,
    /// A field or a label. Dots reach into objects.
    Field(Arc<str>),
}

/// What a part of an entry has to be. Levels and times are compared only.
#[derive(Debug, Clone, PartialEq)]
pub enum Test {
    /// Text with a match of a pattern.
    Contains(Pattern),
    /// A value that stands in a relation to this one.
    Compare(Op, Literal),
    /// Anything but null.
    Exists,
}

impl Expr {
    /// What passes `first` and all of `others`.
    pub(super) fn all_of(first: Self, others: Vec<Self>) -> Self {
        let mut kept = Vec::with_capacity(1 + others.len());
        for part in std::iter::once(first).chain(others) {
            match part {
                Self::All => {}
                Self::And(inner) => kept.extend(inner),
                other => kept.push(other),
            }
        }
        match kept.len() {
            0 => Self::All,
            1 => kept.remove(0),
            _ => Self::And(kept),
        }
    }

    /// What passes `first` or one of `others`.
    pub(super) fn any_of(first: Self, others: Vec<Self>) -> Self {
        let mut kept = Vec::with_capacity(1 + others.len());
        for part in std::iter::once(first).chain(others) {
            match part {
                Self::All => return Self::All,
                Self::Or(inner) => kept.extend(inner),
                other => kept.push(other),
            }
        }
        match kept.len() {
            1 => kept.remove(0),
            _ => Self::Or(kept),
        }
    }

    /// What doesn't pass `inner`.
    pub(super) fn negation(inner: Self) -> Self {
        Self::Not(Box::new(inner))
    }

    /// Entries whose `target` passes `test`.
    pub(super) fn term(target: Target, test: Test) -> Self {
        Self::Term(Term { target, test })
    }
}

impl Target {
    /// What a name without backquotes stands for.
    pub(super) fn of_name(name: &str) -> Self {
        match name {
            "message" => Self::Message,
            "level" => Self::Level,
            "timestamp" => Self::Timestamp,
            "source_time" => Self::SourceTime,
            _ => Self::Field(name.into()),
        }
    }
}

impl Test {
    /// Whether a text, number or truth value passes; `None` is null, or no value at all.
    pub fn accepts(&self, value: Option<Scalar<'_>>) -> bool {
        self.passes(value, Literal::order_of, |pattern, value| match value {
            Scalar::Text(text) => pattern.is_match(text),
            value => pattern.is_match_of_value(value),
        })
    }

    /// Whether a whole number passes, which may be beyond those of 64 bits.
    pub fn accepts_whole(&self, value: &BigInt) -> bool {
        self.passes(Some(value), Literal::order_of_whole, Pattern::is_match_of_whole)
    }

    /// Whether a level passes.
    pub fn accepts_level(&self, level: Option<Level>) -> bool {
        self.passes(level, Literal::order_of_level, |_, _| false)
    }

    /// Whether a time passes: nanoseconds since 1970-01-01 UTC.
    pub fn accepts_time(&self, time: Option<i64>) -> bool {
        self.passes(time, Literal::order_of_time, |_, _| false)
    }

    /// Whether a value passes, or none, which is null.
    fn passes<T>(
        &self,
        value: Option<T>,
        order: impl FnOnce(&Literal, T) -> Option<Ordering>,
        contains: impl FnOnce(&Pattern, T) -> bool,
    ) -> bool {
        match (self, value) {
            (Self::Exists, value) => value.is_some(),
            // Null equals nothing but null.
            (Self::Compare(_, literal), None) => *literal.value() == Value::Null,
            (Self::Compare(op, literal), Some(value)) => {
                order(literal, value).is_some_and(|order| op.holds(order))
            }
            (Self::Contains(pattern), value) => value.is_some_and(|value| contains(pattern, value)),
        }
    }
}

//! What the language promises, tested on entries and on texts.

mod document;
mod faults;
mod language;
mod pruning;
mod roundtrip;
mod rows;
mod texts;

use proptest::prelude::*;
use timestrata_engine::words;

use super::{Expr, Filter, Target, Term};
use crate::{Level, Scalar};

/// An entry; its fields include its labels.
#[derive(Debug, Clone, Default)]
struct Entry {
    message: String,
    level: Option<Level>,
    timestamp: i64,
    source_time: Option<i64>,
    fields: Vec<(String, Value)>,
}

/// A value of a field.
#[derive(Debug, Clone)]
enum Value {
    Bool(bool),
    Int(i64),
    UInt(u64),
    Float(f64),
    Text(String),
}

impl Entry {
    fn new(message: &str) -> Self {
        Self { message: message.to_owned(), ..Self::default() }
    }

    fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.fields.push((name.to_owned(), value.into()));
        self
    }

    fn field(&self, name: &str) -> Option<Scalar<'_>> {
        self.fields.iter().find(|(known, _)| known == name).map(|(_, value)| value.scalar())
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        let fields = self.fields.iter().filter_map(|(_, value)| match value {
            Value::Text(text) => Some(text.as_str()),
            _ => None,
        });
        std::iter::once(self.message.as_str()).chain(fields)
    }

    fn words(&self) -> Vec<String> {
        self.texts().flat_map(words_of).collect()
    }

    fn passes(&self, expr: &Expr) -> bool {
        match expr {
            Expr::All => true,
            Expr::And(parts) => parts.iter().all(|part| self.passes(part)),
            Expr::Or(parts) => parts.iter().any(|part| self.passes(part)),
            Expr::Not(inner) => !self.passes(inner),
            Expr::Term(term) => self.passes_term(term),
        }
    }

    fn passes_term(&self, Term { target, test }: &Term) -> bool {
        match target {
            Target::Anywhere => self.texts().any(|text| test.accepts(Some(Scalar::Text(text)))),
            Target::Message => test.accepts(Some(Scalar::Text(&self.message))),
            Target::Level => test.accepts_level(self.level),
            Target::Timestamp => test.accepts_time(Some(self.timestamp)),
            Target::SourceTime => test.accepts_time(self.source_time),
            Target::Field(name) => test.accepts(self.field(name)),
        }
    }
}

impl Value {
    fn scalar(&self) -> Scalar<'_> {
        match self {
            Self::Bool(value) => Scalar::Bool(*value),
            Self::Int(value) => Scalar::Int(*value),
            Self::UInt(value) => Scalar::UInt(*value),
            Self::Float(value) => Scalar::Float(*value),
            Self::Text(text) => Scalar::Text(text),
        }
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i32> for Value {
    fn from(value: i32) -> Self {
        Self::Int(value.into())
    }
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::UInt(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

fn parsed(text: &str) -> Filter {
    text.parse().unwrap_or_else(|error| panic!("{text}\n{error}"))
}

fn fault(text: &str) -> String {
    text.parse::<Filter>().expect_err(text).message().to_owned()
}

fn words_of(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    words::each(text, |word| found.push(String::from_utf8(word.to_vec()).unwrap()));
    found
}

/// Short texts of few characters, so that they have parts in common: letters with cases of one and of
/// several lengths, some that look alike and are not, and what stands between words.
fn any_text(chars_max: usize) -> impl Strategy<Value = String> {
    const CHARS: &[char] = &[
        'a', 'A', 'b', 'k', 'K', '\u{212A}', 's', 'ſ', 'é', 'É', 'ß', 'ẞ', 'ω', 'Ω', '\u{2126}',
        'ж', 'Ж', '東', 'İ', '_', '1', ' ', ' ', '.', '/', '\n', '"', '—',
    ];
    prop::collection::vec(prop::sample::select(CHARS), 0..=chars_max)
        .prop_map(|chars| chars.into_iter().collect())
}

/// Regular expressions over the same characters.
fn any_regex() -> impl Strategy<Value = String> {
    const PIECES: &[&str] = &[
        "a", "b", "A", "k", " ", "\\.", "é", "1", "_", "ab", "a b", " b ", "ß", "東", "a+", "b*",
        "[ab]", "[^a]", ".", "\\s", "\\s+", " +", " *", " ?", "\\S", "\\w", "\\W", "\\d", "(a|b)",
        "(?:ab )?", "(?i:k)", "(?i:é)", "(?s:.)", "\\n", "\\b", "\\B", "^", "$", "(?m:^)",
        "(?m:$)", "\\z",
    ];
    prop::collection::vec(prop::sample::select(PIECES), 1..6).prop_map(|pieces| pieces.concat())
}

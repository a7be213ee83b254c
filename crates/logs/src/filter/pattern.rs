//! Patterns: words, phrases, prefixes and regular expressions, and where they match.

use std::fmt;
use std::ops::Range;

use num_bigint::BigInt;
use regex::bytes::{Regex, RegexBuilder};
use timestrata_engine::words;

use super::super::Scalar;
use super::finder::{Finder, first_char, last_char};
use super::pruning::words_in;
use super::required::Required;
use super::rows::{RowTexts, Verdict};
use super::{PHRASE_BYTES_MAX, REGEX_BYTES_MAX, Value};

/// Fewest bytes of a text, which each match of a regular expression has, for it to be worth looking
/// for first.
const REQUIRED_BYTES_MIN: usize = 3;

/// What is looked for in texts. Made once, for any number of texts, by reading a
/// [`Filter`](super::Filter).
#[derive(Clone)]
pub struct Pattern {
    kind: PatternKind,
}

#[derive(Clone)]
enum PatternKind {
    Phrase(Phrase),
    Regex(Box<Expression>),
}

/// A word or a phrase, or how one begins.
#[derive(Clone)]
struct Phrase {
    text: Box<str>,
    is_prefix: bool,
    finder: Finder,
    /// Whether a word begins where it begins, and one ends where it ends.
    begins_word: bool,
    ends_word: bool,
    /// What equals it among numbers and truth values.
    value: Value,
}

/// A regular expression.
#[derive(Clone)]
struct Expression {
    source: Box<str>,
    ignores_case: bool,
    regex: Regex,
    /// Of the longest text that every match has.
    finder: Option<Finder>,
    words: Vec<String>,
}

/// How a pattern was written; of these two are the same if they are equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form<'a> {
    Phrase(&'a str),
    Prefix(&'a str),
    Regex { source: &'a str, ignores_case: bool },
}

impl Pattern {
    /// A word or a phrase, or one that begins so.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn phrase(text: &str, is_prefix: bool) -> Result<Self, String> {
        if text.len() > PHRASE_BYTES_MAX {
            let bytes = text.len();
            return Err(format!("a phrase of {bytes} bytes; at most {PHRASE_BYTES_MAX} are taken"));
        }
        let Some(finder) = Finder::new(text) else {
            return Err("an empty phrase; for an empty text, compare with =\"\"".to_owned());
        };
        Ok(Self {
            kind: PatternKind::Phrase(Phrase {
                text: text.into(),
                is_prefix,
                finder,
                begins_word: text.starts_with(words::is_word_char),
                ends_word: !is_prefix && text.ends_with(words::is_word_char),
                value: if is_prefix { Value::Text } else { Value::of_bare(text) },
            }),
        })
    }

    /// A regular expression, in the syntax of the crate `regex`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn regex(source: &str, ignores_case: bool) -> Result<Self, String> {
        if source.is_empty() {
            return Err("an empty regular expression; a text with slashes needs quotes".to_owned());
        }
        let wrong = |why: &dyn fmt::Display| format!("not a regular expression: {why}");
        let hir = regex_syntax::ParserBuilder::new()
            .case_insensitive(ignores_case)
            .build()
            .parse(source)
            .map_err(|error| match error {
                regex_syntax::Error::Parse(error) => wrong(error.kind()),
                regex_syntax::Error::Translate(error) => wrong(error.kind()),
                error => wrong(&error),
            })?;
        let regex = RegexBuilder::new(source)
            .case_insensitive(ignores_case)
            .size_limit(REGEX_BYTES_MAX)
            .build()
            .map_err(|error| match error {
                regex::Error::CompiledTooBig(limit) => {
                    format!("a regular expression that takes more than {limit} bytes of memory")
                }
                error => wrong(&error),
            })?;
        let Required { text, words } = Required::of(&hir);
        let finder = Some(text).filter(|text| text.len() >= REQUIRED_BYTES_MIN);
        Ok(Self {
            kind: PatternKind::Regex(Box::new(Expression {
                source: source.into(),
                ignores_case,
                regex,
                finder: finder.and_then(|text| Finder::new(&text)),
                words,
            })),
        })
    }

    pub(super) fn form(&self) -> Form<'_> {
        match &self.kind {
            PatternKind::Phrase(phrase) if phrase.is_prefix => Form::Prefix(&phrase.text),
            PatternKind::Phrase(phrase) => Form::Phrase(&phrase.text),
            PatternKind::Regex(regex) => {
                Form::Regex { source: &regex.source, ignores_case: regex.ignores_case }
            }
        }
    }

    /// The word that it is, folded, if it is one word and nothing else.
    pub(crate) fn as_word(&self) -> Option<&str> {
        match &self.kind {
            PatternKind::Phrase(phrase) if !phrase.is_prefix => {
                Some(phrase.finder.text()).filter(|text| text.chars().all(words::is_word_char))
            }
            _ => None,
        }
    }

    /// Whether a text has a match.
    pub fn is_match(&self, text: &str) -> bool {
        let text = text.as_bytes();
        match &self.kind {
            PatternKind::Phrase(phrase) => {
                phrase.finder.places(text).any(|place| phrase.is_bounded(text, place))
            }
            PatternKind::Regex(regex) => regex.regex.is_match(text),
        }
    }

    /// Its places in a text.
    pub(super) fn places(&self, text: &str) -> Vec<Range<usize>> {
        let bytes = text.as_bytes();
        match &self.kind {
            PatternKind::Phrase(phrase) => {
                let places = phrase.finder.places(bytes);
                places.filter(|place| phrase.is_bounded(bytes, place.clone())).collect()
            }
            PatternKind::Regex(regex) => {
                regex.regex.find_iter(bytes).map(|found| found.range()).collect()
            }
        }
    }

    /// Whether a number or a truth value matches: words and phrases by being equal to it, others by
    /// its decimal text.
    pub(super) fn is_match_of_value(&self, value: Scalar<'_>) -> bool {
        if let PatternKind::Phrase(Phrase { is_prefix: false, value: known, .. }) = &self.kind {
            return known.order_of(value).is_some_and(std::cmp::Ordering::is_eq);
        }
        match value {
            Scalar::Bool(value) => self.is_match(if value { "true" } else { "false" }),
            Scalar::Int(value) => self.is_match(&value.to_string()),
            Scalar::UInt(value) => self.is_match(&value.to_string()),
            Scalar::Float(value) => self.is_match(&value.to_string()),
            Scalar::Text(text) => self.is_match(text),
        }
    }

    /// Whether a whole number of any size matches, as those of 64 bits do.
    pub(super) fn is_match_of_whole(&self, value: &BigInt) -> bool {
        match &self.kind {
            PatternKind::Phrase(Phrase { is_prefix: false, value: known, .. }) => {
                known.order_of_whole(value).is_some_and(std::cmp::Ordering::is_eq)
            }
            _ => self.is_match(&value.to_string()),
        }
    }

    /// Whether there may be a number or a truth value that matches.
    pub(super) fn may_match_values(&self) -> bool {
        match &self.kind {
            PatternKind::Phrase(phrase) => phrase.is_prefix || phrase.value != Value::Text,
            PatternKind::Regex(_) => true,
        }
    }

    /// Finds the rows that match, where the texts of all rows lie end to end: `text` is UTF-8, row `i`
    /// is `text[offsets[i]..offsets[i + 1]]`, as Arrow has them. Calls `hit` with each row that
    /// [`is_match`](Self::is_match), in order. Null rows have an empty text, which a regular
    /// expression may match.
    pub fn rows(&self, text: &[u8], offsets: &[i32], mut hit: impl FnMut(usize)) {
        let rows = RowTexts { text, offsets };
        match &self.kind {
            PatternKind::Phrase(phrase) => {
                let judge = |row: &[u8], place| match phrase.is_bounded(row, place) {
                    true => Verdict::Match,
                    false => Verdict::NotHere,
                };
                rows.find(&phrase.finder, judge, hit);
            }
            PatternKind::Regex(regex) => {
                let Some(finder) = &regex.finder else {
                    let rows = rows.each().enumerate();
                    return rows.for_each(|(index, row)| {
                        if regex.regex.is_match(row) {
                            hit(index);
                        }
                    });
                };
                let judge = |row: &[u8], _| match regex.regex.is_match(row) {
                    true => Verdict::Match,
                    false => Verdict::NoMatch,
                };
                rows.find(finder, judge, hit);
            }
        }
    }

    /// Words, folded, that every text with a match has, as [`words::each`] tells words. There may be
    /// others.
    pub fn words(&self) -> Vec<String> {
        let phrase = match &self.kind {
            PatternKind::Phrase(phrase) => phrase,
            PatternKind::Regex(regex) => return regex.words.clone(),
        };
        let mut found = words_in(&phrase.text);
        if phrase.is_prefix && phrase.text.ends_with(words::is_word_char) {
            found.pop();
        }
        found
    }
}

impl Phrase {
    /// Whether no word goes on beyond a place of it.
    fn is_bounded(&self, text: &[u8], place: Range<usize>) -> bool {
        let before = || last_char(text.get(..place.start).unwrap_or_default());
        let behind = || first_char(text.get(place.end..).unwrap_or_default());
        let goes_on = |c: Option<char>| c.is_some_and(words::is_word_char);
        !(self.begins_word && goes_on(before()) || self.ends_word && goes_on(behind()))
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.form() == other.form()
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.form().fmt(f)
    }
}

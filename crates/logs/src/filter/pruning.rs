//! The words that every matching entry contains: with them, blocks whose word filter lacks one are skipped
//! unread.

use timestrata_engine::words;

use super::{Expr, Op, Pattern, Target, Term, Test, Value};

impl Expr {
    /// What words an entry must have to pass: of each of these lists at least one, folded, somewhere
    /// in its text, which is what [`Target::Anywhere`] goes through. An entry that has them need not
    /// pass.
    pub fn required_words(&self) -> Vec<Vec<String>> {
        match self {
            Self::All | Self::Not(_) => Vec::new(),
            Self::And(parts) => parts.iter().flat_map(Self::required_words).collect(),
            Self::Or(parts) => {
                let best = parts.iter().map(|part| fewest(part.required_words()));
                // A part that needs no words lets entries pass without any.
                let union: Option<Vec<Vec<String>>> = best.collect();
                union.map(|lists| lists.concat()).into_iter().collect()
            }
            Self::Term(term) => term.words().into_iter().map(|word| vec![word]).collect(),
        }
    }
}

impl Term {
    /// Words that each entry has that passes.
    fn words(&self) -> Vec<String> {
        match (&self.target, &self.test) {
            (Target::Anywhere | Target::Message, Test::Contains(pattern)) => pattern.words(),
            (Target::Field(_), Test::Contains(pattern)) => words_of_field(pattern),
            (Target::Message | Target::Field(_), Test::Compare(Op::Equal, literal))
                if *literal.value() == Value::Text =>
            {
                words_in(literal.text())
            }
            _ => Vec::new(),
        }
    }
}

/// Words that each field has that matches. Words of numbers and truth values aren't part of an entry's
/// text, so where one of these may match, none that it could have counts.
fn words_of_field(pattern: &Pattern) -> Vec<String> {
    let mut words = pattern.words();
    if pattern.may_match_values() {
        let is_of_value = |word: &str| {
            word.starts_with(|c: char| c.is_ascii_digit())
                || matches!(word, "true" | "false" | "inf" | "nan")
        };
        words.retain(|word| !is_of_value(word));
    }
    words
}

/// The words of a text, folded.
pub(super) fn words_in(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    words::each(text, |word| found.extend(String::from_utf8(word.to_vec())));
    found
}

/// The list that the fewest entries should have: the one with the fewest words; of these, the one
/// with the longest.
fn fewest(lists: Vec<Vec<String>>) -> Option<Vec<String>> {
    let bytes = |list: &[String]| list.iter().map(String::len).min();
    lists.into_iter().min_by_key(|list| (list.len(), std::cmp::Reverse(bytes(list))))
}

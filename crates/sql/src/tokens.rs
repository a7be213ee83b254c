//! The words and signs of a statement, and where they stand.

use std::collections::HashMap;

use sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer};
use timestrata_engine::Result;

use crate::dialect::StandardPrecedence;
use crate::error::invalid;

/// Names that stand in the place of words of a statement, by where these are: line and column.
#[derive(Debug, Default)]
pub(crate) struct Words(pub(crate) HashMap<(u64, u64), String>);

impl Words {
    /// Puts the names in their places.
    pub(crate) fn apply(&self, tokens: &mut [TokenWithSpan]) {
        if self.0.is_empty() {
            return;
        }
        for token in tokens {
            if let Some(name) = self.0.get(&place(token.span.start)) {
                token.token = Token::make_word(name, Some('"'));
            }
        }
    }
}

/// A place by line and column.
pub(crate) fn place(location: Location) -> (u64, u64) {
    (location.line, location.column)
}

/// The words and signs of a text.
pub(crate) fn tokens_of(sql: &str) -> Result<Vec<TokenWithSpan>> {
    Tokenizer::new(&StandardPrecedence, sql)
        .tokenize_with_location()
        .map_err(|error| invalid(format!("the SQL has a mistake: {error}")))
}

/// Where a place in a text is, which the parser counts by lines and signs.
pub(crate) fn byte_at(text: &str, place: Location) -> usize {
    let (mut line, mut column) = (1, 1);
    for (byte, sign) in text.char_indices() {
        if (line, column) == (place.line, place.column) {
            return byte;
        }
        (line, column) = if sign == '\n' { (line + 1, 1) } else { (line, column + 1) };
    }
    text.len()
}

//! Names of columns in any case: `price` and `"PRICE"` are `Price` where nothing is called so exactly.
//!
//! A statement is planned as it is written. Where the planner knows no column of a name, and one that it could mean there
//! differs in case alone, that word of the statement becomes this name, and the statement is planned once more. So an exact
//! name wins in every place, and a statement whose names are exact costs nothing.

use datafusion::common::{Column, DataFusionError, SchemaError, Span, TableReference};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Location, Token, TokenWithSpan, Word};

use crate::error::{refused, wrapped};
use crate::planner_context::NamedTables;
use crate::tokens::{Words, place, tokens_of};

/// Words of one statement that become names, each of which plans it once more.
const WORDS_MAX: usize = 512;

/// What words of a statement become, by where they stand.
#[derive(Debug, Default)]
pub(crate) struct Spellings {
    pub(crate) words: Words,
    learnt: usize,
}

/// What is missing, where, and what there is instead.
struct Missing<'a> {
    column: &'a Column,
    valid: &'a [Column],
    span: Option<Span>,
}

impl Spellings {
    /// Whether the statement is planned again, so that it is worth to know where its words stand.
    pub(crate) fn is_looking(&self) -> bool {
        self.learnt > 0
    }

    /// Learns from an error what the words that it is about mean. False where it says nothing of it.
    ///
    /// # Errors
    /// `InvalidArgument` where a name means several columns.
    pub(crate) fn learn(
        &mut self,
        error: &DataFusionError,
        text: &str,
        tables: &dyn NamedTables,
    ) -> Result<bool, DataFusionError> {
        let Some(missing) = Missing::of(error, None) else { return Ok(false) };
        if self.learnt >= WORDS_MAX {
            return Ok(false);
        }
        let Ok(tokens) = tokens_of(text) else { return Ok(false) };
        let mut candidates = missing.candidates();
        if candidates.is_empty() {
            candidates = missing.around(&tokens, tables);
        }
        if candidates.is_empty() {
            return Ok(false);
        }
        self.learnt += 1;
        if missing.span.is_none() && self.learnt == 1 {
            // The same once more, with places.
            return Ok(true);
        }
        let mut has_changed = false;
        for words in self.words_of(&missing, &tokens) {
            for index in words {
                let Some((word, start)) = tokens.get(index).and_then(word_at) else { continue };
                let name = chosen(word, &candidates)?;
                has_changed |= self.words.0.insert(place(start), name.clone()) != Some(name);
            }
            if has_changed {
                break;
            }
        }
        if let Some((table, start)) = missing.table_word(&tokens) {
            has_changed |= self.words.0.insert(place(start), table.clone()) != Some(table);
        }
        Ok(has_changed)
    }

    /// The words that name what is missing, the likelier ones first: those in its place; or where nobody knows that those that
    /// stand alone in a list (of `USING`, `INSERT` and `UPDATE`), or else all. One that was meant otherwise is put right by its place.
    fn words_of(&self, missing: &Missing<'_>, tokens: &[TokenWithSpan]) -> Vec<Vec<usize>> {
        let is_named = |token: &TokenWithSpan| {
            word_at(token).is_some_and(|(word, start)| {
                let name = self.words.0.get(&place(start)).cloned().unwrap_or_else(|| normal(word));
                // What UPDATE sets is looked up as it is written.
                name == missing.column.name || word.value == missing.column.name
            })
        };
        match missing.span {
            Some(span) => {
                let all = 0..tokens.len();
                let mut found = all.filter(|index| {
                    tokens
                        .get(*index)
                        .is_some_and(|token| is_within(token, span) && is_named(token))
                });
                // Of `a.b.c` the last.
                vec![found.next_back().into_iter().collect()]
            }
            None => {
                let is_one = |index: &usize| tokens.get(*index).is_some_and(is_named);
                let all = (0..tokens.len()).filter(|index| may_be_column(tokens, *index));
                vec![listed_alone(tokens).filter(is_one).collect(), all.filter(is_one).collect()]
            }
        }
    }
}

impl<'a> Missing<'a> {
    fn of(error: &'a DataFusionError, span: Option<Span>) -> Option<Self> {
        match error {
            DataFusionError::Diagnostic(told, inner) => Self::of(inner, span.or(told.span)),
            DataFusionError::SchemaError(schema, _) => match schema.as_ref() {
                SchemaError::FieldNotFound { field, valid_fields } => Some(Self {
                    column: field,
                    valid: valid_fields,
                    span: span.or_else(|| field.spans().first()),
                }),
                _ => None,
            },
            other => wrapped(other).and_then(|inner| Self::of(inner, span)),
        }
    }

    /// The columns that it may be: neither their names nor those of their tables differ but in case.
    fn alike(&self) -> impl Iterator<Item = &'a Column> {
        let (column, valid) = (self.column, self.valid);
        let is_of = |known: &Option<TableReference>, wanted: &TableReference| {
            known.as_ref().is_none_or(|known| is_same(known.table(), wanted.table()))
        };
        valid.iter().filter(move |known| {
            is_same(&known.name, &column.name)
                && column.relation.as_ref().is_none_or(|wanted| is_of(&known.relation, wanted))
        })
    }

    /// Their names, each once.
    fn candidates(&self) -> Vec<String> {
        let mut names: Vec<String> = self.alike().map(|known| known.name.clone()).collect();
        names.sort_unstable();
        names.dedup();
        let has_other_table = self.table().is_some();
        names.retain(|name| has_other_table || *name != self.column.name);
        names
    }

    /// The only name of a column that it may be, of all tables that the statement names: what a subquery is around is not told with the error.
    fn around(&self, tokens: &[TokenWithSpan], tables: &dyn NamedTables) -> Vec<String> {
        let mut named: Vec<String> =
            tokens.iter().filter_map(word_at).map(|(word, _)| normal(word)).collect();
        named.sort_unstable();
        named.dedup();
        let mut found: Vec<String> = Vec::new();
        for table in named {
            let Ok(table) = tables.named(&TableReference::bare(table)) else { continue };
            let columns = table.schema();
            let names = columns.fields().iter().map(|field| field.name());
            found.extend(names.filter(|name| is_same(name, &self.column.name)).cloned());
        }
        found.sort_unstable();
        found.dedup();
        found.retain(|name| *name != self.column.name);
        if found.len() == 1 { found } else { Vec::new() }
    }

    /// Its table, where that is called otherwise than it is written.
    fn table(&self) -> Option<&'a str> {
        let wanted = self.column.relation.as_ref()?.table();
        let mut tables: Vec<&str> =
            self.alike().filter_map(|known| Some(known.relation.as_ref()?.table())).collect();
        tables.sort_unstable();
        tables.dedup();
        match tables.as_slice() {
            [table] if *table != wanted => Some(table),
            _ => None,
        }
    }

    /// The word that is its table, and how that is called.
    fn table_word(&self, tokens: &[TokenWithSpan]) -> Option<(String, Location)> {
        let (table, span) = (self.table()?, self.span?);
        let mut words = tokens.iter().filter(|token| is_within(token, span)).filter_map(word_at);
        let (_, start) = words.find(|(word, _)| is_same(&word.value, table))?;
        Some((table.to_owned(), start))
    }
}

/// Which of several names a word means: the one that is written so, or the only one.
fn chosen(word: &Word, candidates: &[String]) -> Result<String, DataFusionError> {
    match candidates {
        [name] => Ok(name.clone()),
        names => match names.iter().find(|name| **name == word.value) {
            Some(name) => Ok(name.clone()),
            None => {
                let names: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
                Err(refused(format!(
                    "the column {} may be {}: write the one that is meant in double quotes",
                    word.value,
                    names.join(" or ")
                )))
            }
        },
    }
}

/// Words that are all of what stands between two commas or parentheses; and those before `=` in `SET`.
fn listed_alone(tokens: &[TokenWithSpan]) -> impl Iterator<Item = usize> {
    let written: Vec<usize> = (0..tokens.len())
        .filter(|index| {
            tokens.get(*index).is_some_and(|token| !matches!(token.token, Token::Whitespace(_)))
        })
        .collect();
    let kind = |index: &usize| tokens.get(*index).map(|token| &token.token);
    let mut alone = Vec::new();
    for window in written.windows(3) {
        let [before, index, behind] = window else { continue };
        let is_set =
            matches!(kind(before), Some(Token::Word(word)) if word.keyword == Keyword::SET);
        let begins = is_set || matches!(kind(before), Some(Token::LParen | Token::Comma));
        let ends = matches!(kind(behind), Some(Token::RParen | Token::Comma | Token::Eq));
        if begins && ends && matches!(kind(index), Some(Token::Word(_))) {
            alone.push(*index);
        }
    }
    alone.into_iter()
}

/// Whether a word may be the name of a column: no function's, and no type's before a literal.
fn may_be_column(tokens: &[TokenWithSpan], index: usize) -> bool {
    let behind = tokens.iter().skip(index + 1).map(|token| &token.token);
    let mut written = behind.filter(|token| !matches!(token, Token::Whitespace(_)));
    !matches!(written.next(), Some(Token::LParen | Token::Period | Token::SingleQuotedString(_)))
}

fn word_at(token: &TokenWithSpan) -> Option<(&Word, Location)> {
    match &token.token {
        Token::Word(word) => Some((word, token.span.start)),
        _ => None,
    }
}

/// A word as it is looked up.
fn normal(word: &Word) -> String {
    match word.quote_style {
        Some(_) => word.value.clone(),
        None => word.value.to_ascii_lowercase(),
    }
}

fn is_within(token: &TokenWithSpan, span: Span) -> bool {
    let start = place(token.span.start);
    (span.start.line, span.start.column) <= start && start < (span.end.line, span.end.column)
}

fn is_same(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}

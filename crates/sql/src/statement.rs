//! From text to one parsed statement, within limits: what is too long or too deep is refused
//! before anything recurses over it.

use datafusion_sql::parser::{DFParserBuilder, Statement};
use sqlparser::ast::{self, TableFactor};
use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};
use timestrata_engine::{Error, ErrorKind, Result};

use crate::dialect::StandardPrecedence;
use crate::error::{from_datafusion, invalid};
use crate::sample_tokens::as_known_clauses;
use crate::token_forms::{with_conditions, with_selections};
use crate::tokens::{Words, tokens_of};
use crate::{query_forms, time_types};

/// Signs and keywords in a row without a comma, those around open parentheses included: a chain
/// of operators becomes a tree as deep as it is long, and not all that walks over a tree minds
/// its stack.
const CHAIN_MAX: usize = 800;
/// Parentheses and subqueries in each other, as the parser counts them.
const NESTING_MAX: usize = 50;

/// Parses text that must be one statement. `?` become `$1`, `$2` and so on.
///
/// # Errors
/// `InvalidArgument` for what isn't SQL, is no or several statements, or nests too deep;
/// `TooLarge` for text of more than `bytes_max`.
pub(crate) fn parse(sql: &str, bytes_max: usize) -> Result<Statement> {
    parse_spelled(sql, bytes_max, &Words::default())
}

/// The same, with some of its words in another spelling.
pub(crate) fn parse_spelled(sql: &str, bytes_max: usize, spellings: &Words) -> Result<Statement> {
    if sql.len() > bytes_max {
        let message =
            format!("the statement has {} bytes, at most {bytes_max} are taken", sql.len());
        return Err(Error::new(ErrorKind::TooLarge, message));
    }
    let mut tokens = tokens_of(sql)?;
    spellings.apply(&mut tokens);
    with_selections(&mut tokens);
    with_conditions(&mut tokens);
    as_known_clauses(&mut tokens)?;
    check_chains(&tokens)?;
    number_placeholders(&mut tokens);
    let parsed = DFParserBuilder::new(tokens)
        .with_dialect(&StandardPrecedence)
        .with_recursion_limit(NESTING_MAX)
        .build()
        .and_then(|mut parser| parser.parse_statements())
        .map_err(from_datafusion)?;
    let mut statements = parsed.into_iter();
    match (statements.next(), statements.next()) {
        (Some(mut statement), None) => {
            if let Some(parsed) = parsed_in(&mut statement) {
                query_forms::normalize(parsed)?;
                time_types::widen(parsed);
            }
            Ok(statement)
        }
        (None, _) => Err(invalid("there is no statement in this SQL")),
        (Some(_), Some(_)) => Err(invalid("this is more than one statement: give one at a time")),
    }
}

/// The statement of the parser's that one is, or explains.
pub(crate) fn parsed_in(statement: &mut Statement) -> Option<&mut ast::Statement> {
    match statement {
        Statement::Statement(parsed) => Some(parsed),
        Statement::Explain(explain) => parsed_in(&mut explain.statement),
        _ => None,
    }
}

/// Parses what can stand in `FROM`: a table, or a query in parentheses.
pub(crate) fn parse_relation(text: &str) -> Result<TableFactor> {
    let mistake = |error: String| invalid(format!("the SQL '{text}' has a mistake: {error}"));
    let dialect = StandardPrecedence;
    let tokens = Tokenizer::new(&dialect, text)
        .tokenize_with_location()
        .map_err(|error| mistake(error.to_string()))?;
    check_chains(&tokens)?;
    let mut parser =
        Parser::new(&dialect).with_recursion_limit(NESTING_MAX).with_tokens_with_locations(tokens);
    let mut relation = parser.parse_table_factor().map_err(|error| mistake(error.to_string()))?;
    query_forms::normalize(&mut relation)?;
    time_types::widen(&mut relation);
    match parser.peek_token().token {
        Token::EOF => Ok(relation),
        other => Err(mistake(format!("there is '{other}' behind its end"))),
    }
}

/// The error for statements that there are in SQL and not here.
pub(crate) fn unsupported() -> Error {
    invalid(
        "this kind of statement is not supported: there are SELECT, EXPLAIN, SHOW TABLES, \
         DESCRIBE, INSERT, UPDATE, DELETE, TRUNCATE, ALTER TABLE, and CREATE and DROP of TABLE and VIEW",
    )
}

/// Refuses, before anything is planned, what could reach files or change the session.
pub(crate) fn check_allowed(statement: &Statement) -> Result<()> {
    match statement {
        Statement::Statement(statement) => match statement.as_ref() {
            ast::Statement::Query(_)
            | ast::Statement::Insert(_)
            | ast::Statement::Delete(_)
            | ast::Statement::Update(_)
            | ast::Statement::Truncate(_)
            | ast::Statement::AlterTable(_)
            | ast::Statement::CreateTable(_)
            | ast::Statement::CreateView(_)
            | ast::Statement::Drop { .. }
            | ast::Statement::ExplainTable { .. }
            | ast::Statement::Explain { .. }
            | ast::Statement::ShowTables { .. }
            | ast::Statement::ShowColumns { .. } => Ok(()),
            _ => Err(unsupported()),
        },
        Statement::Explain(explain) => check_allowed(&explain.statement),
        _ => Err(unsupported()),
    }
}

/// Whether a statement begins as one that `crate::statement_forms` makes a query of.
pub(crate) fn begins_form(first: &str) -> bool {
    first.eq_ignore_ascii_case("SUMMARIZE") || first.eq_ignore_ascii_case("PIVOT")
}

/// Whether a statement only asks, and changes nothing. Of one that can do nothing else it isn't looked
/// whether it is sound: who runs it will see.
///
/// # Errors
/// `InvalidArgument` for what isn't SQL or is not supported.
pub fn is_query(sql: &str) -> Result<bool> {
    let mut words = sql.trim_start().split(|sign: char| !sign.is_alphanumeric() && sign != '_');
    let first = words.next().unwrap_or_default();
    let asks = ["SELECT", "WITH", "FROM"].iter().any(|word| first.eq_ignore_ascii_case(word));
    if asks || begins_form(first) {
        return Ok(true);
    }
    let statement = parse(sql, usize::MAX)?;
    check_allowed(&statement)?;
    Ok(match statement {
        Statement::Statement(statement) => !matches!(
            statement.as_ref(),
            ast::Statement::Insert(_)
                | ast::Statement::Delete(_)
                | ast::Statement::Update(_)
                | ast::Statement::Truncate(_)
                | ast::Statement::AlterTable(_)
                | ast::Statement::CreateTable(_)
                | ast::Statement::CreateView(_)
                | ast::Statement::Drop { .. }
        ),
        _ => true,
    })
}

fn check_chains(tokens: &[TokenWithSpan]) -> Result<()> {
    let mut levels = vec![0_usize];
    let mut depth = 0_usize;
    for token in tokens {
        match &token.token {
            Token::Whitespace(_) | Token::Period | Token::Number(_, _) => continue,
            Token::SingleQuotedString(_) | Token::SemiColon => continue,
            Token::Word(word) if word.keyword == Keyword::NoKeyword => continue,
            Token::LParen | Token::LBracket | Token::LBrace => {
                levels.push(0);
            }
            Token::RParen | Token::RBracket | Token::RBrace => {
                depth -= if levels.len() > 1 { levels.pop().unwrap_or(0) } else { 0 };
            }
            Token::Comma => {
                depth -= levels.last().copied().unwrap_or(0);
                levels.last_mut().into_iter().for_each(|level| *level = 0);
                continue;
            }
            _ => {}
        }
        levels.last_mut().into_iter().for_each(|level| *level += 1);
        depth += 1;
        if depth > CHAIN_MAX {
            return Err(invalid(format!(
                "an expression of this statement has more than {CHAIN_MAX} operators: take IN \
                 (..) or a join for many values"
            )));
        }
    }
    Ok(())
}

fn number_placeholders(tokens: &mut [TokenWithSpan]) {
    let mut number = 0;
    for token in tokens {
        let is_mark = match &token.token {
            Token::Question => true,
            Token::Placeholder(text) => text == "?",
            _ => false,
        };
        if is_mark {
            number += 1;
            token.token = Token::Placeholder(format!("${number}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_are_fine_and_long_chains_are_not() {
        let list = (0..20_000).map(|n| format!("-{n}")).collect::<Vec<_>>().join(", ");
        parse(&format!("SELECT * FROM t WHERE a IN ({list})"), 1 << 20).unwrap();
        let chain = "1 + ".repeat(1_000) + "1";
        for sql in [format!("SELECT {chain}"), format!("SELECT f(a, (b + (c, {chain})))")] {
            let error = parse(&sql, 1 << 20).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        }
    }

    #[test]
    fn one_statement_at_a_time() {
        assert!(parse("SELECT 1;", 100).is_ok());
        for sql in ["", ";", "-- nothing", "SELECT 1; SELECT 2"] {
            assert_eq!(parse(sql, 100).unwrap_err().kind(), ErrorKind::InvalidArgument);
        }
        assert_eq!(parse("SELECT 1", 7).unwrap_err().kind(), ErrorKind::TooLarge);
    }
}

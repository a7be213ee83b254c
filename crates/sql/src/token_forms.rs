//! Forms of a query that the parser doesn't know, as others that it knows: `FROM t WHERE ...`, behind `WITH` too, gets its `SELECT *`, and
//! `ASOF [LEFT | INNER] JOIN b ON ...` a `MATCH_CONDITION`, which is true or false (`crate::functions::asof_syntax`).

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace};

/// Puts the condition before `ON` or `USING` of each such join that has none.
pub(crate) fn with_conditions(tokens: &mut Vec<TokenWithSpan>) {
    let mut from = 0;
    while let Some(start) = (from..tokens.len()).find(|place| is(tokens, *place, Keyword::ASOF)) {
        from = start + 1;
        let Some((join, keeps_all)) = join_behind(tokens, start) else { continue };
        let Some(place) = constraint_behind(tokens, join) else { continue };
        // What tells the kind of the join is said by the condition.
        for between in tokens.iter_mut().take(join).skip(start + 1) {
            between.token = Token::Whitespace(Whitespace::Space);
        }
        let truth = if keeps_all { "FALSE" } else { "TRUE" };
        let condition = [
            Token::make_keyword("MATCH_CONDITION"),
            Token::LParen,
            Token::make_keyword(truth),
            Token::RParen,
        ];
        tokens.splice(place..place, condition.map(TokenWithSpan::wrap));
    }
}

/// Where `JOIN` is behind `ASOF`, and whether it keeps rows without a partner.
fn join_behind(tokens: &[TokenWithSpan], start: usize) -> Option<(usize, bool)> {
    let mut keeps_all = false;
    for place in start + 1..tokens.len() {
        match tokens.get(place).map(|token| &token.token)? {
            Token::Whitespace(_) => {}
            Token::Word(word) => match word.keyword {
                Keyword::LEFT => keeps_all = true,
                Keyword::OUTER | Keyword::INNER => {}
                Keyword::JOIN => return Some((place, keeps_all)),
                _ => return None,
            },
            _ => return None,
        }
    }
    None
}

/// Where what is joined by is said, if it is and has no condition before it.
fn constraint_behind(tokens: &[TokenWithSpan], join: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for place in join + 1..tokens.len() {
        match tokens.get(place).map(|token| &token.token)? {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.checked_sub(1)?,
            Token::Word(word) if depth == 0 => match word.keyword {
                Keyword::ON | Keyword::USING => return Some(place),
                Keyword::MATCH_CONDITION | Keyword::JOIN | Keyword::WHERE => return None,
                _ => {}
            },
            _ => {}
        }
    }
    None
}

/// Puts `SELECT *` before each `FROM` that begins a query which has no `SELECT`.
pub(crate) fn with_selections(tokens: &mut Vec<TokenWithSpan>) {
    let mut from = 0;
    while let Some(place) = (from..tokens.len()).find(|place| is(tokens, *place, Keyword::FROM)) {
        from = place + 1;
        if begins_query(tokens, place) && !has_selection(tokens, place) {
            let blank = || Token::Whitespace(Whitespace::Space);
            let selection = [Token::make_keyword("SELECT"), blank(), Token::Mul, blank()];
            tokens.splice(place..place, selection.map(TokenWithSpan::wrap));
            from += 4;
        }
    }
}

/// Whether what stands before is the beginning of the statement, a parenthesis that is none of a function's, or the queries
/// that `WITH` names.
fn begins_query(tokens: &[TokenWithSpan], place: usize) -> bool {
    let before = tokens.get(..place).unwrap_or_default().iter().rev();
    let mut written = before.map(|token| &token.token);
    let mut next = || written.find(|token| !matches!(token, Token::Whitespace(_)));
    match next() {
        None => true,
        Some(Token::LParen) => match next() {
            Some(Token::Word(word)) => word.keyword != Keyword::TRIM,
            _ => true,
        },
        Some(Token::RParen) => is_behind_with(tokens, place),
        _ => false,
    }
}

/// Whether nothing but a list of named queries stands between a place and the `WITH` before it.
fn is_behind_with(tokens: &[TokenWithSpan], place: usize) -> bool {
    let mut depth = 0_usize;
    for token in tokens.get(..place).unwrap_or_default().iter().rev() {
        match &token.token {
            Token::RParen => depth += 1,
            Token::LParen if depth == 0 => return false,
            Token::LParen => depth -= 1,
            _ if depth > 0 => {}
            Token::Word(word) => match word.keyword {
                Keyword::WITH => return true,
                Keyword::AS | Keyword::RECURSIVE | Keyword::NOT | Keyword::MATERIALIZED => {}
                // What else is a keyword begins something that goes on, unless it is quoted or names a query.
                Keyword::SELECT | Keyword::FROM | Keyword::WHERE | Keyword::VALUES => return false,
                _ => {}
            },
            Token::Comma | Token::Whitespace(_) => {}
            _ => return false,
        }
    }
    false
}

/// Whether a `SELECT` of the same query follows.
fn has_selection(tokens: &[TokenWithSpan], place: usize) -> bool {
    let mut depth = 0_usize;
    for token in tokens.iter().skip(place + 1) {
        match &token.token {
            Token::LParen => depth += 1,
            Token::RParen if depth == 0 => return false,
            Token::RParen => depth -= 1,
            Token::Word(word) if depth == 0 => match word.keyword {
                Keyword::SELECT => return true,
                Keyword::UNION | Keyword::INTERSECT | Keyword::EXCEPT => return false,
                _ => {}
            },
            _ => {}
        }
    }
    false
}

fn is(tokens: &[TokenWithSpan], place: usize, keyword: Keyword) -> bool {
    matches!(tokens.get(place).map(|token| &token.token), Some(Token::Word(word)) if word.keyword == keyword)
}

//! `SAMPLE BY 1h FROM .. TO .. FILL(..) ALIGN TO ..`, as its users write it, as a clause that the parser knows.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};
use timestrata_engine::Result;

use crate::error::invalid;

/// The function that stands in the clause which the parser knows (`crate::sample_by` makes a query of it).
pub(crate) const MARKER: &str = "__sample_by";

/// Makes each such clause `CLUSTER BY MARKER('interval', 'fills', 'zone', start, end)`.
///
/// # Errors
/// `InvalidArgument` for a clause that is none.
pub(crate) fn as_known_clauses(tokens: &mut Vec<TokenWithSpan>) -> Result<()> {
    let is_sample = |token: &TokenWithSpan| matches!(&token.token, Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("SAMPLE"));
    let mut from = 0;
    while let Some(start) = tokens.iter().skip(from).position(is_sample).map(|at| at + from) {
        from = start + 1;
        let mut clause = Clause { tokens, at: start + 1 };
        if !clause.takes(Keyword::BY) {
            continue;
        }
        let known = clause.read()?;
        let end = clause.at;
        let known = known.into_iter().map(TokenWithSpan::wrap);
        tokens.splice(start..end, known);
    }
    Ok(())
}

struct Clause<'a> {
    tokens: &'a [TokenWithSpan],
    at: usize,
}

impl Clause<'_> {
    /// The place of the next token that is no blank.
    fn next(&self) -> Option<(usize, &Token)> {
        let rest = self.tokens.iter().enumerate().skip(self.at);
        let mut written = rest.filter(|(_, token)| !matches!(token.token, Token::Whitespace(_)));
        written.next().map(|(place, token)| (place, &token.token))
    }

    fn takes(&mut self, keyword: Keyword) -> bool {
        match self.next() {
            Some((place, Token::Word(word))) if word.keyword == keyword => {
                self.at = place + 1;
                true
            }
            _ => false,
        }
    }

    fn takes_word(&mut self, name: &str) -> bool {
        match self.next() {
            Some((place, Token::Word(word))) if word.value.eq_ignore_ascii_case(name) => {
                self.at = place + 1;
                true
            }
            _ => false,
        }
    }

    fn text(&mut self) -> Option<String> {
        match self.next() {
            Some((place, Token::SingleQuotedString(text))) => {
                let text = text.clone();
                self.at = place + 1;
                Some(text)
            }
            _ => None,
        }
    }

    fn read(&mut self) -> Result<Vec<Token>> {
        let interval = self.interval()?;
        let (mut start, mut end) = (Vec::new(), Vec::new());
        if self.takes(Keyword::FROM) {
            start = self.until(&["TO", "FILL", "ALIGN"]);
        }
        if self.takes(Keyword::TO) {
            end = self.until(&["FILL", "ALIGN"]);
        }
        let fills = if self.takes_word("FILL") { self.fills()? } else { String::new() };
        let zone = self.alignment()?;
        let or_null = |tokens: Vec<Token>| match tokens.is_empty() {
            true => vec![Token::make_keyword("NULL")],
            false => tokens,
        };
        let text = |text: String| vec![Token::SingleQuotedString(text)];
        let arguments = [text(interval), text(fills), text(zone), or_null(start), or_null(end)];
        let blank = || Token::Whitespace(sqlparser::tokenizer::Whitespace::Space);
        let mut known = vec![
            Token::make_keyword("CLUSTER"),
            blank(),
            Token::make_keyword("BY"),
            blank(),
            Token::make_word(MARKER, None),
            Token::LParen,
        ];
        for (place, argument) in arguments.into_iter().enumerate() {
            if place > 0 {
                known.push(Token::Comma);
            }
            known.extend(argument);
        }
        known.extend([Token::RParen, blank()]);
        Ok(known)
    }

    /// `15m`, `1h`, `'15 minutes'` or `INTERVAL '15 minutes'`.
    fn interval(&mut self) -> Result<String> {
        let wrong = || invalid("SAMPLE BY takes an interval, as 15m, 1h, 1d, 1M or '15 minutes'");
        self.takes(Keyword::INTERVAL);
        if let Some(text) = self.text() {
            return Ok(text);
        }
        let Some((place, Token::Number(count, _))) = self.next() else { return Err(wrong()) };
        let count = count.clone();
        let Some(Token::Word(unit)) = self.tokens.get(place + 1).map(|token| &token.token) else {
            return Err(wrong());
        };
        // As QuestDB has them.
        let unit = match unit.value.as_str() {
            "n" => "nanoseconds",
            "U" => "microseconds",
            "T" => "milliseconds",
            "s" => "seconds",
            "m" => "minutes",
            "h" | "H" => "hours",
            "d" | "D" => "days",
            "w" | "W" => "weeks",
            "M" => "months",
            "y" | "Y" => "years",
            _ => return Err(wrong()),
        };
        self.at = place + 2;
        Ok(format!("{count} {unit}"))
    }

    /// Tokens up to one of these words, or where another clause begins.
    fn until(&mut self, words: &[&str]) -> Vec<Token> {
        let ends = |word: &str| {
            let others = ["ORDER", "LIMIT", "UNION"];
            words.iter().chain(&others).any(|known| word.eq_ignore_ascii_case(known))
        };
        let (mut found, mut depth) = (Vec::new(), 0_usize);
        while let Some(token) = self.tokens.get(self.at).map(|token| &token.token) {
            match token {
                Token::LParen => depth += 1,
                Token::RParen if depth == 0 => break,
                Token::RParen => depth -= 1,
                Token::SemiColon | Token::EOF => break,
                Token::Word(word) if depth == 0 && ends(&word.value) => break,
                _ => {}
            }
            found.push(token.clone());
            self.at += 1;
        }
        found
    }

    /// What is in the parentheses of `FILL`.
    fn fills(&mut self) -> Result<String> {
        let wrong = || invalid("FILL takes NONE, NULL, PREV, LINEAR or values, in parentheses");
        match self.next() {
            Some((place, Token::LParen)) => self.at = place + 1,
            _ => return Err(wrong()),
        }
        let mut text = String::new();
        while let Some((place, token)) = self.next() {
            let (is_end, is_fill) = (
                *token == Token::RParen,
                matches!(token, Token::Word(_) | Token::Number(_, _) | Token::Comma | Token::Minus),
            );
            if is_fill {
                text += &token.to_string();
            }
            self.at = place + 1;
            match (is_end, is_fill) {
                (true, _) => return Ok(text),
                (false, true) => {}
                (false, false) => return Err(wrong()),
            }
        }
        Err(wrong())
    }

    /// The zone of `ALIGN TO CALENDAR TIME ZONE 'zone'`.
    fn alignment(&mut self) -> Result<String> {
        if !self.takes_word("ALIGN") {
            return Ok(String::new());
        }
        let is_calendar = self.takes(Keyword::TO) && self.takes_word("CALENDAR");
        let zone = match is_calendar && self.takes(Keyword::TIME) {
            true if self.takes(Keyword::ZONE) => self.text(),
            true => None,
            false => Some(String::new()),
        };
        let others = self.takes(Keyword::WITH);
        zone.filter(|_| is_calendar && !others).ok_or_else(|| {
            invalid("SAMPLE BY is aligned to the calendar: ALIGN TO CALENDAR [TIME ZONE 'Europe/Berlin']")
        })
    }
}

//! Tokens: keywords, names, operators, and texts with quotes, slashes or neither.

use winnow::combinator::{alt, delimited, not, opt, peek, preceded, repeat};
use winnow::prelude::*;
use winnow::stream::Location;
use winnow::token::{any, none_of, one_of, take_while};

use super::fault::Fault;
use super::{Failure, FilterText, Parsed};
use crate::filter::{NAME_BYTES_MAX, Op, Target};

const KEYWORDS: [&str; 3] = ["and", "or", "not"];
/// How operators begin, but for `!=`.
const OPERATORS: [char; 4] = [':', '=', '<', '>'];

/// What stands between a name and what its value has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    /// `:`
    Has,
    /// `!=`
    Differs,
    /// All others.
    Compares(Op),
}

/// Whether a word can be searched for in quotes only.
pub(in crate::filter) fn is_keyword(word: &str) -> bool {
    KEYWORDS.iter().any(|keyword| keyword.eq_ignore_ascii_case(word))
}

/// Whether a name may have the character without backquotes.
pub(in crate::filter) fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | '@' | '$')
}

/// Whether a text may have the character without quotes.
pub(super) fn is_bare_char(c: char) -> bool {
    !c.is_whitespace() && !matches!(c, '(' | ')' | '"' | '`')
}

pub(super) fn blanks(input: &mut FilterText<'_>) -> Parsed<()> {
    take_while(0.., char::is_whitespace).void().parse_next(input)
}

/// A keyword, in any case; but before an operator it is a name.
pub(super) fn keyword<'i>(word: &'static str) -> impl Parser<FilterText<'i>, (), Failure> {
    let is_word = move |text: &&str| text.eq_ignore_ascii_case(word);
    (bare.verify(is_word), not(alt((one_of(OPERATORS).void(), "!=".void()))), blanks).void()
}

/// A text without quotes: up to a blank, a parenthesis or a quote, and, where it may be a name, up to an
/// operator.
pub(super) fn bare<'i>(input: &mut FilterText<'i>) -> Parsed<&'i str> {
    if input.state.within.is_some() { bare_value(input) } else { bare_name(input) }
}

/// A text without quotes where no name can be. That it begins with an operator is a slip, as in
/// `status:>=500` or `status==500`.
pub(super) fn bare_value<'i>(input: &mut FilterText<'i>) -> Parsed<&'i str> {
    preceded(not(one_of(OPERATORS)), take_while(1.., is_bare_char)).parse_next(input)
}

fn bare_name<'i>(input: &mut FilterText<'i>) -> Parsed<&'i str> {
    let is_plain = |c| is_bare_char(c) && c != '!' && !OPERATORS.contains(&c);
    let piece = alt((take_while(1.., is_plain).void(), ('!', not('=')).void()));
    let pieces = repeat::<_, _, (), _, _>(1.., piece);
    pieces.take().parse_next(input)
}

/// A name, and the operator without which it is none.
pub(super) fn name(input: &mut FilterText<'_>) -> Parsed<(Target, Operator)> {
    let start = input.current_token_start();
    if let Some(name) = opt(quoted('`')).parse_next(input)? {
        let Some(operator) = opt(operator).parse_next(input)? else {
            return Err(Fault::expected("an operator behind a name in backquotes", input).cut());
        };
        check_name(start, &name)?;
        return Ok((Target::Field(name.into()), operator));
    }
    // A slash begins a regular expression, whatever follows.
    let plain = preceded(peek(not('/')), bare_name);
    let (name, operator) = (plain, operator).parse_next(input)?;
    if !name.chars().all(is_name_char) {
        let problem = "a name has letters, digits and _ . - @ $ only; other names need backquotes, \
                       and a text with an operator in it needs quotes";
        return Err(Fault::at(start, problem));
    }
    check_name(start, name)?;
    Ok((Target::of_name(name), operator))
}

fn check_name(start: usize, name: &str) -> Parsed<()> {
    match name.len() {
        0 => Err(Fault::at(start, "an empty name")),
        1..=NAME_BYTES_MAX => Ok(()),
        bytes => {
            let problem = format!("a name of {bytes} bytes; at most {NAME_BYTES_MAX} are taken");
            Err(Fault::at(start, problem))
        }
    }
}

/// A colon, or a comparison, which may have blanks around it.
fn operator(input: &mut FilterText<'_>) -> Parsed<Operator> {
    let comparison = alt((
        "!=".value(Operator::Differs),
        "<=".value(Operator::Compares(Op::LessOrEqual)),
        ">=".value(Operator::Compares(Op::GreaterOrEqual)),
        '<'.value(Operator::Compares(Op::Less)),
        '>'.value(Operator::Compares(Op::Greater)),
        '='.value(Operator::Compares(Op::Equal)),
    ));
    alt((':'.value(Operator::Has), delimited(blanks, comparison, blanks))).parse_next(input)
}

/// A text in quotes of a kind.
pub(super) fn quoted<'i>(quote: char) -> impl Parser<FilterText<'i>, String, Failure> {
    move |input: &mut FilterText<'i>| {
        let start = input.current_token_start();
        let plain = none_of([quote, '\\']);
        let piece = alt((plain, |input: &mut FilterText<'i>| escape(quote, input)));
        let text: String = preceded(quote, repeat(0.., piece)).parse_next(input)?;
        match opt(quote).parse_next(input)? {
            Some(_) => Ok(text),
            None => Err(Fault::at(start, "no quote closes the one that opens here")),
        }
    }
}

fn escape(quote: char, input: &mut FilterText<'_>) -> Parsed<char> {
    let start = input.current_token_start();
    match preceded('\\', any).parse_next(input)? {
        'n' => Ok('\n'),
        't' => Ok('\t'),
        'r' => Ok('\r'),
        c if c == quote || c == '\\' => Ok(c),
        _ => {
            let problem =
                format!(r"expected one of \{quote} \\ \n \t \r; a backslash itself is \\");
            Err(Fault::at(start, problem))
        }
    }
}

/// The source of a regular expression, its slashes without backslashes, and whether it ignores case.
pub(super) fn regex(input: &mut FilterText<'_>) -> Parsed<(String, bool)> {
    let start = input.current_token_start();
    let plain = take_while(1.., |c| !matches!(c, '/' | '\\'));
    let piece = alt((plain, r"\/".value("/"), ('\\', any).take()));
    let source: String = preceded('/', repeat(0.., piece)).parse_next(input)?;
    if opt('/').parse_next(input)?.is_none() {
        let problem = "no slash closes the regular expression that opens here; a text that begins \
                       with one needs quotes";
        return Err(Fault::at(start, problem));
    }
    Ok((source, opt('i').parse_next(input)?.is_some()))
}

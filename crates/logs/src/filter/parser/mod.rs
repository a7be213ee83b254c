//! The grammar: from text to a syntax tree.

mod fault;
mod stages;
mod token;

use fault::Fault;
use timestrata_engine::Error;
use token::{Operator, bare, bare_value, blanks, is_bare_char, keyword, name, quoted, regex};
pub(super) use token::{is_keyword, is_name_char};
use winnow::combinator::{alt, cut_err, delimited, eof, not, opt, peek, preceded, repeat};
use winnow::error::{ErrMode, ParserError};
use winnow::prelude::*;
use winnow::stream::{LocatingSlice, Location, Stateful, Stream};
use winnow::token::one_of;

use super::question::Question;
use super::{Expr, Literal, NESTING_MAX, Op, Pattern, REGEXES_MAX, Target, Test, Value};

type FilterText<'i> = Stateful<LocatingSlice<&'i str>, State>;
type Failure = ErrMode<Fault>;
type Parsed<T> = Result<T, Failure>;

/// What the expression around says of the place.
#[derive(Debug, Default)]
struct State {
    nesting: usize,
    regexes: usize,
    /// What the parentheses behind a name are about.
    within: Option<Target>,
}

/// Reads a whole expression.
///
/// # Errors
/// `InvalidArgument`, with the place.
pub(super) fn parse(text: &str) -> Result<Expr, Error> {
    read(text, |input| {
        let expr = filter(input)?;
        if stages::is_at_bar(input) {
            let problem = "what stands behind a bar is asked of `stats`, not of a search; `or` stands \
                           between terms, and a text needs quotes";
            return Err(Fault::at(input.current_token_start(), problem));
        }
        Ok(expr)
    })
}

/// Reads a filter with the stages behind it.
///
/// # Errors
/// `InvalidArgument`, with the place.
pub(super) fn parse_question(text: &str) -> Result<Question, Error> {
    read(text, |input| {
        let expr = filter(input)?;
        stages::stages(expr, input)
    })
}

/// Whether stages stand behind a filter.
pub(super) fn has_stages(text: &str) -> bool {
    read(text, |input| filter(input).map(|_| stages::is_at_bar(input))).unwrap_or(false)
}

fn read<'i, T>(
    text: &'i str,
    what: impl FnOnce(&mut FilterText<'i>) -> Parsed<T>,
) -> Result<T, Error> {
    let mut input = Stateful { input: LocatingSlice::new(text), state: State::default() };
    what(&mut input).map_err(|failure| {
        // Only a part of a text could be incomplete, and this is all of it.
        let fault = failure.into_inner().unwrap_or_else(|_| Fault::from_input(&input));
        fault.into_error(text)
    })
}

/// An expression, up to the end or to a bar.
fn filter(input: &mut FilterText<'_>) -> Parsed<Expr> {
    blanks(input)?;
    if input.is_empty() || stages::is_at_bar(input) {
        return Ok(Expr::All);
    }
    let expr = any_of(input)?;
    if !input.is_empty() && !stages::is_at_bar(input) {
        return Err(Fault::expected("a term or the end", input));
    }
    Ok(expr)
}

fn any_of(input: &mut FilterText<'_>) -> Parsed<Expr> {
    let others = repeat(0.., preceded(keyword("or"), cut_err(all_of)));
    (all_of, others).map(|(first, others)| Expr::any_of(first, others)).parse_next(input)
}

fn all_of(input: &mut FilterText<'_>) -> Parsed<Expr> {
    let other = alt((preceded(keyword("and"), cut_err(negated)), negated));
    (negated, repeat(0.., other))
        .map(|(first, others)| Expr::all_of(first, others))
        .parse_next(input)
}

fn negated(input: &mut FilterText<'_>) -> Parsed<Expr> {
    let sign = alt((one_of(['-', '!']).void(), keyword("not")));
    let negation = preceded(sign, nested(negated)).map(Expr::negation);
    let group = delimited(('(', blanks), nested(any_of), close);
    alt((negation, group, term)).parse_next(input)
}

/// What stands behind a sign or a parenthesis that has been read; not too deep, as each level takes
/// some of the stack.
fn nested<'i>(
    inner: fn(&mut FilterText<'i>) -> Parsed<Expr>,
) -> impl Parser<FilterText<'i>, Expr, Failure> {
    move |input: &mut FilterText<'i>| {
        if input.state.nesting == NESTING_MAX {
            let problem =
                format!("more than {NESTING_MAX} parentheses and negations in each other");
            return Err(Fault::at(input.current_token_start(), problem));
        }
        input.state.nesting += 1;
        let expr = cut_err(inner).parse_next(input)?;
        input.state.nesting -= 1;
        Ok(expr)
    }
}

fn close(input: &mut FilterText<'_>) -> Parsed<()> {
    match opt((')', blanks)).parse_next(input)? {
        Some(_) => Ok(()),
        None => Err(Fault::expected("a term or \")\"", input).cut()),
    }
}

fn term(input: &mut FilterText<'_>) -> Parsed<Expr> {
    let no_term = alt((eof.void(), ')'.void(), keyword("and"), keyword("or")));
    if stages::is_at_bar(input) || peek(opt(no_term)).parse_next(input)?.is_some() {
        return Err(Fault::expected("a term", input));
    }
    let begun: &str = *input.input;
    let expr = match input.state.within.clone() {
        Some(target) => test(target, input)?,
        None => match opt(name).parse_next(input)? {
            None => test(Target::Anywhere, input)?,
            Some((target, Operator::Has)) => match opt(('(', blanks)).parse_next(input)? {
                Some(_) => return tests(target, input),
                None => test(target, input)?,
            },
            Some((target, Operator::Compares(op))) => comparison(target, op, input)?,
            Some((target, Operator::Differs)) => {
                Expr::negation(comparison(target, Op::Equal, input)?)
            }
        },
    };
    let end = alt((eof.void(), ')'.void(), one_of(char::is_whitespace).void()));
    if peek(opt(end)).parse_next(input)?.is_none() {
        let term = begun.get(..begun.len() - input.input.len()).unwrap_or_default();
        let what = match term.starts_with('/') || term.contains(":/") {
            true => {
                "a blank behind a regular expression, which begins with a slash (a path needs \
                 quotes: \"/api/v1\")"
            }
            false => "a blank behind a term (a text with parentheses or quotes in it needs quotes)",
        };
        return Err(Fault::expected(what, input).cut());
    }
    blanks(input)?;
    Ok(expr)
}

/// What stands in parentheses behind a name.
fn tests(target: Target, input: &mut FilterText<'_>) -> Parsed<Expr> {
    input.state.within = Some(target);
    let expr = nested(any_of).parse_next(input)?;
    input.state.within = None;
    close(input)?;
    Ok(expr)
}

/// What a target has to contain; for one that has no text, what it has to be.
fn test(target: Target, input: &mut FilterText<'_>) -> Parsed<Expr> {
    let star = ('*', peek(not(one_of(is_bare_char))));
    if opt(star).parse_next(input)?.is_some() {
        return Ok(match target {
            Target::Anywhere => Expr::All,
            target => Expr::term(target, Test::Exists),
        });
    }
    match target {
        Target::Level | Target::Timestamp | Target::SourceTime => {
            comparison(target, Op::Equal, input)
        }
        target => {
            let pattern = pattern(&target, input)?;
            Ok(Expr::term(target, Test::Contains(pattern)))
        }
    }
}

fn pattern(target: &Target, input: &mut FilterText<'_>) -> Parsed<Pattern> {
    let start = input.current_token_start();
    let pattern = if let Some(text) = opt(quoted('"')).parse_next(input)? {
        let is_prefix = opt('*').parse_next(input)?.is_some();
        Pattern::phrase(&text, is_prefix)
    } else if let Some((source, ignores_case)) = opt(regex).parse_next(input)? {
        input.state.regexes += 1;
        match input.state.regexes {
            ..=REGEXES_MAX => Pattern::regex(&source, ignores_case),
            _ => Err(format!("more than {REGEXES_MAX} regular expressions")),
        }
    } else {
        let text = match target {
            Target::Anywhere => opt(bare).parse_next(input)?,
            _ => opt(bare_value).parse_next(input)?,
        };
        let Some(text) = text else {
            let what = match target {
                Target::Anywhere => "a term",
                _ => "a word, \"a phrase\", a prefix* or a /regular expression/",
            };
            return Err(Fault::expected(what, input).cut());
        };
        let stem = text.strip_suffix('*');
        check_stars(start, stem.unwrap_or(text))?;
        Pattern::phrase(stem.unwrap_or(text), stem.is_some())
    };
    pattern.map_err(|problem| Fault::at(start, problem))
}

fn comparison(target: Target, op: Op, input: &mut FilterText<'_>) -> Parsed<Expr> {
    let start = input.checkpoint();
    let at = input.current_token_start();
    let literal = if let Some(text) = opt(quoted('"')).parse_next(input)? {
        Literal::read(&target, &text, true)
    } else if let Some(text) = opt(bare_value).parse_next(input)? {
        let literal = Literal::read(&target, text, false);
        if literal.is_ok() {
            check_stars(at, text)?;
        }
        literal
    } else {
        Err("a value")
    };
    let what = match literal {
        Ok(literal) if op != Op::Equal && *literal.value() == Value::Null => {
            "a value that has an order"
        }
        Ok(literal) => return Ok(Expr::term(target, Test::Compare(op, literal))),
        Err(what) => what,
    };
    input.reset(&start);
    Err(Fault::expected(what, input).cut())
}

/// A star that isn't the end of a prefix would be taken for what it is not.
fn check_stars(start: usize, text: &str) -> Parsed<()> {
    match text.find('*') {
        None => Ok(()),
        Some(at) => {
            let problem = "a star ends what a word or phrase begins with, as in conn*; elsewhere it needs \
                           quotes, or a regular expression, as in /a.*b/";
            Err(Fault::at(start + at, problem))
        }
    }
}

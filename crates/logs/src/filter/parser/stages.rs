//! What stands behind a filter's bars: `stats`, `top` or `rate`, then `sort` and `limit`.

use timestrata_engine::duration_of_text;
use winnow::combinator::{alt, eof, not, opt, peek, preceded};
use winnow::prelude::*;
use winnow::stream::Location;
use winnow::token::{one_of, take_while};

use super::fault::Fault;
use super::token::{blanks, is_name_char, quoted};
use super::{FilterText, Parsed};
use crate::filter::question::{
    COLUMNS_MAX, Figure, Function, Group, Question, TOP_DEFAULT, name_of,
};
use crate::filter::{Expr, Filter, Target};

/// What may stand first behind a bar.
const STAGES: [&str; 6] = ["stats", "top", "rate", "sort", "limit", "head"];
/// How long the stretches of `rate` are where nobody says.
const RATE_STEP_NS: i64 = 60_000_000_000;

/// Whether a bar comes next that a stage stands behind: one alone, or right before a stage's name.
pub(super) fn is_at_bar(input: &FilterText<'_>) -> bool {
    let text: &str = *input.input;
    text.strip_prefix('|').is_some_and(|rest| {
        let word = rest.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
        rest.is_empty()
            || rest.starts_with(char::is_whitespace)
            || STAGES.iter().any(|stage| stage.eq_ignore_ascii_case(word))
    })
}

/// The stages behind a filter that has been read.
pub(super) fn stages(filter: Expr, input: &mut FilterText<'_>) -> Parsed<Question> {
    let begun = input.current_token_start();
    let mut question = figures(Filter { root: filter }, input)?;
    while !input.is_empty() {
        bar(input)?;
        let at = input.current_token_start();
        match name(input)?.as_deref() {
            Some("sort") => question.order = order(input)?,
            Some("limit" | "head") => question.limit = Some(whole(input, "how many rows")?),
            _ => return Err(Fault::at(at, "expected sort or limit behind the figures")),
        }
    }
    question.checked().map_err(|problem| Fault::at(begun, problem))
}

/// The first stage, which says what is counted.
fn figures(filter: Filter, input: &mut FilterText<'_>) -> Parsed<Question> {
    bar(input)?;
    let at = input.current_token_start();
    let mut question = Question {
        filter,
        figures: Vec::new(),
        groups: Vec::new(),
        order: Vec::new(),
        limit: None,
    };
    match name(input)?.map(|word| word.to_ascii_lowercase()).as_deref() {
        Some("stats") => {
            question.figures = listed(input, figure)?;
            question.groups = groups(input)?;
        }
        Some("top") => {
            question.limit = Some(opt(number).parse_next(input)?.unwrap_or(TOP_DEFAULT));
            blanks(input)?;
            question.groups = listed(input, group)?;
            question.figures = vec![count()];
            question.order = vec![("count".to_owned(), true)];
        }
        Some("rate") => {
            let step = match opt(duration).parse_next(input)? {
                Some(step) => step,
                None => RATE_STEP_NS,
            };
            blanks(input)?;
            question.groups = vec![Group::Time(step)];
            question.groups.extend(groups(input)?);
            let rate = Figure { function: Function::Rate(step), of: None, name: "rate".to_owned() };
            question.figures = vec![count(), rate];
        }
        _ => {
            let problem = "expected stats, top or rate behind the bar (`or` stands between terms of a \
                           filter, and a text needs quotes)";
            return Err(Fault::at(at, problem));
        }
    }
    Ok(question)
}

fn count() -> Figure {
    Figure { function: Function::Count, of: None, name: "count".to_owned() }
}

fn bar(input: &mut FilterText<'_>) -> Parsed<()> {
    if opt('|').parse_next(input)?.is_none() {
        return Err(Fault::expected("a bar, a comma or the end", input).cut());
    }
    blanks(input)
}

/// A plain name with the blanks behind it.
fn name(input: &mut FilterText<'_>) -> Parsed<Option<String>> {
    let found = opt(take_while(1.., is_name_char)).parse_next(input)?;
    blanks(input)?;
    Ok(found.map(|name: &str| name.to_owned()))
}

/// Things with commas between them; one at least.
fn listed<'i, T>(
    input: &mut FilterText<'i>,
    one: fn(&mut FilterText<'i>) -> Parsed<T>,
) -> Parsed<Vec<T>> {
    let mut all = vec![one(input)?];
    while opt((',', blanks)).parse_next(input)?.is_some() {
        if all.len() == COLUMNS_MAX {
            let problem = format!("more than {COLUMNS_MAX} columns");
            return Err(Fault::at(input.current_token_start(), problem));
        }
        all.push(one(input)?);
    }
    Ok(all)
}

/// `count`, `p95(took) as slow`.
fn figure(input: &mut FilterText<'_>) -> Parsed<Figure> {
    let at = input.current_token_start();
    let known = "count, distinct, sum, avg, min, max, median or a percentile such as p95";
    let Some(word) = name(input)? else {
        return Err(Fault::expected(known, input).cut());
    };
    let function = Function::of_name(&word);
    let Some(function) = function else {
        return Err(Fault::at(at, format!("'{word}' is no figure: expected {known}")));
    };
    let mut of = None;
    if opt(('(', blanks)).parse_next(input)?.is_some() {
        of = field(input)?;
        if opt((')', blanks)).parse_next(input)?.is_none() {
            return Err(Fault::expected("\")\" behind the field", input).cut());
        }
    }
    if of.is_none() && function != Function::Count {
        let problem = format!("{word} needs a field, as in {word}(took)");
        return Err(Fault::at(at, problem));
    }
    let named = match is_at_word(input, "as") {
        false => None,
        true => {
            name(input)?;
            match field(input)? {
                Some(target) => Some(name_of(&target)),
                None => return Err(Fault::expected("a name behind `as`", input).cut()),
            }
        }
    };
    let usual = || match &of {
        Some(of) => format!("{function}({})", name_of(of)),
        None => function.to_string(),
    };
    Ok(Figure { name: named.unwrap_or_else(usual), function, of })
}

/// `by host, level, time(5m)`, or nothing.
fn groups(input: &mut FilterText<'_>) -> Parsed<Vec<Group>> {
    if !is_at_word(input, "by") {
        return Ok(Vec::new());
    }
    name(input)?;
    listed(input, group)
}

fn group(input: &mut FilterText<'_>) -> Parsed<Group> {
    let Some(target) = field(input)? else {
        return Err(Fault::expected("a field", input).cut());
    };
    let name = name_of(&target);
    let is_stretch = name.eq_ignore_ascii_case("time") || name.eq_ignore_ascii_case("bin");
    if is_stretch && opt(('(', blanks)).parse_next(input)?.is_some() {
        let step = duration(input)?;
        blanks(input)?;
        if opt((')', blanks)).parse_next(input)?.is_none() {
            return Err(Fault::expected("\")\" behind how long a stretch is", input).cut());
        }
        return Ok(Group::Time(step));
    }
    Ok(if name == "log" { Group::Log } else { Group::Field(target) })
}

/// A part of entries, by its name or by one in backquotes; `None` where no name stands.
fn field(input: &mut FilterText<'_>) -> Parsed<Option<Target>> {
    if let Some(name) = opt(quoted('`')).parse_next(input)? {
        blanks(input)?;
        return Ok(Some(Target::Field(name.into())));
    }
    Ok(name(input)?.map(|name| Target::of_name(&name)))
}

/// `count desc, host` or `-count`.
fn order(input: &mut FilterText<'_>) -> Parsed<Vec<(String, bool)>> {
    if is_at_word(input, "by") {
        name(input)?;
    }
    listed(input, |input| {
        let is_turned = opt('-').parse_next(input)?.is_some();
        let Some(column) = column(input)? else {
            return Err(Fault::expected("a column", input).cut());
        };
        let is_said = ["desc", "asc"].into_iter().find(|word| is_at_word(input, word));
        if is_said.is_some() {
            name(input)?;
        }
        Ok((column, is_said.map_or(is_turned, |word| word == "desc")))
    })
}

/// A column of the answer: `p95(took)` is one too.
fn column(input: &mut FilterText<'_>) -> Parsed<Option<String>> {
    let Some(target) = field(input)? else { return Ok(None) };
    let mut column = name_of(&target);
    if opt(('(', blanks)).parse_next(input)?.is_some() {
        let inner = field(input)?.map(|target| name_of(&target)).unwrap_or_default();
        if opt((')', blanks)).parse_next(input)?.is_none() {
            return Err(Fault::expected("\")\" behind the field", input).cut());
        }
        column = format!("{}({inner})", column.to_ascii_lowercase());
    }
    Ok(Some(column))
}

fn is_at_word(input: &FilterText<'_>, word: &str) -> bool {
    let text: &str = *input.input;
    let found = text.split(|c: char| !is_name_char(c)).next().unwrap_or_default();
    found.eq_ignore_ascii_case(word)
}

fn number(input: &mut FilterText<'_>) -> Parsed<u64> {
    let end = alt((eof.void(), one_of(|c| !is_name_char(c)).void()));
    let digits = take_while(1.., |c: char| c.is_ascii_digit());
    (digits, peek(end))
        .map(|(digits, ())| digits)
        .verify_map(|digits: &str| digits.parse().ok())
        .parse_next(input)
}

fn whole(input: &mut FilterText<'_>, what: &str) -> Parsed<u64> {
    let found = opt(number).parse_next(input)?;
    let Some(found) = found else { return Err(Fault::expected(what, input).cut()) };
    blanks(input)?;
    Ok(found)
}

/// A length such as `5m`, in nanoseconds.
fn duration(input: &mut FilterText<'_>) -> Parsed<i64> {
    let at = input.current_token_start();
    let word = preceded(not(one_of(|c: char| !c.is_ascii_digit())), take_while(1.., is_name_char));
    let Some(text) = opt(word).parse_next(input)? else {
        return Err(Fault::expected("a length such as 5m", input));
    };
    let ns = duration_of_text(text).and_then(|length| i64::try_from(length.as_nanos()).ok());
    match ns.filter(|ns| *ns > 0) {
        Some(ns) => Ok(ns),
        None => Err(Fault::at(at, format!("'{text}' is no length such as 30s, 5m, 1h or 1d"))),
    }
}

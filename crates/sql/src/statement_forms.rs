//! Statements of DuckDB's that become queries: `SUMMARIZE table` tells of each column what it holds, and `PIVOT table ON column
//! USING sum(x) GROUP BY y` makes a column of each value that it finds.
//!
//! Both ask first, what columns and what values there are, and then for the query that this makes: at one snapshot.

use datafusion::arrow::array::AsArray;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field};
use futures::StreamExt;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};
use timestrata_engine::{Error, ErrorKind, Result};

use crate::error::{from_datafusion, invalid};
use crate::execution::Execution;
use crate::names::quoted;
use crate::params::Params;
use crate::planning::check_query;
use crate::schema::plain_field;
use crate::statement::begins_form;
use crate::tokens::{byte_at, tokens_of};

/// Values that a pivot makes columns of.
const VALUES_MAX: usize = 1_000;

/// A statement of these.
#[derive(Debug)]
pub(crate) enum AskedForm {
    /// What is summarized, as it stands behind `FROM`.
    Summarize(String),
    Pivot(Pivot),
}

/// The parts of a `PIVOT`, as they are written.
#[derive(Debug, Default)]
pub(crate) struct Pivot {
    from: String,
    on: String,
    values: Option<String>,
    using: Vec<String>,
    group_by: Option<String>,
    /// `ORDER BY`, `LIMIT` and what else follows.
    rest: String,
}

impl AskedForm {
    /// The statement, if it is one of these.
    ///
    /// # Errors
    /// `InvalidArgument` for one that is not whole.
    pub(crate) fn of(sql: &str) -> Result<Option<Self>> {
        let first = sql.trim_start().split(|sign: char| !sign.is_alphanumeric()).next();
        if !first.is_some_and(begins_form) {
            return Ok(None);
        }
        let parts = Parts { text: sql, tokens: tokens_of(sql)? };
        let Some((Token::Word(word), _)) = parts.written().next() else { return Ok(None) };
        Ok(Some(match word.value.eq_ignore_ascii_case("SUMMARIZE") {
            true => Self::Summarize(parts.summarized()?),
            false => Self::Pivot(parts.pivot()?),
        }))
    }

    /// The query that it is.
    pub(crate) async fn query(&self, execution: &Execution, params: &Params) -> Result<String> {
        match self {
            Self::Summarize(from) => summary(execution, from, params),
            Self::Pivot(pivot) => pivot.query(execution, params).await,
        }
    }
}

/// A statement by its words.
struct Parts<'a> {
    text: &'a str,
    tokens: Vec<TokenWithSpan>,
}

impl Parts<'_> {
    /// Its words and signs, and where they stand.
    fn written(&self) -> impl Iterator<Item = (&Token, usize)> {
        let all = self.tokens.iter().enumerate();
        let written = all.filter(|(_, token)| {
            !matches!(token.token, Token::Whitespace(_) | Token::SemiColon | Token::EOF)
        });
        written.map(|(place, token)| (&token.token, place))
    }

    /// What is written from one token to before another.
    fn between(&self, from: usize, to: usize) -> String {
        let place = |index: usize| match self.tokens.get(index) {
            Some(token) => byte_at(self.text, token.span.start),
            None => self.text.len(),
        };
        let text = self.text.get(place(from)..place(to)).unwrap_or_default();
        text.trim().trim_end_matches(';').trim().to_owned()
    }

    fn summarized(&self) -> Result<String> {
        let Some((second, place)) = self.written().nth(1) else {
            return Err(invalid("SUMMARIZE takes a table or a query"));
        };
        let rest = self.between(place, self.tokens.len());
        let is_query = matches!(second, Token::Word(word) if matches!(word.keyword, Keyword::SELECT | Keyword::WITH | Keyword::FROM | Keyword::VALUES));
        Ok(if is_query { format!("({rest})") } else { rest })
    }

    fn pivot(&self) -> Result<Pivot> {
        const WORDS: [Keyword; 6] = [
            Keyword::ON,
            Keyword::IN,
            Keyword::USING,
            Keyword::GROUP,
            Keyword::ORDER,
            Keyword::LIMIT,
        ];
        let (mut depth, mut marks, mut commas) = (0_usize, Vec::new(), Vec::new());
        for (token, place) in self.written().skip(1) {
            match token {
                Token::LParen | Token::LBracket => depth += 1,
                Token::RParen | Token::RBracket => depth = depth.saturating_sub(1),
                Token::Comma if depth == 0 => commas.push(place),
                Token::Word(word) if depth == 0 && WORDS.contains(&word.keyword) => {
                    marks.push((word.keyword, place));
                }
                _ => {}
            }
        }
        let first = self.written().nth(1).map_or(self.tokens.len(), |(_, place)| place);
        let end_of = |index: usize| marks.get(index).map_or(self.tokens.len(), |(_, place)| *place);
        let mut pivot = Pivot { from: self.between(first, end_of(0)), ..Pivot::default() };
        for (index, (keyword, place)) in marks.iter().enumerate() {
            let (from, to) = (place + 1, end_of(index + 1));
            match keyword {
                Keyword::ON => pivot.on = self.between(from, to),
                Keyword::IN => pivot.values = Some(self.between(from, to)),
                Keyword::USING => {
                    let mut start = from;
                    let own = commas.iter().filter(|comma| (from..to).contains(comma));
                    for comma in own {
                        pivot.using.push(self.between(start, *comma));
                        start = comma + 1;
                    }
                    pivot.using.push(self.between(start, to));
                }
                Keyword::GROUP => {
                    // Behind `BY`.
                    let by =
                        self.written().find(|(_, at)| *at > *place).map_or(to, |(_, at)| at + 1);
                    pivot.group_by = Some(self.between(by, to));
                }
                _ => {
                    pivot.rest = self.between(*place, self.tokens.len());
                    break;
                }
            }
        }
        match pivot.from.is_empty() || pivot.on.is_empty() {
            true => Err(invalid(
                "PIVOT table ON column [IN (values)] [USING sum(x), ...] [GROUP BY columns] is what it takes",
            )),
            false => Ok(pivot),
        }
    }
}

/// The columns of what stands behind `FROM`.
fn columns_of(execution: &Execution, from: &str, params: &Params) -> Result<Vec<Field>> {
    let text = format!("SELECT * FROM {from}");
    let (_, plan) = execution.plan(&text, params.clone())?;
    check_query(&plan)?;
    let fields = plan.schema().fields().iter();
    Ok(fields.map(|field| Field::clone(&plain_field(field))).collect())
}

/// A row for each column. Each reads its own column alone.
fn summary(execution: &Execution, from: &str, params: &Params) -> Result<String> {
    let fields = columns_of(execution, from, params)?;
    if fields.is_empty() {
        return Err(invalid(format!("SUMMARIZE: {from} has no columns")));
    }
    let rows = fields.iter().enumerate().map(|(place, field)| {
        let name = quoted(field.name());
        let as_text = |text: &str| format!("'{}'", text.replace('\'', "''"));
        let null = |of: &str| format!("CAST(NULL AS {of})");
        let is_number = field.data_type().is_numeric();
        let is_nested = field.data_type().is_nested()
            || matches!(field.data_type(), DataType::Null | DataType::Interval(_));
        let text = |what: &str, is_told: bool| match is_told {
            true => format!("CAST({what} AS VARCHAR)"),
            false => null("VARCHAR"),
        };
        let number = |what: &str| match is_number {
            true => format!("CAST({what} AS DOUBLE)"),
            false => null("DOUBLE"),
        };
        let quantile = |part: &str| number(&format!("approx_percentile_cont(CAST({name} AS DOUBLE), {part})"));
        let unique = match is_nested {
            true => null("BIGINT"),
            false => format!("CAST(approx_distinct(CAST({name} AS VARCHAR)) AS BIGINT)"),
        };
        format!(
            "SELECT {place} AS place, {} AS column_name, {} AS column_type, {} AS min, {} AS max, {unique} AS approx_unique, \
             {} AS avg, {} AS std, {} AS q25, {} AS q50, {} AS q75, count(*) AS count, \
             CASE WHEN count(*) = 0 THEN NULL ELSE round(100.0 * (count(*) - count({name})) / count(*), 2) END AS null_percentage \
             FROM {from}{}",
            as_text(field.name()),
            as_text(&field.data_type().to_string()),
            text(&format!("min({name})"), !is_nested),
            text(&format!("max({name})"), !is_nested),
            number(&format!("avg(CAST({name} AS DOUBLE))")),
            number(&format!("stddev(CAST({name} AS DOUBLE))")),
            quantile("0.25"),
            quantile("0.5"),
            quantile("0.75"),
            if from.starts_with('(') { " AS summarized" } else { "" },
        )
    });
    let rows: Vec<String> = rows.collect();
    Ok(format!(
        "SELECT column_name, column_type, min, max, approx_unique, avg, std, q25, q50, q75, count, null_percentage \
         FROM ({}) AS columns ORDER BY place",
        rows.join(" UNION ALL ")
    ))
}

impl Pivot {
    async fn query(&self, execution: &Execution, params: &Params) -> Result<String> {
        let on = &self.on;
        let values = match &self.values {
            Some(values) => self.values_of(execution, params, values).await?,
            None => {
                let text = format!(
                    "SELECT DISTINCT CAST({on} AS VARCHAR) AS v FROM {} WHERE {on} IS NOT NULL ORDER BY v LIMIT {}",
                    self.from,
                    VALUES_MAX + 1
                );
                texts(execution, &text, params).await?
            }
        };
        if values.len() > VALUES_MAX {
            return Err(Error::new(
                ErrorKind::TooLarge,
                format!(
                    "PIVOT ON {on} finds more than {VALUES_MAX} values, each of which were a column: list those that are wanted, IN (...)"
                ),
            ));
        }
        let using = match self.using.is_empty() {
            true => vec!["count(*)".to_owned()],
            false => self.using.clone(),
        };
        let mut columns = Vec::new();
        for value in &values {
            for aggregate in &using {
                let (call, name) = split_alias(aggregate)?;
                let name = match using.len() {
                    1 => value.clone(),
                    _ => format!("{value}_{}", name.unwrap_or(call.as_str())),
                };
                let literal = value.replace('\'', "''");
                columns.push(format!(
                    "{call} FILTER (WHERE CAST({on} AS VARCHAR) = '{literal}') AS {}",
                    quoted(&name)
                ));
            }
        }
        let groups = self.groups(execution, params, &using)?;
        let all: Vec<String> = groups.iter().cloned().chain(columns).collect();
        let by = if groups.is_empty() {
            String::new()
        } else {
            format!(" GROUP BY {}", groups.join(", "))
        };
        let order = match self.rest.to_ascii_uppercase().starts_with("ORDER") {
            true => String::new(),
            false if groups.is_empty() => String::new(),
            false => {
                let places = (1..=groups.len()).map(|place| place.to_string());
                format!(" ORDER BY {}", places.collect::<Vec<_>>().join(", "))
            }
        };
        Ok(format!("SELECT {} FROM {}{by}{order} {}", all.join(", "), self.from, self.rest))
    }

    /// What rows are for: what is said, or all columns that are read by nothing else.
    fn groups(
        &self,
        execution: &Execution,
        params: &Params,
        using: &[String],
    ) -> Result<Vec<String>> {
        if let Some(groups) = &self.group_by {
            return Ok(vec![groups.clone()]);
        }
        let read: Vec<String> = using
            .iter()
            .chain([&self.on])
            .map(|text| words_of(text))
            .collect::<Result<Vec<_>>>()?
            .concat();
        let fields = columns_of(execution, &self.from, params)?;
        let groups = fields.iter().filter(|field| !read.contains(&field.name().to_lowercase()));
        Ok(groups.map(|field| quoted(field.name())).collect())
    }

    /// The values that a list names, as text.
    async fn values_of(
        &self,
        execution: &Execution,
        params: &Params,
        values: &str,
    ) -> Result<Vec<String>> {
        let inner = values.trim().strip_prefix('(').and_then(|text| text.strip_suffix(')'));
        let Some(inner) = inner else {
            return Err(invalid("PIVOT ... IN takes values in parentheses"));
        };
        let text = format!("SELECT CAST(v AS VARCHAR) AS v FROM (SELECT unnest([{inner}]) AS v)");
        texts(execution, &text, params).await
    }
}

/// All words of an expression, in lower case.
fn words_of(text: &str) -> Result<Vec<String>> {
    let tokens = tokens_of(text)?;
    let words = tokens.iter().filter_map(|token| match &token.token {
        Token::Word(word) => Some(word.value.to_lowercase()),
        _ => None,
    });
    Ok(words.collect())
}

/// An aggregate, and what it is called.
fn split_alias(aggregate: &str) -> Result<(String, Option<&str>)> {
    let tokens = tokens_of(aggregate)?;
    let (mut depth, mut alias) = (0_usize, None);
    for token in &tokens {
        match &token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            Token::Word(word) if depth == 0 && word.keyword == Keyword::AS => {
                alias = Some(byte_at(aggregate, token.span.start));
            }
            _ => {}
        }
    }
    Ok(match alias {
        Some(at) => {
            let name = aggregate.get(at + 2..).unwrap_or_default().trim().trim_matches('"');
            (aggregate.get(..at).unwrap_or_default().trim().to_owned(), Some(name))
        }
        None => (aggregate.to_owned(), None),
    })
}

/// The texts of a query with one column.
async fn texts(execution: &Execution, sql: &str, params: &Params) -> Result<Vec<String>> {
    let (planning, plan) = execution.plan(sql, params.clone())?;
    let Some(query) = &execution.query else {
        return Err(Error::new(ErrorKind::Cancelled, "nobody asks"));
    };
    let mut rows = execution.run_part(&planning.state, &plan, query).await?;
    let mut found = Vec::new();
    while let Some(batch) = rows.next().await {
        let batch = batch.map_err(from_datafusion)?;
        let column = cast(batch.column(0), &DataType::Utf8)
            .map_err(|error| from_datafusion(error.into()))?;
        found.extend(column.as_string::<i32>().iter().flatten().map(str::to_owned));
    }
    Ok(found)
}

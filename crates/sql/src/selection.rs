//! Rows of one table, asked for in parts: a range, columns, a condition, an order. For callers who
//! have these and no statement.

use std::ops::ControlFlow;

use datafusion::arrow::datatypes::DataType;
use sqlparser::ast::{Query, Select};
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;
use timestrata_engine::{KeyRange, LeadKey, Result};

use crate::dialect::StandardPrecedence;
use crate::error::invalid;
use crate::names::quoted;
use crate::params::Params;
use crate::rewrite::{Rewriter, rewrite};
use crate::schema::SqlTable;
use crate::statement::{parse, parsed_in};

/// Which rows of a table are wanted, and how.
///
/// ```
/// use timestrata_sql::Selection;
/// # use timestrata_engine::{Settings, Store};
/// # use timestrata_sql::{Params, Sql, SqlOptions};
/// # fn main() -> timestrata_engine::Result<()> {
/// let store = Store::memory(Settings::default())?;
/// let sql = Sql::open(&store, SqlOptions::default())?;
/// sql.query_blocking("CREATE TABLE t (time TIMESTAMP NOT NULL, n BIGINT)", Params::none())?;
/// let insert = "INSERT INTO t VALUES ('2024-05-01', 1), ('2024-05-02', 2), ('2024-05-03', 3)";
/// sql.query_blocking(insert, Params::none())?;
///
/// let condition = Some("n > 1".to_owned());
/// let selection = Selection { condition, limit: Some(1), ..Selection::default() };
/// let mut rows = sql.select_blocking("t", &selection)?;
/// assert_eq!(rows.next().transpose()?.map(|batch| batch.num_rows()), Some(1));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Leading keys wanted; default all.
    pub range: KeyRange,
    /// Columns wanted, in this order; default all.
    pub columns: Option<Vec<String>>,
    /// A condition as behind `WHERE`.
    pub condition: Option<String>,
    /// What to order by, as behind `ORDER BY`; default: by key.
    pub order: Option<String>,
    /// Rows wanted at most.
    pub limit: Option<usize>,
    /// Rows left out first.
    pub offset: usize,
    /// Values for placeholders in the condition.
    pub params: Params,
}

impl Selection {
    /// The query that it is.
    pub(crate) fn statement(&self, table: &SqlTable) -> Result<String> {
        let columns = match &self.columns {
            None => "*".to_owned(),
            Some(names) if names.is_empty() => return Err(invalid("no column was asked for")),
            Some(names) => names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", "),
        };
        let mut text = format!("SELECT {columns} FROM {}", quoted(&table.name));
        text += &self.clauses(bounds(table, &self.range)?, &quoted(lead(table)?.name()))?;
        if let Some(limit) = self.limit {
            text += &format!(" LIMIT {limit}");
        }
        if self.offset > 0 {
            text += &format!(" OFFSET {}", self.offset);
        }
        Ok(text)
    }

    /// What picks rows and puts them in order: these conditions and its own, its order or this one.
    fn clauses(&self, mut conditions: Vec<String>, by_key: &str) -> Result<String> {
        if let Some(condition) = &self.condition {
            conditions.push(format!("({})", condition_of(condition)?));
        }
        let picked = match conditions.is_empty() {
            true => String::new(),
            false => format!(" WHERE {}", conditions.join(" AND ")),
        };
        let order = self.order.as_deref().map(order_of).transpose()?;
        Ok(format!("{picked} ORDER BY {}", order.as_deref().unwrap_or(by_key)))
    }

    /// Whether its condition or its order holds a query of its own, which may read any table. For callers who ask for
    /// somebody that may read this one only.
    ///
    /// ```
    /// use timestrata_sql::Selection;
    ///
    /// # fn main() -> timestrata_engine::Result<()> {
    /// let of = |condition: &str| Selection { condition: Some(condition.to_owned()), ..Selection::default() };
    /// assert!(!of("EXTRACT(year FROM time) = 2024").holds_query()?);
    /// assert!(of("n = (SELECT max(n) FROM others)").holds_query()?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `InvalidArgument` for what is no condition or no order.
    pub fn holds_query(&self) -> Result<bool> {
        // As it is planned: of a statement that was written from what was read.
        let text = format!("SELECT * FROM t{}", self.clauses(Vec::new(), "1")?);
        let mut statement = parse(&text, usize::MAX)?;
        let mut counted = CountedQueries::default();
        parsed_in(&mut statement).into_iter().for_each(|parsed| rewrite(parsed, &mut counted));
        Ok(counted != CountedQueries { queries: 1, selects: 1 })
    }
}

/// How many queries a statement has, and how many parts of them that read tables.
#[derive(Debug, Default, PartialEq, Eq)]
struct CountedQueries {
    queries: usize,
    selects: usize,
}

impl Rewriter for CountedQueries {
    fn enter_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.queries += 1;
        ControlFlow::Continue(())
    }

    fn enter_select(&mut self, _: &mut Select) -> ControlFlow<()> {
        self.selects += 1;
        ControlFlow::Continue(())
    }
}

/// The statement that deletes the rows that a condition means.
pub(crate) fn deletion(table: &SqlTable, condition: &str) -> Result<String> {
    Ok(format!("DELETE FROM {} WHERE {}", quoted(&table.name), condition_of(condition)?))
}

/// The leading key's column.
fn lead(table: &SqlTable) -> Result<&datafusion::arrow::datatypes::Field> {
    let stored = table.stream.schema().field(table.stream.lead_column());
    let shown = table.schema.field_with_name(stored.name());
    shown.map_err(|_| invalid(format!("table '{}' doesn't show its leading key", table.name)))
}

/// A range of leading keys, as conditions.
fn bounds(table: &SqlTable, range: &KeyRange) -> Result<Vec<String>> {
    let mut conditions = Vec::new();
    for (key, operator) in [(range.lo, ">="), (range.hi, "<")] {
        let Some(key) = key else { continue };
        let field = lead(table)?;
        let value = match (key, field.data_type()) {
            (LeadKey::Time(time), DataType::Timestamp(_, _)) => {
                format!("arrow_cast({time}, '{}')", field.data_type())
            }
            (LeadKey::Time(time), _) => time.to_string(),
            (LeadKey::Offset(offset), _) => offset.to_string(),
            _ => return Err(invalid("a range is of times or of offsets")),
        };
        conditions.push(format!("{} {operator} {value}", quoted(field.name())));
    }
    Ok(conditions)
}

/// One condition, and nothing behind it, as the parser understood it.
fn condition_of(text: &str) -> Result<String> {
    parsed(text, "a condition", |parser| parser.parse_expr()).map(|condition| condition.to_string())
}

fn order_of(text: &str) -> Result<String> {
    let order = parsed(text, "an order", |parser| {
        parser.parse_comma_separated(Parser::parse_order_by_expr)
    })?;
    Ok(order.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
}

fn parsed<T>(
    text: &str,
    what: &str,
    parse: impl FnOnce(&mut Parser<'_>) -> std::result::Result<T, ParserError>,
) -> Result<T> {
    let shown: String = text.chars().take(80).collect();
    let wrong = |why: String| invalid(format!("{shown:?} is not {what}: {why}"));
    let mut parser =
        Parser::new(&StandardPrecedence).try_with_sql(text).map_err(|e| wrong(e.to_string()))?;
    let found = parse(&mut parser).map_err(|error| wrong(error.to_string()))?;
    match parser.peek_token().token {
        Token::EOF => Ok(found),
        other => Err(wrong(format!("there is '{other}' behind it"))),
    }
}

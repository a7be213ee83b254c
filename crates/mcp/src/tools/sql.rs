//! `sql`: one query over all models.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use timestrata::sql::Params;

use super::arguments;
use crate::asked::Asked;
use crate::cells::Columns;
use crate::failure::{Failure, Result};
use crate::room::{Cut, Room};
use crate::tool::Tool;

/// Rows of an answer where nobody says how many.
const ROWS_DEFAULT: usize = 100;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SqlArguments {
    /// One statement: SELECT, EXPLAIN, SHOW TABLES or DESCRIBE.
    query: String,
    /// Rows wanted at most; default 100. Better aggregate in the query than ask for many.
    limit: Option<u32>,
    /// How long it may take, such as '10s'.
    timeout: Option<String>,
    /// The store as it was: a commit's number, 'pin=NAME' or a time. Default: now.
    at: Option<String>,
}

arguments!(SqlArguments, timeout);

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct SqlAnswer {
    /// Name and type of each column.
    pub(super) columns: Vec<(String, String)>,
    /// The rows, each a list of cells in the order of the columns.
    pub(super) rows: Vec<Value>,
    /// What was left out, and how to get it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) cut: Vec<Cut>,
}

pub(super) struct SqlQuery;

impl Tool for SqlQuery {
    const NAME: &'static str = "sql";
    const TITLE: &'static str = "Query in SQL";
    const DESCRIPTION: &'static str = "\
Ask one read-only SQL query over all streams of the store at one instant; joins across models are fine. The dialect \
is that of Apache DataFusion (like PostgreSQL). 'schema' tells tables and columns; names with capitals, '-' or '/' \
want double quotes. For time: time_bucket(INTERVAL '1 hour', time), first(value, time), last(value, time), and the \
table functions asof_join, gap_fill, latest_on. Filter by the time column where you can: it is what rows are sorted \
by. Example: {\"query\": \"SELECT time_bucket(INTERVAL '1 hour', time) AS hour, avg(celsius) AS mean FROM rooms \
WHERE time >= '2024-05-01' GROUP BY hour ORDER BY hour\"}";
    type Arguments = SqlArguments;
    type Answer = SqlAnswer;

    fn answer(arguments: SqlArguments, asked: &Asked) -> Result<SqlAnswer> {
        let room = asked.room(arguments.limit, ROWS_DEFAULT);
        let answer = rows_of(&arguments.query, room, asked)?;
        if answer.rows.is_empty() && !answer.cut.is_empty() && arguments.limit != Some(0) {
            let most = asked.bounds.bytes_max;
            let message = format!("one row alone takes more than the {most} bytes of an answer");
            return Err(Failure::new(message, "select fewer columns"));
        }
        Ok(answer)
    }
}

/// The first rows of a query, as many as there is room for.
pub(super) fn rows_of(query: &str, mut room: Room, asked: &Asked) -> Result<SqlAnswer> {
    let mut result = asked.sql().query_blocking(query, Params::none())?;
    let schema = result.schema();
    let columns = schema.fields().iter();
    let columns =
        columns.map(|field| (field.name().clone(), field.data_type().to_string())).collect();
    let mut rows = Vec::new();
    'rows: for batch in &mut result {
        let batch = batch?;
        let mut cells = Columns::of(&batch);
        for row in 0..batch.num_rows() {
            let mut row = cells.row(row);
            if !room.takes(&mut row) {
                break 'rows;
            }
            rows.push(row);
        }
        asked.check()?;
    }
    let more =
        "aggregate, narrow the WHERE, select fewer columns, or go on with ORDER BY and OFFSET";
    let cut = room.cuts("rows", more, "select substr(column, from, length) of it");
    Ok(SqlAnswer { columns, rows, cut })
}

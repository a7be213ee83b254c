//! `GET /tables/{table}/query`: rows in time order.

use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use timestrata_engine::{KeyRange, LeadKey, RunningQuery};
use timestrata_sql::Selection;
use timestrata_table::{TableScan, TableView, parse_time, without_first};
use tokio::runtime::Handle;

use crate::answer::{self, AnswerForm, AnswerRows};
use crate::auth::{Caller, Right};
use crate::endpoint::{Form, Parameter, parameter};
use crate::error::{Failure, Result};
use crate::moments::Reading;
use crate::query_task::run_query;
use crate::routes::asked::Asked;
use crate::routes::named::Named;
use crate::state::AppState;

/// Rows of an answer where nobody says how many.
const ROWS_DEFAULT: usize = 1000;
/// Rows that are read where the request is: another thread takes longer to wake than these to read.
const ROWS_AT_ONCE: usize = 1000;

/// What may stand behind the path.
pub(super) const PARAMETERS: &[Parameter] = &[
    parameter("from", Form::Time, "The first time of the range"),
    parameter("to", Form::Time, "The first time behind the range"),
    parameter("start", Form::Time, "Another name of `from`"),
    parameter("end", Form::Time, "Another name of `to`"),
    parameter("end_inclusive", Form::Truth, "true: rows at the end are in the range"),
    parameter("limit", Form::Limit, "How many rows at most; none: all, as CSV or Arrow"),
    parameter("offset", Form::Number(u64::MAX), "How many rows to leave out first"),
    parameter("columns", Form::Names, "Names, with commas between"),
    parameter("where", Form::Text, "A condition in SQL"),
    parameter("order", Form::Text, "asc, desc, or expressions as they stand behind ORDER BY"),
    parameter("timeout", Form::Duration, "The longest time that it may be worked on"),
];

#[derive(Debug)]
struct QueryParameters {
    start: Option<String>,
    end: Option<String>,
    end_inclusive: bool,
    limit: Option<String>,
    offset: usize,
    columns: Option<String>,
    condition: Option<String>,
    order: Option<String>,
    timeout: Option<String>,
}

impl QueryParameters {
    fn of(mut asked: Asked) -> Result<Self> {
        let of = Self {
            start: asked.take_either("from", "start")?,
            end: asked.take_either("to", "end")?,
            end_inclusive: asked.truth("end_inclusive")?.unwrap_or(false),
            limit: asked.take("limit")?,
            offset: asked.number("offset", 0, usize::MAX)?,
            columns: asked.take("columns")?,
            condition: asked.take("where")?,
            order: asked.take("order")?,
            timeout: asked.take("timeout")?,
        };
        asked.finish()?;
        Ok(of)
    }

    fn limit(&self, form: AnswerForm, rows_max: usize) -> Result<Option<usize>> {
        match self.limit.as_deref() {
            None => Ok(Some(ROWS_DEFAULT)),
            Some("none") if form.is_streamed() => Ok(None),
            Some(text) => {
                let limit: usize = text.parse().map_err(|_| {
                    Failure::bad_request(format!(
                        "limit={text}: it must be a number of rows, or 'none' for CSV and Arrow"
                    ))
                })?;
                if limit > rows_max && !form.is_streamed() {
                    return Err(Failure::bad_request(format!(
                        "limit={limit}: an answer in this form has at most {rows_max} rows \
                         (rows_max); CSV and Arrow have no bound"
                    )));
                }
                Ok(Some(limit))
            }
        }
    }

    fn range(&self, view: &TableView) -> Result<KeyRange> {
        let data_type = view.schema().field(view.stream().lead_column()).data_type();
        let time = |text: &Option<String>| {
            text.as_deref().map(|text| parse_time(text, data_type)).transpose()
        };
        let (start, end) = (time(&self.start)?, time(&self.end)?);
        if let (Some(start), Some(end)) = (start, end)
            && start > end
        {
            return Err(Failure::bad_request("the range ends before it begins"));
        }
        // The greatest time has no successor, and as an inclusive end is no bound.
        let end = match end {
            Some(end) if self.end_inclusive => end.checked_add(1),
            end => end,
        };
        Ok(KeyRange::new(start.map(LeadKey::Time), end.map(LeadKey::Time)))
    }

    fn columns(&self) -> Option<Vec<String>> {
        let list = self.columns.as_deref()?;
        Some(list.split(',').map(|name| name.trim().to_owned()).collect())
    }

    /// Whether what they say in SQL could read another table.
    fn holds_query(&self) -> Result<bool> {
        let order = self.order.clone().filter(|_| self.is_reverse().is_none());
        let selection =
            Selection { condition: self.condition.clone(), order, ..Selection::default() };
        Ok(selection.holds_query()?)
    }

    /// Whether newest rows come first; `None` for an order that is not by time.
    fn is_reverse(&self) -> Option<bool> {
        match self.order.as_deref() {
            None | Some("asc") => Some(false),
            Some("desc") => Some(true),
            Some(_) => None,
        }
    }
}

pub(super) async fn query(
    caller: Caller,
    Reading(state): Reading,
    Named(name): Named<String>,
    asked: Asked,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response> {
    let form = AnswerForm::accepted(&headers)?;
    let asked = QueryParameters::of(asked)?;
    if !caller.may(Right::Read, None) && asked.holds_query()? {
        caller.expect(Right::Read, None)?;
    }
    let limit = asked.limit(form, state.config.rows_max)?;
    let query = state.begin(&format!("GET {uri}"), asked.timeout.as_deref())?;
    let reverse = match (asked.is_reverse(), &asked.condition) {
        (Some(reverse), None) => reverse,
        _ => return selected(state, name, asked, form, limit, query).await,
    };
    let limit = limit.map(|limit| limit.saturating_add(asked.offset));
    let is_short = !form.is_streamed() && limit.is_some_and(|limit| limit <= ROWS_AT_ONCE);
    let asker = query.clone();
    let work = move || {
        let view = state.table(&name)?.view()?.for_query(&asker);
        let (range, columns) = (asked.range(&view)?, asked.columns());
        let scan = TableScan { range, columns, limit, reverse, ..TableScan::default() };
        let scan = view.scan(&scan)?;
        let schema = scan.schema();
        let batches = Box::new(without_first(scan, asked.offset));
        let rows = AnswerRows { schema, batches, query: Some(asker) };
        answer::of_rows(&state, form, rows)
    };
    if is_short { work() } else { run_query(&Handle::current(), &query, work).await }
}

/// The rows that a condition picks, or in another order than that of time.
async fn selected(
    state: AppState,
    name: String,
    asked: QueryParameters,
    form: AnswerForm,
    limit: Option<usize>,
    query: RunningQuery,
) -> Result<Response> {
    let view = state.table(&name)?.view()?;
    let order = match asked.order.clone() {
        Some(order) if asked.is_reverse().is_none() => order,
        _ => {
            let time = view.schema().field(view.stream().lead_column()).name().replace('"', "\"\"");
            let direction = if asked.is_reverse() == Some(true) { "DESC" } else { "ASC" };
            format!("\"{time}\" {direction}")
        }
    };
    let selection = Selection {
        range: asked.range(&view)?,
        columns: asked.columns(),
        condition: asked.condition.clone(),
        order: Some(order),
        limit,
        offset: asked.offset,
        ..Selection::default()
    };
    let snapshot = view.snapshot().clone();
    super::sql::answered(state, form, query, move |sql| {
        sql.at_snapshot(snapshot).select_blocking(&name, &selection)
    })
    .await
}

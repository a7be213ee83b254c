//! `GET /logs/{name}/count`, `/histogram`, `/facets` and `/stats`: how many entries a query wants, when, with
//! which values, and figures of them.

use axum::response::Response;
use serde_json::{Map, Value, json};
use timestrata_engine::{RunningQuery, duration_of_text};
use timestrata_logs::filter::Question as LogsQuestion;
use timestrata_logs::{AskedLog, Bucket, Facet, FacetsOptions, Level, LogsView};
use timestrata_sql::Params;
use timestrata_table::time_text;
use tokio::runtime::Handle;

use super::parameters::LogRequest;
use crate::answer::AnswerForm;
use crate::error::{Failure, Result, success};
use crate::query_task::run_query;
use crate::routes::asked::refuse;
use crate::routes::sql::answered;
use crate::state::AppState;

/// Values of a field that are given where nobody says how many, and at most.
const VALUES_DEFAULT: usize = 10;
const VALUES_MAX: usize = 10_000;

/// What `work` makes of a log as it is now.
async fn read(
    (state, name, query): (AppState, String, RunningQuery),
    work: impl FnOnce(&LogsView) -> Result<Response> + Send + 'static,
) -> Result<Response> {
    state.metrics.log_searches.inc();
    let asker = query.clone();
    run_query(&Handle::current(), &query, move || {
        work(&state.logs(&name)?.snapshot()?.for_query(&asker))
    })
    .await
}

pub(super) async fn count(mut request: LogRequest) -> Result<Response> {
    let query = request.asked.query()?;
    read(request.begin()?, move |view| {
        let count = view.count(&query)?;
        Ok(success(json!({ "count": count })))
    })
    .await
}

pub(super) async fn histogram(mut request: LogRequest) -> Result<Response> {
    let query = request.asked.query()?;
    let step = request.asked.take("step")?;
    let begun = request.begin()?;
    let step = step.as_deref().map(step_ns).transpose()?;
    read(begun, move |view| {
        let (step, buckets) = view.histogram(&query, step)?;
        let buckets: Vec<_> = buckets.iter().map(bucket_json).collect();
        Ok(success(json!({ "step_ns": step, "buckets": buckets })))
    })
    .await
}

fn step_ns(text: &str) -> Result<i64> {
    let step = duration_of_text(text).filter(|step| !step.is_zero());
    let step = step.and_then(|step| i64::try_from(step.as_nanos()).ok());
    step.ok_or_else(|| refuse("step", text, "it must be a duration such as 1m"))
}

/// A bucket, with those levels that have hits.
fn bucket_json(bucket: &Bucket) -> Value {
    let levels = Level::ALL.iter().zip(bucket.levels).filter(|(_, count)| *count > 0);
    let levels: Map<_, _> =
        levels.map(|(level, count)| (level.name().to_owned(), json!(count))).collect();
    json!({ "start": time_text(bucket.start), "count": bucket.count, "levels": levels })
}

pub(super) async fn facets(mut request: LogRequest) -> Result<Response> {
    let query = request.asked.query()?;
    let options = FacetsOptions {
        fields: request.asked.names("fields")?,
        values_max: request.asked.number("values", VALUES_DEFAULT, VALUES_MAX)?,
    };
    read(request.begin()?, move |view| {
        let facets = view.facets(&query, &options)?;
        Ok(success(facets.iter().map(facet_json).collect()))
    })
    .await
}

/// Rows that answer a question: a filter with stages behind it.
pub(super) async fn stats(mut request: LogRequest) -> Result<Response> {
    let form = AnswerForm::accepted(&request.headers)?;
    let question = request.asked.take("filter")?.unwrap_or_default();
    let question: LogsQuestion = question
        .parse()
        .map_err(|error: timestrata_engine::Error| Failure::bad_request(error.to_string()))?;
    let range = request.asked.query()?;
    let (state, name, running) = request.begin()?;
    state.metrics.log_searches.inc();
    let clock = state.logs(&name)?.snapshot()?.clock();
    let statement = question.statement(&[AskedLog { name: &name, clock }], &range);
    answered(state, form, running, move |sql| sql.query_blocking(&statement, Params::none())).await
}

fn facet_json(facet: &Facet) -> Value {
    let value = |(value, count): &(String, u64)| json!({ "value": value, "count": count });
    let values: Vec<_> = facet.values.iter().map(value).collect();
    let (field, count, others) = (&facet.field, facet.count, facet.others);
    json!({ "field": field, "count": count, "values": values, "others": others })
}

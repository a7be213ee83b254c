//! `GET`, `PUT` and `PATCH /logs/{name}`: what a log is made as, and what of it can be changed.

use axum::response::Response;
use serde_json::{Value, json};
use timestrata_engine::{Retention, RunCompression};
use timestrata_logs::{Clock, Logs, LogsOptions};

use crate::endpoint::{Form, Parameter, parameter};
use crate::error::{Result, success};
use crate::routes::asked::Question;
use crate::routes::parameters::Members;
use crate::state::blocking;

pub(super) const OPTIONS: &[Parameter] = &[
    parameter("clock", Form::OneOf(&["timestamp", "source_time"]), "Which clock queries go by"),
    parameter("message_bytes_max", Form::Number(8 << 20), "Most bytes of a message"),
    parameter("columns_max", Form::Number(64), "Most fields that get columns of their own"),
    parameter("compression", Form::Text, "zstd, zstd:LEVEL, lz4 or none"),
    parameter("retention_age", Form::Any, "Seconds, or a duration such as \"30d\"; null: any age"),
    parameter("retention_bytes", Form::Any, "Bytes; null: any number"),
];

/// Takes over what a body says. What is named as null has no bound; what is not named stays.
fn read_options(members: &mut Members, before: LogsOptions) -> Result<LogsOptions> {
    let kept = before.retention.unwrap_or_default();
    let retention = Retention {
        age_ns: match members.has("retention_age") {
            true => members.duration_ns("retention_age")?,
            false => kept.age_ns,
        },
        bytes: match members.has("retention_bytes") {
            true => members.number("retention_bytes")?,
            false => kept.bytes,
        },
    };
    let clocks = [("timestamp", Clock::Timestamp), ("source_time", Clock::SourceTime)];
    let compression = members.text("compression")?;
    let compression = compression.map(|text| text.parse::<RunCompression>()).transpose()?;
    Ok(LogsOptions {
        message_bytes_max: members.number("message_bytes_max")?.unwrap_or(before.message_bytes_max),
        columns_max: members.number("columns_max")?.unwrap_or(before.columns_max),
        retention: Some(retention),
        clock: members.word("clock", &clocks)?.or(before.clock),
        compression: compression.or(before.compression),
    })
}

pub(super) async fn describe(question: Question) -> Result<Response> {
    let (state, name) = question.named()?;
    blocking(move || Ok(success(described(&state.logs(&name)?)?))).await
}

pub(super) async fn create(question: Question, mut members: Members) -> Result<Response> {
    let (state, name) = question.named()?;
    let options = read_options(&mut members, LogsOptions::default())?;
    blocking(move || Ok(success(described(&Logs::create(&state.store, &name, &options)?)?))).await
}

pub(super) async fn change(question: Question, mut members: Members) -> Result<Response> {
    let (state, name) = question.named()?;
    blocking(move || {
        let before = Logs::open(&state.store, &name)?.options()?;
        let wanted = read_options(&mut members, before)?;
        // Of what is chosen when a log is made, another is refused as where it is made again.
        Ok(success(described(&Logs::create(&state.store, &name, &wanted)?)?))
    })
    .await
}

/// What a log was made as, with what has been changed since; the retention's age in seconds.
fn described(logs: &Logs) -> Result<Value> {
    let options = logs.options()?;
    let Retention { age_ns, bytes } = options.retention.unwrap_or_default();
    Ok(json!({
        "name": logs.name(),
        "clock": options.clock.unwrap_or_default().to_string(),
        "message_bytes_max": options.message_bytes_max,
        "columns_max": options.columns_max,
        "columns": logs.columns()?,
        "compression": options.compression.unwrap_or_default().to_string(),
        "retention_age": age_ns.map(|age| age as f64 / 1e9),
        "retention_bytes": bytes,
    }))
}

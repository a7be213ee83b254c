//! Time logs: made, described and removed; entries in and out, and deleted by ranges.

pub(super) mod entries;
mod tail;
pub(super) mod values;

use axum::response::Response;
use axum::routing::{delete, get, post, put};
use serde_json::{Value, json};
use timestrata_engine::{Retention, Store};
use timestrata_timelog::{Codec, Timelog, TimelogOptions, Unit};

use crate::auth::Caller;
use crate::endpoint::{ADMIN, Class, Form, Needs, Parameter, READ, Takes, WRITE, parameter};
use crate::error::{Failure, Result, success};
use crate::moments::Reading;
use crate::routes::Route;
use crate::routes::asked::Question;
use crate::routes::parameters::Members;
use crate::state::{blocking, or_made};

const FROM: Parameter = parameter("from", Form::Time, "The first time of the range");
const TO: Parameter = parameter("to", Form::Time, "The first time behind the range");
const TIMEOUT: Parameter =
    parameter("timeout", Form::Duration, "The longest time that it may be worked on");

pub(super) const ENDPOINTS: &[Route] = &[
    Route::get("/timelogs", Needs::Token, "The names of the time logs", || get(list)),
    Route::get(
        "/timelogs/{timelog}",
        READ,
        "What the time log is, and its first and last time",
        || get(describe),
    ),
    Route::put(
        "/timelogs/{timelog}",
        ADMIN,
        "Makes the time log; fine if it is there as asked for",
        || put(create),
    )
    .takes(Takes::Members(&[
        parameter("codec", Form::OneOf(&["cbor", "json", "bytes"]), "What its values are"),
        parameter("unit", Form::OneOf(&["s", "ms", "us", "ns"]), "The unit of its times"),
        parameter(
            "retention_age",
            Form::Any,
            "What is older goes by itself: seconds, or a duration such as \"30d\"; null: any age",
        ),
        parameter(
            "retention_bytes",
            Form::Any,
            "The oldest beyond so many bytes go by themselves; null: any size",
        ),
        parameter("min_ts", Form::Any, "Entries with smaller times are refused; of a new time log"),
    ])),
    Route::delete(
        "/timelogs/{timelog}",
        ADMIN,
        "Removes the time log and its entries, durably",
        || delete(drop),
    ),
    Route::post(
        "/timelogs/{timelog}/entries",
        WRITE,
        "Appends entries, all in one commit, or none",
        || post(entries::append),
    )
    .class(Class::Body)
    .takes(Takes::Kinds(&["application/x-ndjson", "application/json"])),
    Route::get("/timelogs/{timelog}/entries", READ, "Entries by time", || get(entries::read))
        .asks(&[
            FROM,
            TO,
            parameter("limit", Form::Limit, "How many entries at most"),
            parameter("order", Form::OneOf(&["asc", "desc"]), "desc begins with the last"),
            parameter(
                "values",
                Form::OneOf(&["json", "encoded"]),
                "encoded: each value is `encoded`, the bytes that the log's codec wrote, as base64",
            ),
            TIMEOUT,
        ])
        .gives(&["application/json", "application/x-ndjson"]),
    Route::delete("/timelogs/{timelog}/entries", WRITE, "Deletes the entries of a range", || {
        delete(entries::delete_range)
    })
    .asks(&[FROM, TO]),
    Route::get(
        "/timelogs/{timelog}/tail",
        READ,
        "Entries as they come, as server-sent events",
        || get(tail::tail),
    )
    .only_reads(false)
    .asks(&[
        parameter(
            "since",
            Form::Time,
            "Begin with the entries from this time on, not with what comes now",
        ),
        parameter("after", Form::Text, "The place behind the last entry that was seen"),
        parameter(
            "late",
            Form::Truth,
            "Whether to give entries that come late too, in the order of commits",
        ),
        parameter(
            "wait",
            Form::Duration,
            "How long an answer that ends waits for entries; 5s unless given",
        ),
        parameter(
            "values",
            Form::OneOf(&["json", "encoded"]),
            "encoded: each value is `encoded`, the bytes that the log's codec wrote, as base64",
        ),
    ])
    .gives(&[
        "text/event-stream",
        "application/x-ndjson",
        "application/vnd.apache.arrow.stream",
    ]),
    Route::get("/timelogs/{timelog}/count", READ, "How many entries a range has", || {
        get(entries::count)
    })
    .asks(&[FROM, TO, TIMEOUT]),
];

async fn list(caller: Caller, Reading(state): Reading) -> Response {
    success(json!(caller.known(Timelog::names(state.read()))))
}

fn described(log: &Timelog) -> Result<Value> {
    let view = log.snapshot()?;
    let retention = log.retention()?;
    Ok(json!({
        "name": log.name(),
        "codec": log.codec().name(),
        "unit": log.unit().name(),
        "first_time": view.min_time()?,
        "last_time": view.max_time()?,
        "retention_age": retention.age_ns.map(|age| age as f64 / 1e9),
        "retention_bytes": retention.bytes,
        "min_ts": log.min_time_allowed(),
    }))
}

async fn describe(question: Question) -> Result<Response> {
    let (state, name) = question.named()?;
    blocking(move || Ok(success(described(&state.timelog(&name)?)?))).await
}

/// Values that JSON can say, in milliseconds: as programs in Python make them.
fn options() -> TimelogOptions {
    TimelogOptions { codec: Codec::Cbor, ..TimelogOptions::default() }
}

async fn create(question: Question, mut members: Members) -> Result<Response> {
    let (state, name) = question.named()?;
    let codecs = [Codec::Cbor, Codec::Json, Codec::Bytes].map(|codec| (codec.name(), codec));
    let units =
        [Unit::Second, Unit::Milli, Unit::Micro, Unit::Nano].map(|unit| (unit.name(), unit));
    let (codec, unit) = (members.word("codec", &codecs)?, members.word("unit", &units)?);
    let min_time = members.integer("min_ts")?;
    let changed = RetentionMembers::read(&mut members)?;
    blocking(move || {
        // What is not named stays as it is.
        let found = Timelog::open(&state.store, &name).ok();
        let kept = found.as_ref().map(Timelog::retention).transpose()?.unwrap_or_default();
        let options = TimelogOptions {
            codec: codec.or(found.as_ref().map(Timelog::codec)).unwrap_or(options().codec),
            unit: unit.or(found.as_ref().map(Timelog::unit)).unwrap_or_default(),
            retention: changed.over(kept),
            min_time,
            ..options()
        };
        let log = Timelog::create(&state.store, &name, options)?;
        state.store.sync()?;
        Ok(success(described(&log)?))
    })
    .await
}

/// What a body says of what goes by itself: a member that is null has no bound, one that is missing stays.
struct RetentionMembers {
    age_ns: Option<Option<u64>>,
    bytes: Option<Option<u64>>,
}

impl RetentionMembers {
    fn read(members: &mut Members) -> Result<Self> {
        let has_age = members.has("retention_age");
        let has_bytes = members.has("retention_bytes");
        let age_ns = members.duration_ns("retention_age")?;
        let bytes = members.number("retention_bytes")?;
        Ok(Self { age_ns: has_age.then_some(age_ns), bytes: has_bytes.then_some(bytes) })
    }

    fn over(&self, kept: Retention) -> Option<Retention> {
        (self.age_ns.is_some() || self.bytes.is_some()).then(|| Retention {
            age_ns: self.age_ns.unwrap_or(kept.age_ns),
            bytes: self.bytes.unwrap_or(kept.bytes),
        })
    }
}

async fn drop(question: Question) -> Result<Response> {
    let (state, name) = question.named()?;
    blocking(move || {
        Timelog::drop(&state.store, &name)?;
        state.store.sync()?;
        Ok(success(json!({ "dropped": name })))
    })
    .await
}

/// A time log, which is made if it isn't there. One that is there may have been made with any options.
pub(super) fn to_write(store: &Store, name: &str) -> Result<Timelog> {
    Ok(or_made(Timelog::open(store, name), || Timelog::create(store, name, options()))?)
}

/// The answer to who asks for what a pickle has.
fn pickled(log: &Timelog) -> Failure {
    Failure::bad_request(format!(
        "time log '{}' has values of Python's pickle, which only a program in Python reads or writes",
        log.name()
    ))
}

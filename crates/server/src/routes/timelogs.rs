//! Time logs: made, described and removed; entries in and out, and deleted by ranges.

pub(super) mod entries;
pub(super) mod values;

use axum::response::Response;
use axum::routing::{delete, get, post, put};
use serde_json::{Value, json};
use timestrata_engine::Store;
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
    Ok(json!({
        "name": log.name(),
        "codec": log.codec().name(),
        "unit": log.unit().name(),
        "first_time": view.min_time()?,
        "last_time": view.max_time()?,
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
    let options = TimelogOptions {
        codec: members.word("codec", &codecs)?.unwrap_or(options().codec),
        unit: members.word("unit", &units)?.unwrap_or_default(),
        ..options()
    };
    blocking(move || {
        let log = Timelog::create(&state.store, &name, options)?;
        state.store.sync()?;
        Ok(success(described(&log)?))
    })
    .await
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

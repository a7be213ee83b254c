//! Logs: names, entries in and out, figures of them.

pub(super) mod entries;
mod figures;
mod ingest;
mod options;
mod parameters;
mod search;
mod tail;

use axum::extract::State;
use axum::response::Response;
use axum::routing::{delete, get, patch, post, put};
use serde_json::json;
use timestrata_engine::Durability;
use timestrata_logs::Logs;

use crate::auth::Caller;
use crate::endpoint::{ADMIN, Class, Form, Needs, Parameter, READ, Takes, WRITE, parameter};
use crate::error::{Failure, Result, success};
use crate::moments::Reading;
use crate::routes::Route;
use crate::routes::named::Named;
use crate::routes::tables::ROWS;
use crate::state::{AppState, blocking};

use self::options::OPTIONS;
use self::parameters::LogRequest;

const FILTER: Parameter = parameter("filter", Form::Text, "A filter; without one all entries");
const FROM: Parameter = parameter("from", Form::Time, "The first time of the range");
const TO: Parameter = parameter("to", Form::Time, "The first time behind the range");
const BY: Parameter = parameter(
    "by",
    Form::OneOf(&["timestamp", "source_time"]),
    "The clock: when entries arrived, or when their sender says that they were made; else the log's own",
);
const TIMEOUT: Parameter =
    parameter("timeout", Form::Duration, "The longest time that it may be worked on");
const ENTRIES: &[&str] =
    &["application/json", "application/x-ndjson", "application/vnd.apache.arrow.stream"];

pub(super) const ENDPOINTS: &[Route] = &[
    Route::get("/logs", Needs::Token, "The names of the logs", || get(list)),
    Route::get("/logs/{name}", READ, "What the log was made as", || get(options::describe)),
    Route::put(
        "/logs/{name}",
        ADMIN,
        "Makes the log; fine if it is there with these options",
        || put(options::create),
    )
    .takes(Takes::Members(OPTIONS)),
    Route::patch(
        "/logs/{name}",
        ADMIN,
        "Changes clock, compression and retention, as far as named",
        || patch(options::change),
    )
    .takes(Takes::Members(OPTIONS)),
    Route::post(
        "/logs/{name}",
        WRITE,
        "Takes in a body of lines; makes the log if it is missing",
        || post(ingest::ingest),
    )
    .class(Class::Body)
    .asks(&[
        parameter("format", Form::Text, "How lines are written, unless the first ones tell"),
        parameter(
            "encoding",
            Form::Text,
            "How text is encoded, such as windows-1252; UTF-8, or UTF-16 with its mark, unless given",
        ),
        parameter("label", Form::Many, "KEY:VALUE, of all entries"),
        parameter("each_line", Form::Truth, "Whether each line is an entry, also those of a trace"),
    ])
    .takes(Takes::Kinds(&["application/x-ndjson", "application/json", "text/plain"])),
    Route::post(
        "/logs/{name}/entries",
        WRITE,
        "Writes entries as they are, all in one commit, or none; makes the log if it is missing",
        || post(entries::write),
    )
    .class(Class::Body)
    .takes(Takes::Kinds(&["application/x-ndjson", "application/json"])),
    Route::delete("/logs/{name}", ADMIN, "Removes the log and its entries, durably", || {
        delete(drop)
    }),
    Route::delete(
        "/logs/{name}/entries",
        WRITE,
        "Deletes the entries that arrived in a range, in one commit",
        || delete(delete_range),
    )
    .asks(&[FROM, TO]),
    Route::get("/logs/{name}/search", READ, "Entries, with the position to go on from", || {
        get(search::search)
    })
    .asks(&[
        FILTER,
        BY,
        FROM,
        TO,
        parameter("order", Form::OneOf(&["asc", "desc"]), "desc begins with the newest"),
        parameter("limit", Form::Limit, "How many entries at most"),
        parameter("after", Form::Text, "A position of an answer, to go on behind it"),
        TIMEOUT,
    ])
    .gives(ENTRIES),
    Route::get("/logs/{name}/context", READ, "An entry with those around it", || {
        get(search::context)
    })
    .asks(&[
        parameter("timestamp", Form::Time, "Which entry, by when it arrived"),
        parameter("before", Form::Number(1_000), "How many before it"),
        parameter("after", Form::Number(1_000), "How many behind it"),
        TIMEOUT,
    ])
    .gives(ENTRIES),
    Route::get("/logs/{name}/count", READ, "How many entries a filter finds", || {
        get(figures::count)
    })
    .asks(&[FILTER, BY, FROM, TO, TIMEOUT]),
    Route::get(
        "/logs/{name}/histogram",
        READ,
        "How many there are in each stretch of time",
        || get(figures::histogram),
    )
    .asks(&[
        FILTER,
        BY,
        FROM,
        TO,
        parameter("step", Form::Duration, "The length of a stretch"),
        TIMEOUT,
    ]),
    Route::get("/logs/{name}/facets", READ, "The most frequent values of fields", || {
        get(figures::facets)
    })
    .asks(&[
        FILTER,
        BY,
        FROM,
        TO,
        parameter("fields", Form::Names, "Names, with commas between"),
        parameter("values", Form::Number(10_000), "How many values of each"),
        TIMEOUT,
    ]),
    Route::get(
        "/logs/{name}/stats",
        READ,
        "Figures of what a filter finds, group by group",
        || get(figures::stats),
    )
    .asks(&[
        parameter("filter", Form::Text, "A filter, a bar, and what is asked: stats, top or rate"),
        BY,
        FROM,
        TO,
        TIMEOUT,
    ])
    .gives(ROWS),
    Route::get("/logs/{name}/tail", READ, "Entries as they arrive, as server-sent events", || {
        get(tail::tail)
    })
    .only_reads(false)
    .asks(&[
        FILTER,
        parameter("after", Form::Time, "The timestamp of the last entry that was seen"),
    ])
    .gives(&["text/event-stream", "application/vnd.apache.arrow.stream"]),
];

/// `GET /logs`.
async fn list(caller: Caller, Reading(state): Reading) -> Response {
    success(json!(caller.known(Logs::names(state.read()))))
}

/// `DELETE /logs/{name}`: the log and its entries, durably.
async fn drop(State(state): State<AppState>, Named(name): Named<String>) -> Result<Response> {
    blocking(move || {
        Logs::drop(&state.store, &name)?;
        state.store.sync()?;
        Ok(success(json!({ "dropped": name })))
    })
    .await
}

/// `DELETE /logs/{name}/entries`: those that arrived in a range, in one commit.
async fn delete_range(mut request: LogRequest) -> Result<Response> {
    let (from, to) = (request.asked.time("from")?, request.asked.time("to")?);
    let (state, name) = request.named()?;
    if from.is_none() && to.is_none() {
        return Err(Failure::bad_request(
            "say from or to: without them all entries would go, which DELETE of the log does",
        ));
    }
    blocking(move || {
        let deleted = state.logs(&name)?.delete_range(from, to, Durability::Synced)?;
        Ok(success(json!({ "entries": deleted.entries, "seq": deleted.seq.map(|seq| seq.0) })))
    })
    .await
}

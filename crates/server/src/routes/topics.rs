//! Topics: made, described, changed and removed; records in and out, groups, proofs.

mod consume;
mod groups;
pub(super) mod members;
pub(super) mod produce;
mod proofs;

use axum::response::Response;
use axum::routing::{delete, get, patch, post, put};
use serde_json::{Value, json};
use timestrata_engine::RunCompression;
use timestrata_topic::{Stamp, Topic, TopicOptions, TopicRetention};

use crate::auth::Caller;
use crate::endpoint::{ADMIN, Class, Form, Needs, Parameter, READ, Takes, WRITE, parameter};
use crate::error::{Failure, Result, success};
use crate::moments::Reading;
use crate::routes::Route;
use crate::routes::asked::Question;
use crate::routes::parameters::Members;
use crate::state::blocking;

/// Records of an answer where nobody says how many; bytes of their keys, values and headers, and at most.
const RECORDS_DEFAULT: usize = 1_000;
const BYTES_DEFAULT: u64 = 4 << 20;
const BYTES_MAX: u64 = 32 << 20;

const PARTITION: Parameter =
    parameter("partition", Form::Number(u32::MAX as u64), "The partition; 0 unless given");
const LIMIT: Parameter = parameter("limit", Form::Limit, "How many records at most");
const BYTES: Parameter = parameter(
    "bytes",
    Form::Number(BYTES_MAX),
    "How many bytes of keys, values and headers at most; one record always fits",
);
const WAIT: Parameter =
    parameter("wait", Form::Duration, "How long to wait for records where there are none yet");
const SIZE: Parameter =
    parameter("size", Form::Number(u64::MAX), "The records of the tree; all of now unless given");
const RECORDS: &[&str] =
    &["application/json", "application/x-ndjson", "application/vnd.apache.arrow.stream"];
const PLAIN: &[&str] = &["text/plain; charset=utf-8"];

const OPTIONS: &[Parameter] = &[
    parameter("partitions", Form::Number(4_096), "How many partitions; never fewer than before"),
    parameter("record_bytes_max", Form::Number(512 << 20), "Most bytes of a record"),
    parameter("timestamp", Form::OneOf(&["producer", "store"]), "Whose clock records have"),
    parameter("compression", Form::Text, "zstd (as without it), zstd:LEVEL, lz4 or none"),
    parameter(
        "keep_entries",
        Form::Truth,
        "Whether entries of records that go stay: exports stay whole",
    ),
    parameter("retention_age", Form::Any, "Seconds, or a duration such as \"30d\"; null: any age"),
    parameter("retention_bytes", Form::Any, "Bytes of each partition; null: any number"),
    parameter("retention_records", Form::Any, "Records of each partition; null: any number"),
    parameter("compact", Form::Truth, "Whether of each key all but the last record go"),
    parameter(
        "retention_groups_age",
        Form::Any,
        "Seconds, or a duration, after which groups go that have no members and commit nothing; null: never",
    ),
];

pub(super) const ENDPOINTS: &[Route] = &[
    Route::get("/topics", Needs::Token, "The names of the topics", || get(list)),
    Route::get("/topics/{topic}", READ, "What the topic was made as, and its offsets", || {
        get(describe)
    }),
    Route::put(
        "/topics/{topic}",
        ADMIN,
        "Makes the topic; fine if it is there with these options",
        || put(create),
    )
    .takes(Takes::Members(OPTIONS)),
    Route::patch(
        "/topics/{topic}",
        ADMIN,
        "Changes partitions and retention, as far as named",
        || patch(change),
    )
    .takes(Takes::Members(OPTIONS)),
    Route::delete("/topics/{topic}", ADMIN, "Removes the topic and its records, durably", || {
        delete(drop)
    }),
    Route::post("/topics/{topic}/retain", ADMIN, "Throws away now what retention lets go", || {
        post(retain)
    }),
    Route::get("/topics/{topic}/offsets", READ, "First and next offset of each partition", || {
        get(offsets)
    })
    .asks(&[parameter(
        "time",
        Form::Time,
        "Tell the first offset of this time or later, too",
    )]),
    Route::post(
        "/topics/{topic}/records",
        WRITE,
        "Sends records, all in one commit, or none",
        || post(produce::produce),
    )
    .class(Class::Body)
    .asks(produce::PARAMETERS)
    .takes(Takes::Kinds(produce::KINDS)),
    Route::get("/topics/{topic}/records", READ, "Records of a partition from an offset on", || {
        get(consume::consume)
    })
    .class(Class::Waiting)
    .asks(&[
        PARTITION,
        parameter("from", Form::Text, "An offset, a time, earliest or latest"),
        parameter("to", Form::Number(u64::MAX), "The first offset behind the range"),
        LIMIT,
        BYTES,
        WAIT,
    ])
    .gives(RECORDS),
    Route::get("/topics/{topic}/records/{offset}", READ, "One record, or its value alone", || {
        get(consume::one)
    })
    .asks(&[PARTITION])
    .gives(&["application/json", "application/octet-stream"]),
    Route::post(
        "/topics/{topic}/producers/{producer}",
        WRITE,
        "Begins as the producer of a name",
        || post(produce::begin),
    ),
    Route::get(
        "/topics/{topic}/producers/{producer}",
        WRITE,
        "The sequence that comes next",
        || get(produce::next_sequence),
    )
    .only_reads(false)
    .asks(&[PARTITION]),
    Route::get("/topics/{topic}/groups", READ, "Groups, where they are, and their members", || {
        get(groups::list)
    }),
    Route::get("/topics/{topic}/groups/{group}", READ, "Where a group is, and its members", || {
        get(groups::describe)
    }),
    Route::put(
        "/topics/{topic}/groups/{group}",
        WRITE,
        "Puts a group at an offset or a time, back too",
        || put(groups::reset),
    )
    .takes(Takes::Members(&[
        PARTITION,
        parameter("offset", Form::Number(u64::MAX), "The offset that it goes on with"),
        parameter("to", Form::Text, "In place of an offset: earliest, latest or a time"),
    ])),
    Route::delete(
        "/topics/{topic}/groups/{group}",
        WRITE,
        "Forgets what a group without members has committed",
        || delete(groups::forget),
    ),
    Route::get("/groups", Needs::Token, "All groups of the store, and their members", || {
        get(groups::all)
    }),
    Route::post("/topics/{topic}/groups/{group}/members", READ, "Joins a group", || {
        post(members::join)
    })
    .takes(Takes::Members(members::OPTIONS)),
    Route::post(
        "/topics/{topic}/groups/{group}/members/{member}/poll",
        READ,
        "Gives a member its next records",
        || post(members::poll),
    )
    .class(Class::Waiting)
    .asks(&[LIMIT, BYTES, WAIT, members::SEEN]),
    Route::post(
        "/topics/{topic}/groups/{group}/members/{member}/heartbeat",
        READ,
        "Says that a member is alive while it works",
        || post(members::heartbeat),
    ),
    Route::post(
        "/topics/{topic}/groups/{group}/members/{member}/commit",
        READ,
        "Commits how far a member has read",
        || post(members::commit),
    )
    .asks(&[members::SEEN])
    .takes(Takes::Members(members::COMMIT)),
    Route::post(
        "/topics/{topic}/groups/{group}/members/{member}/seek",
        READ,
        "Has a member go on elsewhere",
        || post(members::seek),
    )
    .takes(Takes::Members(members::SEEK)),
    Route::delete(
        "/topics/{topic}/groups/{group}/members/{member}",
        READ,
        "Leaves a group",
        || delete(members::leave),
    ),
    Route::get("/topics/{topic}/root", READ, "Size and root of a partition's tree", || {
        get(proofs::root)
    })
    .asks(&[PARTITION, SIZE]),
    Route::get("/topics/{topic}/inclusion", READ, "The proof that a record is in a tree", || {
        get(proofs::inclusion)
    })
    .asks(&[
        PARTITION,
        parameter("offset", Form::Number(u64::MAX), "The record's offset"),
        SIZE,
    ]),
    Route::get("/topics/{topic}/consistency", READ, "The proof that a tree begins another", || {
        get(proofs::consistency)
    })
    .asks(&[
        PARTITION,
        parameter("old", Form::Number(u64::MAX), "The records of the earlier tree"),
        parameter("new", Form::Number(u64::MAX), "Those of the later one; all of now unless given"),
    ]),
    Route::get(
        "/topics/{topic}/proof",
        READ,
        "A proof that stands alone (C2SP tlog-proof)",
        || get(proofs::proof),
    )
    .asks(&[PARTITION, parameter("offset", Form::Number(u64::MAX), "The record's offset")])
    .gives(PLAIN),
    Route::get(
        "/topics/{topic}/checkpoint",
        READ,
        "The last signed checkpoint of a partition",
        || get(proofs::checkpoint),
    )
    .asks(&[PARTITION])
    .gives(PLAIN),
    Route::post("/topics/{topic}/checkpoint", ADMIN, "Signs what a partition is now", || {
        post(proofs::sign)
    })
    .asks(&[PARTITION])
    .gives(PLAIN),
    Route::post(
        "/topics/{topic}/checkpoints",
        ADMIN,
        "Signs each partition that has records since its last checkpoint",
        || post(proofs::sign_all),
    ),
    Route::get(
        "/topics/{topic}/vkey",
        READ,
        "The public key by which checkpoints of a partition are verified",
        || get(proofs::vkey),
    )
    .asks(&[PARTITION])
    .gives(PLAIN),
    Route::get(
        "/topics/{topic}/audit",
        READ,
        "Holds each record against its hash, the hashes against each other, and all against the last checkpoint",
        || get(proofs::audit),
    )
    // It reads all of a partition.
    .class(Class::Waiting)
    .asks(&[
        PARTITION,
        parameter("timeout", Form::Duration, "The longest time that it may be worked on"),
    ]),
    Route::get(
        "/topics/{topic}/log/{partition}/{*file}",
        READ,
        "A partition as files for auditors (C2SP tlog-tiles): checkpoint, tile/L/N, tile/entries/N",
        || get(proofs::file),
    )
    .gives(&["application/octet-stream", "text/plain; charset=utf-8"]),
];

async fn list(caller: Caller, Reading(state): Reading) -> Response {
    success(json!(caller.known(Topic::names(state.read()))))
}

async fn describe(question: Question) -> Result<Response> {
    let (state, name) = question.named()?;
    blocking(move || Ok(success(described(&state.topic(&name)?)?))).await
}

/// What a topic was made as, and its offsets.
fn described(topic: &Topic) -> Result<Value> {
    let TopicOptions { partitions, record_bytes_max, stamp, retention, compression, keep_entries } =
        topic.options();
    let offsets = (0..partitions).map(|partition| offsets_of(topic, partition));
    Ok(json!({
        "name": topic.name(),
        "created": topic.created_ns(),
        "partitions": partitions,
        "record_bytes_max": record_bytes_max,
        "timestamp": if stamp == Stamp::Store { "store" } else { "producer" },
        "retention_age": retention.age_ns.map(|age| age as f64 / 1e9),
        "retention_bytes": retention.bytes,
        "retention_records": retention.records,
        "compact": retention.compact,
        "retention_groups_age": retention.groups_age_ns.map(|age| age as f64 / 1e9),
        "compression": compression.unwrap_or_default().to_string(),
        "keep_entries": keep_entries,
        "offsets": offsets.collect::<Result<Vec<_>>>()?,
    }))
}

fn offsets_of(topic: &Topic, partition: u32) -> Result<Value> {
    let offsets = topic.offsets(partition)?;
    Ok(json!({ "partition": partition, "first": offsets.start, "end": offsets.end }))
}

/// Takes over what a body says of a topic's options.
fn read_options(members: &mut Members, mut options: TopicOptions) -> Result<TopicOptions> {
    let TopicRetention { age_ns, bytes, records, compact, groups_age_ns } = options.retention;
    // What is named as null has no bound; what is not named stays.
    let retention = TopicRetention {
        age_ns: match members.has("retention_age") {
            true => members.duration_ns("retention_age")?,
            false => age_ns,
        },
        bytes: match members.has("retention_bytes") {
            true => members.number("retention_bytes")?,
            false => bytes,
        },
        records: match members.has("retention_records") {
            true => members.number("retention_records")?,
            false => records,
        },
        compact: members.truth("compact")?.unwrap_or(compact),
        groups_age_ns: match members.has("retention_groups_age") {
            true => members.duration_ns("retention_groups_age")?,
            false => groups_age_ns,
        },
    };
    options.retention = retention;
    options.partitions = members.number("partitions")?.unwrap_or(options.partitions);
    options.record_bytes_max =
        members.number("record_bytes_max")?.unwrap_or(options.record_bytes_max);
    let words = [("producer", Stamp::Producer), ("store", Stamp::Store)];
    options.stamp = members.word("timestamp", &words)?.unwrap_or(options.stamp);
    options.keep_entries = members.truth("keep_entries")?.unwrap_or(options.keep_entries);
    if members.has("compression") {
        let text = members.text("compression")?;
        let named = text.map(|text| text.parse::<RunCompression>()).transpose()?;
        options.compression = Some(named.unwrap_or(RunCompression::None));
    }
    Ok(options)
}

async fn create(question: Question, mut members: Members) -> Result<Response> {
    let (state, name) = question.named()?;
    let options = read_options(&mut members, TopicOptions::default())?;
    blocking(move || {
        let topic = Topic::create(&state.store, &name, &options)?;
        Ok(success(described(&topic)?))
    })
    .await
}

async fn change(question: Question, mut members: Members) -> Result<Response> {
    let (state, name) = question.named()?;
    blocking(move || {
        let topic = state.topic(&name)?;
        let before = topic.options();
        let wanted = read_options(&mut members, before)?;
        let fixed = |of: &TopicOptions| {
            (of.record_bytes_max, of.stamp, of.compression, of.keep_entries)
        };
        if fixed(&wanted) != fixed(&before) {
            return Err(Failure::bad_request(
                "record_bytes_max, timestamp, compression and keep_entries are chosen when a topic is made; \
                 partitions and retention can be changed",
            ));
        }
        if wanted.partitions != before.partitions {
            topic.set_partitions(wanted.partitions)?;
        }
        if wanted.retention != before.retention {
            topic.set_retention(wanted.retention)?;
        }
        Ok(success(described(&topic)?))
    })
    .await
}

async fn drop(question: Question) -> Result<Response> {
    let (state, name) = question.named()?;
    blocking(move || {
        Topic::drop(&state.store, &name)?;
        state.store.sync()?;
        Ok(success(json!({ "dropped": name })))
    })
    .await
}

async fn retain(question: Question) -> Result<Response> {
    let (state, name) = question.named()?;
    blocking(move || {
        let thrown = state.topic(&name)?.retain()?;
        Ok(success(json!({
            "expired": thrown.expired,
            "superseded": thrown.superseded,
            "groups": thrown.groups,
        })))
    })
    .await
}

async fn offsets(mut question: Question) -> Result<Response> {
    let time = question.asked.time("time")?;
    let (state, name) = question.named()?;
    blocking(move || {
        let topic = state.topic(&name)?;
        let of = |partition| {
            let mut offsets = offsets_of(&topic, partition)?;
            if let Some(time) = time {
                offsets["at_time"] = json!(topic.offset_at_time(partition, time)?);
            }
            Ok(offsets)
        };
        let all = (0..topic.partitions()).map(of).collect::<Result<Vec<_>>>()?;
        Ok(success(json!(all)))
    })
    .await
}

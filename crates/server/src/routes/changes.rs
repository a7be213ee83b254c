//! `GET /changes`: what commits change, behind one of them, waited for where there is nothing yet; and those who follow by a name.

use std::time::Duration;

use arrow_array::RecordBatch;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, put};
use serde_json::{Value, json};
use timestrata::{
    ChangeFeed, ChangeKind, CommittedChanges, LeadKey, SeqNo, Store, StreamChange, role_of,
};
use timestrata_table::time_text;

use crate::answer::entries::EntriesForm;
use crate::answer::json_rows;
use crate::endpoint::{ADMIN_ALL, Class, Form, Parameter, READ_ALL, Takes, parameter};
use crate::error::{Failure, Result, success};
use crate::routes::Route;
use crate::routes::asked::Asked;
use crate::routes::named::Named;
use crate::routes::parameters::Members;
use crate::state::{AppState, blocking};
use crate::waiting::Waiter;

/// Bytes of changes that are read for an answer where nobody says how many, and at most; and what an answer may come to.
const BYTES_DEFAULT: u64 = 4 << 20;
const BYTES_MAX: u64 = 32 << 20;
const ANSWER_BYTES_MAX: usize = 128 << 20;
/// How often one looks who waits.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);

const SAVED: &[Parameter] =
    &[parameter("seq", Form::Number(u64::MAX), "The last commit that is done")];

pub(super) const ENDPOINTS: &[Route] = &[
    Route::get("/changes", READ_ALL, "What commits change, behind one of them", || get(changes))
        .class(Class::Waiting)
        .only_reads(false)
        .asks(&[
            parameter("since", Form::Number(u64::MAX), "The commit behind which it begins"),
            parameter("name", Form::Text, "A follower, who goes on behind what it has saved"),
            parameter(
                "bytes",
                Form::Number(BYTES_MAX),
                "How many bytes of changes at most, about; one commit always fits",
            ),
            parameter("wait", Form::Duration, "How long to wait for a commit where there is none"),
        ])
        .gives(&["application/json", "application/x-ndjson"]),
    Route::get("/followers", READ_ALL, "Who follows by a name, and how far each is", || get(list))
        .only_reads(false),
    Route::put(
        "/followers/{follower}",
        READ_ALL,
        "Notes how far a follower is; makes one that is new",
        || put(save),
    )
    .takes(Takes::Members(SAVED)),
    Route::delete("/followers/{follower}", ADMIN_ALL, "Forgets a follower", || delete(remove)),
];

async fn changes(
    State(state): State<AppState>,
    mut asked: Asked,
    headers: HeaderMap,
) -> Result<Response> {
    let form = EntriesForm::accepted(&headers)?;
    let since = asked.maybe_number("since", u64::MAX)?.map(SeqNo);
    let name = asked.take("name")?;
    let bytes = asked.number("bytes", BYTES_DEFAULT, BYTES_MAX)?;
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    let wait = asked.duration("wait", state.config.wait_max)?.unwrap_or_default();
    asked.finish()?;
    let mut waiter = Waiter::new(&state, wait).looking_every(LOOK_INTERVAL);
    let store = state.store.clone();
    let mut feed = blocking(move || begin(&store, since, name.as_deref())).await?;
    loop {
        let (found, again) = blocking(move || {
            let found = feed.poll(bytes)?;
            let next = feed.last_seq();
            let answer = answer(form, &found, next)?;
            Ok((answer, found.is_empty().then_some(feed)))
        })
        .await?;
        feed = match again {
            Some(feed) if waiter.wait().await? => feed,
            _ => return Ok(found),
        };
    }
}

fn begin(store: &Store, since: Option<SeqNo>, name: Option<&str>) -> Result<ChangeFeed> {
    let Some(name) = name else {
        let since = since.ok_or_else(|| {
            Failure::bad_request(
                "since: give the commit behind which to begin, or a follower's name",
            )
        })?;
        return Ok(store.changes_since(since)?);
    };
    // To ask is to read: who is new is made by PUT.
    match store.followers()?.get(name) {
        Some(saved) => Ok(store.changes_since(*saved)?),
        None => Err(Failure::new(
            StatusCode::NOT_FOUND,
            format!("there is no follower {name:?}; PUT /followers/NAME makes one"),
        )),
    }
}

fn answer(form: EntriesForm, commits: &[CommittedChanges], next: SeqNo) -> Result<Response> {
    let (mut out, is_lines) = (Vec::new(), form == EntriesForm::Lines);
    if !is_lines {
        out.extend_from_slice(br#"{"success":true,"data":{"commits":["#);
    }
    for (place, commit) in commits.iter().enumerate() {
        if place > 0 && !is_lines {
            out.push(b',');
        }
        write_commit(commit, &mut out)?;
        if is_lines {
            out.push(b'\n');
        }
    }
    if !is_lines {
        out.extend_from_slice(format!(r#"],"seq":{next}}},"error":null}}"#).as_bytes());
    }
    Ok(([(header::CONTENT_TYPE, form.content_type())], out).into_response())
}

/// A commit as `GET /changes` has it as a line of JSON, for those who read a store themselves.
///
/// # Errors
/// Those of reading its rows; `TooLarge` where there are too many for one line.
pub fn commit_as_json(commit: &CommittedChanges) -> timestrata::Result<Vec<u8>> {
    let mut line = Vec::new();
    write_commit(commit, &mut line).map_err(Failure::into_error)?;
    line.push(b'\n');
    Ok(line)
}

fn write_commit(commit: &CommittedChanges, out: &mut Vec<u8>) -> Result<()> {
    let time_ms = commit.time_ms.and_then(|time_ms| i64::try_from(time_ms).ok());
    let time = time_ms.map(|time_ms| time_text(time_ms.saturating_mul(1_000_000)));
    let head = json!({ "seq": commit.seq.0, "time": time }).to_string();
    out.extend_from_slice(head.strip_suffix('}').unwrap_or(&head).as_bytes());
    out.extend_from_slice(br#","changes":["#);
    let mut is_first = true;
    for change in &commit.changes {
        let Some(head) = described(change) else { continue };
        if !std::mem::take(&mut is_first) {
            out.push(b',');
        }
        let head = head.to_string();
        out.extend_from_slice(head.strip_suffix('}').unwrap_or(&head).as_bytes());
        out.extend_from_slice(br#","rows":"#);
        write_rows(commit.seq, change, out)?;
        out.push(b'}');
    }
    out.extend_from_slice(b"]}");
    Ok(())
}

/// What is said of a change beside its rows; `None` where it only repeats what others say.
fn described(change: &StreamChange) -> Option<Value> {
    let role = role_of(change.stream())?;
    let range = change.range().map(|range| [range.lo.map(key_json), range.hi.map(key_json)]);
    Some(json!({
        "kind": word(change.kind()),
        "model": role.model,
        "name": role.name,
        "part": role.part,
        "partition": role.partition,
        "range": range,
    }))
}

fn word(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Inserted => "inserted",
        ChangeKind::DeletedKeys => "deleted_keys",
        ChangeKind::DeletedRange => "deleted_range",
        ChangeKind::DeletedRows => "deleted_rows",
        ChangeKind::Expired => "expired",
        ChangeKind::Dropped => "dropped",
    }
}

/// A leading key: a number, or an id in hexadecimal digits.
fn key_json(key: LeadKey) -> Value {
    let hex = |id: &[u8]| id.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    match key {
        LeadKey::Time(time) => json!(time),
        LeadKey::Offset(offset) => json!(offset),
        LeadKey::Id16(id) => json!(hex(&id)),
        LeadKey::Id32(id) => json!(hex(&id)),
    }
}

fn write_rows(seq: SeqNo, change: &StreamChange, out: &mut Vec<u8>) -> Result<()> {
    if change.range().is_some() || change.kind() == ChangeKind::Dropped {
        out.extend_from_slice(b"null");
        return Ok(());
    }
    let (mut batches, mut bytes) = (Vec::<RecordBatch>::new(), out.len());
    for batch in change.batches()? {
        let batch = batch?;
        bytes += batch.get_array_memory_size();
        if bytes > ANSWER_BYTES_MAX {
            return Err(Failure::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                format!(
                    "commit {seq} changes too many rows for one answer; read the store as it is behind that commit \
                     (at={seq}), and go on with since={seq}"
                ),
            ));
        }
        batches.push(batch);
    }
    json_rows(&batches, out)
}

async fn list(State(state): State<AppState>, asked: Asked) -> Result<Response> {
    asked.finish()?;
    blocking(move || {
        let followers = state.store.followers()?;
        let each = followers.iter().map(|(name, seq)| json!({ "name": name, "seq": seq.0 }));
        Ok(success(each.collect()))
    })
    .await
}

async fn save(
    State(state): State<AppState>,
    Named(name): Named<String>,
    asked: Asked,
    mut members: Members,
) -> Result<Response> {
    asked.finish()?;
    let seq = members.number("seq")?.map(SeqNo);
    blocking(move || {
        let is_known = state.store.followers()?.contains_key(&name);
        let seq = match (is_known, seq) {
            (true, Some(seq)) => state.store.save_follower(&name, seq)?,
            _ => state.store.follow(&name, seq)?.last_seq(),
        };
        Ok(success(json!({ "name": name, "seq": seq.0 })))
    })
    .await
}

async fn remove(
    State(state): State<AppState>,
    Named(name): Named<String>,
    asked: Asked,
) -> Result<Response> {
    asked.finish()?;
    blocking(move || {
        state.store.remove_follower(&name)?;
        Ok(success(json!({ "removed": name })))
    })
    .await
}

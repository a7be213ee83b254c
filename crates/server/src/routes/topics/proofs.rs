//! Proofs, checkpoints, and partitions as files for auditors.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use timestrata_merkle::{Hash, Tile};
use timestrata_topic::{KeyFile, Topic, verifier_of_log};
use tokio::runtime::Handle;

use crate::answer::OCTETS;
use crate::error::{Failure, Result, success};
use crate::query_task::run_query;
use crate::routes::asked::Question;
use crate::state::{AppState, blocking};

const TEXT: &str = "text/plain; charset=utf-8";
/// A tile is of a tree that was signed: with another content it would be another's.
const FOR_EVER: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");
/// A checkpoint is followed by others.
const NOT_KEPT: HeaderValue = HeaderValue::from_static("no-cache");

fn hashes_json(hashes: &[Hash]) -> Value {
    hashes.iter().map(|hash| json!(hash.to_string())).collect()
}

fn missing(name: &str) -> Failure {
    Failure::bad_request(format!("{name}: say which, as {name}=0"))
}

pub(super) async fn root(mut question: Question) -> Result<Response> {
    let partition = question.asked.number("partition", 0, u32::MAX)?;
    let size = question.asked.maybe_number("size", u64::MAX)?;
    let (state, name) = question.named()?;
    blocking(move || {
        let (size, root) = state.topic(&name)?.root(partition, size)?;
        Ok(success(json!({ "partition": partition, "size": size, "root": root.to_string() })))
    })
    .await
}

pub(super) async fn audit(mut question: Question) -> Result<Response> {
    let partition = question.asked.number("partition", 0, u32::MAX)?;
    let (state, name, query) = question.begin()?;
    let asker = query.clone();
    run_query(&Handle::current(), &query, move || {
        let audited = state.topic(&name)?.audit_for(partition, &asker)?;
        Ok(success(json!({
            "partition": partition,
            "records": audited.records,
            "size": audited.size,
            "root": audited.root.to_string(),
        })))
    })
    .await
}

pub(super) async fn inclusion(mut question: Question) -> Result<Response> {
    let partition = question.asked.number("partition", 0, u32::MAX)?;
    let offset = question.asked.maybe_number("offset", u64::MAX)?;
    let size = question.asked.maybe_number("size", u64::MAX)?;
    let (state, name) = question.named()?;
    let offset = offset.ok_or_else(|| missing("offset"))?;
    blocking(move || {
        let topic = state.topic(&name)?;
        let (size, root) = topic.root(partition, size)?;
        let hashes = topic.inclusion_proof(partition, offset, size)?;
        Ok(success(json!({
            "partition": partition,
            "offset": offset,
            "size": size,
            "root": root.to_string(),
            "hashes": hashes_json(&hashes),
        })))
    })
    .await
}

pub(super) async fn consistency(mut question: Question) -> Result<Response> {
    let partition = question.asked.number("partition", 0, u32::MAX)?;
    let old = question.asked.maybe_number("old", u64::MAX)?;
    let new = question.asked.maybe_number("new", u64::MAX)?;
    let (state, name) = question.named()?;
    let old = old.ok_or_else(|| missing("old"))?;
    blocking(move || {
        let topic = state.topic(&name)?;
        let (new, new_root) = topic.root(partition, new)?;
        let (_, old_root) = topic.root(partition, Some(old))?;
        let hashes = topic.consistency_proof(partition, old, new)?;
        Ok(success(json!({
            "partition": partition,
            "old": old,
            "old_root": old_root.to_string(),
            "new": new,
            "new_root": new_root.to_string(),
            "hashes": hashes_json(&hashes),
        })))
    })
    .await
}

fn text(text: impl Into<Vec<u8>>) -> Response {
    let head =
        [(header::CONTENT_TYPE, HeaderValue::from_static(TEXT)), (header::CACHE_CONTROL, NOT_KEPT)];
    (head, text.into()).into_response()
}

pub(super) async fn proof(mut question: Question) -> Result<Response> {
    let partition = question.asked.number("partition", 0, u32::MAX)?;
    let offset = question.asked.maybe_number("offset", u64::MAX)?;
    let (state, name) = question.named()?;
    let offset = offset.ok_or_else(|| missing("offset"))?;
    blocking(move || {
        let proof = state.topic(&name)?.prove(partition, offset)?;
        Ok(text(proof.to_string()))
    })
    .await
}

fn last_checkpoint(topic: &Topic, partition: u32) -> Result<Response> {
    let note = topic.last_checkpoint(partition)?.ok_or_else(|| {
        Failure::new(
            StatusCode::NOT_FOUND,
            format!(
                "topic '{}' partition {partition} has no checkpoint yet: POST /topics/{}/checkpoint \
                 signs one",
                topic.name(),
                topic.name()
            ),
        )
    })?;
    Ok(text(note))
}

pub(super) async fn checkpoint(mut question: Question) -> Result<Response> {
    let partition = question.asked.number("partition", 0, u32::MAX)?;
    let (state, name) = question.named()?;
    blocking(move || last_checkpoint(&state.topic(&name)?, partition)).await
}

/// The key that this server signs by.
fn key_of(state: &AppState) -> Result<&KeyFile> {
    state.key.as_ref().ok_or_else(|| {
        Failure::new(
            StatusCode::FORBIDDEN,
            "this server has no key to sign with: start it with the setting topics.key_file",
        )
    })
}

pub(super) async fn sign(mut question: Question) -> Result<Response> {
    let partition = question.asked.number("partition", 0, u32::MAX)?;
    let (state, name) = question.named()?;
    blocking(move || {
        let topic = state.topic(&name)?;
        Ok(text(topic.checkpoint_by(partition, key_of(&state)?)?))
    })
    .await
}

pub(super) async fn sign_all(question: Question) -> Result<Response> {
    let (state, name) = question.named()?;
    blocking(move || {
        let signed = state.topic(&name)?.checkpoint_all(key_of(&state)?)?;
        let each = signed.into_iter().map(
            |one| json!({ "partition": one.partition, "checkpoint": one.note, "new": one.is_new }),
        );
        Ok(success(each.collect()))
    })
    .await
}

pub(super) async fn vkey(mut question: Question) -> Result<Response> {
    let partition = question.asked.number("partition", 0, u32::MAX)?;
    let (state, name) = question.named()?;
    blocking(move || {
        let topic = state.topic(&name)?;
        // A partition that isn't there has no log.
        topic.offsets(partition)?;
        let key = verifier_of_log(key_of(&state)?.signer().verifier(), &name, partition)?;
        Ok(text(format!("{key}\n")))
    })
    .await
}

/// `GET /topics/{topic}/log/{partition}/{*file}`: what C2SP's `tlog-tiles` has at its paths.
pub(super) async fn file(question: Question<(String, u32, String)>) -> Result<Response> {
    let (state, (name, partition, path)) = question.named()?;
    blocking(move || {
        let topic = state.topic(&name)?;
        if path == "checkpoint" {
            return last_checkpoint(&topic, partition);
        }
        let no_file = |why: &str| {
            let shown: String = path.chars().take(60).collect();
            Failure::new(StatusCode::NOT_FOUND, format!("{shown}: {why}"))
        };
        let tile: Tile = path.parse().map_err(|_| {
            no_file("a log has the files checkpoint, tile/LEVEL/INDEX and tile/entries/INDEX")
        })?;
        let bytes = topic.tile(partition, &tile)?.ok_or_else(|| {
            no_file("the last checkpoint doesn't cover it, or its records are not kept any more")
        })?;
        let head = [
            (header::CONTENT_TYPE, HeaderValue::from_static(OCTETS)),
            (header::CACHE_CONTROL, FOR_EVER),
        ];
        Ok((head, bytes).into_response())
    })
    .await
}

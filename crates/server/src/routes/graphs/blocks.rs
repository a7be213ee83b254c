//! `/graphs/{graph}/blocks`: blocks one by one.

use std::collections::BTreeMap;

use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use timestrata_engine::Durability;
use timestrata_graph::{Block, BlockId, Changed, Find, Graph, GraphChanges, NewBlock, block_line};
use tokio::runtime::Handle;

use super::{ITEMS_DEFAULT, ITEMS_MAX, id_of, unsupported};
use crate::answer::{OCTETS, accepted};
use crate::body::{Sent, WholeBody};
use crate::content_type;
use crate::endpoint::{Form, Parameter, parameter};
use crate::error::{Failure, Result, success};
use crate::query_task::run_query;
use crate::routes::asked::{Asked, Question};
use crate::state::{AppState, blocking};

pub(super) const KINDS: &[&str] = &["application/json", "text/plain", "application/octet-stream"];

pub(super) const EXPECTED: Parameter = parameter(
    "expected_version",
    Form::Number(u32::MAX as u64),
    "The version that it must have before, 0 if it must not be there",
);

pub(super) const PARAMETERS: &[Parameter] = &[
    EXPECTED,
    parameter("version", Form::Number(u32::MAX as u64), "Its version; one more unless given"),
    parameter("source_uri", Form::Text, "Where it came from, where the body is its content"),
    parameter("metadata", Form::Text, "A JSON object, where the body is its content"),
];

/// The answer to who asks for a block that isn't there.
fn no_block(graph: &Graph, id: BlockId) -> Failure {
    let why = format!("graph '{}' has no block {id}", graph.name());
    Failure::new(StatusCode::NOT_FOUND, why)
}

/// A block as JSON, as an export has it.
fn json_block(block: &Block) -> Box<RawValue> {
    // It was made a moment ago, of what is JSON.
    RawValue::from_string(block_line(block)).unwrap_or_default()
}

/// An answer of JSON that is kept as it was written.
fn raw_success(data: &str) -> Response {
    let body = format!(r#"{{"success":true,"data":{data},"error":null}}"#);
    ([(header::CONTENT_TYPE, "application/json")], body).into_response()
}

pub(super) async fn find(mut question: Question) -> Result<Response> {
    let metadata = question.asked.take("metadata")?;
    let metadata: Map<String, Value> = match metadata.as_deref().map(serde_json::from_str) {
        None => Map::new(),
        Some(Ok(object)) => object,
        Some(Err(error)) => {
            return Err(Failure::bad_request(format!(
                "metadata: it must be a JSON object: {error}"
            )));
        }
    };
    let what = Find {
        source_uri: question.asked.take("source_uri")?,
        metadata,
        limit: Some(question.asked.number("limit", ITEMS_DEFAULT, ITEMS_MAX)?),
    };
    let (state, name, query) = question.begin()?;
    let asker = query.clone();
    run_query(&Handle::current(), &query, move || {
        let graph = state.graph(&name)?;
        let view = graph.view_at(state.read().snapshot()?.for_query(&asker));
        let of = |block: &Block| {
            let metadata: Option<Value> =
                block.metadata().and_then(|text| serde_json::from_str(text).ok());
            json!({
                "block": block.id().to_string(),
                "version": block.version(),
                "source_uri": block.source_uri(),
                "metadata": metadata,
                "content_bytes": block.content().len(),
            })
        };
        Ok(success(view.find(&what)?.iter().map(of).collect()))
    })
    .await
}

pub(super) async fn one(question: Question<(String, String)>) -> Result<Response> {
    let known = format!("a block is application/json, its content alone {OCTETS}");
    let is_json = accepted(&question.headers, true, &known, |kind| match kind {
        "*/*" | "application/*" | "application/json" => Some(true),
        OCTETS => Some(false),
        _ => None,
    })?;
    let (state, (name, id)) = question.named()?;
    let id = id_of("id", &id)?;
    blocking(move || {
        let graph = state.graph(&name)?;
        let block = graph.view()?.get(id)?.ok_or_else(|| no_block(&graph, id))?;
        if is_json {
            return Ok(raw_success(json_block(&block).get()));
        }
        let kind = if block.is_text() { "text/plain; charset=utf-8" } else { OCTETS };
        Ok(([(header::CONTENT_TYPE, kind)], block.content().to_vec()).into_response())
    })
    .await
}

pub(super) async fn versions(question: Question<(String, String)>) -> Result<Response> {
    let (state, (name, id)) = question.named()?;
    let id = id_of("id", &id)?;
    blocking(move || {
        let graph = state.graph(&name)?;
        let versions = graph.view()?.versions(id)?;
        if versions.is_empty() {
            return Err(no_block(&graph, id));
        }
        let lines: Vec<String> = versions.iter().map(block_line).collect();
        Ok(raw_success(&format!("[{}]", lines.join(","))))
    })
    .await
}

/// What a request says of a block besides the body.
#[derive(Debug)]
struct Putting {
    id: Option<BlockId>,
    expected_version: Option<u32>,
    version: Option<u32>,
    source_uri: Option<String>,
    metadata: Option<String>,
    form: Body,
}

/// What the body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Body {
    /// A block as an object.
    Json,
    /// A block's content.
    Text,
    Bytes,
}

impl Putting {
    fn of(mut asked: Asked, headers: &HeaderMap, id: Option<BlockId>) -> Result<Self> {
        let kind = content_type::kind(headers);
        let form = match kind.as_str() {
            "text/plain" => Body::Text,
            "" | OCTETS => Body::Bytes,
            _ if content_type::is_web_form(&kind) || kind.ends_with("json") => Body::Json,
            _ => {
                return Err(unsupported(
                    &kind,
                    "a block is application/json, its content text/plain or application/octet-stream",
                ));
            }
        };
        let putting = Self {
            id,
            expected_version: asked.maybe_number("expected_version", u32::MAX)?,
            version: asked.maybe_number("version", u32::MAX)?,
            source_uri: asked.take("source_uri")?,
            metadata: asked.take("metadata")?,
            form,
        };
        asked.finish()?;
        let says =
            putting.version.is_some() || putting.source_uri.is_some() || putting.metadata.is_some();
        match form == Body::Json && says {
            true => Err(Failure::bad_request(
                "version, source_uri and metadata are members of a block in JSON",
            )),
            false => Ok(putting),
        }
    }

    fn put(&self, graph: &Graph, body: &[u8]) -> Result<Changed> {
        if self.form == Body::Json {
            let line = self.line(body)?;
            return Ok(graph.change_lines(line.as_bytes(), Durability::Synced)?);
        }
        let is_text = self.form == Body::Text;
        if is_text && std::str::from_utf8(body).is_err() {
            return Err(Failure::bad_request(
                "the body is no text in UTF-8: send it as application/octet-stream",
            ));
        }
        let block = NewBlock {
            id: self.id,
            version: self.version,
            source_uri: self.source_uri.as_deref(),
            metadata: self.metadata.as_deref(),
            is_text,
            content: body,
        };
        let mut changes = GraphChanges::new();
        if let Some(version) = self.expected_version {
            changes = changes.expect_version(block.id(), version);
        }
        Ok(graph.change(&changes.put(block), Durability::Synced)?)
    }

    /// The change that a block in JSON is, on one line.
    fn line(&self, body: &[u8]) -> Result<String> {
        let wrong =
            |why: String| Failure::bad_request(format!("the body is no block in JSON: {why}"));
        let mut parts: BTreeMap<String, Box<RawValue>> =
            serde_json::from_slice(body).map_err(|error| wrong(error.to_string()))?;
        if !parts.contains_key("content") {
            return Err(wrong("it has no 'content'".to_owned()));
        }
        let mut add = |name: &str, value: Option<Value>| match value {
            Some(_) if parts.contains_key(name) => {
                Err(wrong(format!("'{name}' is said by the request already")))
            }
            Some(value) => {
                let raw = RawValue::from_string(value.to_string());
                parts.insert(name.to_owned(), raw.map_err(|error| wrong(error.to_string()))?);
                Ok(())
            }
            None => Ok(()),
        };
        add("block", self.id.map(|id| id.to_string().into()))?;
        add("expected_version", self.expected_version.map(Value::from))?;
        let text = serde_json::to_string(&parts).map_err(|error| wrong(error.to_string()))?;
        // No text of JSON has a line end in it.
        Ok(text.replace(['\n', '\r'], " "))
    }
}

async fn put(
    state: AppState,
    name: String,
    putting: Result<Putting>,
    headers: HeaderMap,
    sent: Sent,
) -> Result<Response> {
    let putting = putting?;
    let body = WholeBody::new(&state, &headers, sent).await?;
    blocking(move || {
        let body = body.read()?;
        let changed = putting.put(&state.graph(&name)?, &body)?;
        let (id, version) = changed.put.first().copied().unwrap_or_default();
        Ok(success(json!({ "block": id.to_string(), "version": version })))
    })
    .await
}

pub(super) async fn put_one(question: Question<(String, String)>, sent: Sent) -> Result<Response> {
    let Question { state, name: (name, id), asked, headers, .. } = question;
    let id = id_of("id", &id)?;
    let putting = Putting::of(asked, &headers, Some(id));
    put(state, name, putting, headers, sent).await
}

pub(super) async fn post_one(question: Question, sent: Sent) -> Result<Response> {
    let Question { state, name, asked, headers, .. } = question;
    let putting = Putting::of(asked, &headers, None);
    put(state, name, putting, headers, sent).await
}

pub(super) async fn delete_one(mut question: Question<(String, String)>) -> Result<Response> {
    let expected = question.asked.maybe_number("expected_version", u32::MAX)?;
    let (state, (name, id)) = question.named()?;
    let id = id_of("id", &id)?;
    blocking(move || {
        let graph = state.graph(&name)?;
        let mut changes = GraphChanges::new();
        if let Some(version) = expected {
            changes = changes.expect_version(id, version);
        }
        graph.change(&changes.delete(id), Durability::Synced)?;
        Ok(success(json!({ "deleted": id.to_string() })))
    })
    .await
}

//! Edges: linked, unlinked, and those of a block.

use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde_json::json;
use timestrata_engine::Durability;
use timestrata_graph::{EdgeKey, GraphChanges, Unlinked, edge_line};
use tokio::runtime::Handle;

use super::{ITEMS_DEFAULT, ITEMS_MAX, direction, id_of, unsupported};
use crate::body::{Sent, WholeBody};
use crate::content_type;
use crate::error::{Failure, Result, success};
use crate::query_task::run_query;
use crate::routes::asked::Question;
use crate::state::blocking;

pub(super) async fn edges(mut question: Question<(String, String)>) -> Result<Response> {
    let direction = direction(&mut question.asked)?;
    let kinds = question.asked.names("kinds")?;
    let limit = question.asked.number("limit", ITEMS_DEFAULT, ITEMS_MAX)?;
    let (state, (name, id), query) = question.begin()?;
    let id = id_of("id", &id)?;
    let asker = query.clone();
    run_query(&Handle::current(), &query, move || {
        let kinds: Vec<&str> = kinds.iter().map(String::as_str).collect();
        let edges = state.graph(&name)?.view()?.for_query(&asker).edges(id, direction, &kinds)?;
        let lines: Vec<String> = edges.iter().take(limit).map(edge_line).collect();
        let body = format!(
            r#"{{"success":true,"data":{{"edges":[{}],"is_cut":{}}},"error":null}}"#,
            lines.join(","),
            edges.len() > limit
        );
        Ok(([(header::CONTENT_TYPE, "application/json")], body).into_response())
    })
    .await
}

/// `PUT /graphs/{graph}/edges`: one edge, as a line of an export has it.
pub(super) async fn link(question: Question, sent: Sent) -> Result<Response> {
    let kind = content_type::kind(&question.headers);
    if !content_type::is_web_form(&kind) && !kind.ends_with("json") {
        return Err(unsupported(&kind, "an edge is application/json"));
    }
    let body = WholeBody::new(&question.state, &question.headers, sent).await?;
    let (state, name) = question.named()?;
    blocking(move || {
        let mut line = body.read()?;
        // No text of JSON has a line end in it.
        line.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
        let is_edge = serde_json::from_slice::<serde_json::Value>(&line)
            .is_ok_and(|value| value.get("source").is_some());
        if !is_edge {
            return Err(Failure::bad_request(
                "the body is no edge in JSON: {\"source\": ID, \"kind\": KIND, \"target\": ID}",
            ));
        }
        let changed = state.graph(&name)?.change_lines(line.as_slice(), Durability::Synced)?;
        Ok(success(json!({ "seq": changed.seq.map(|seq| seq.0) })))
    })
    .await
}

pub(super) async fn unlink(mut question: Question) -> Result<Response> {
    let (source, kind) = (question.asked.take("source")?, question.asked.take("kind")?);
    let target = question.asked.take("target")?;
    let (state, name) = question.named()?;
    let changes = GraphChanges::new();
    let changes = match (source, kind, target) {
        (Some(source), Some(kind), Some(target)) => changes.unlink(EdgeKey {
            source: id_of("source", &source)?,
            kind: kind.into(),
            target: id_of("target", &target)?,
        }),
        (Some(source), None, None) => {
            changes.unlink_all(Unlinked::Source(id_of("source", &source)?))
        }
        (None, Some(kind), None) => changes.unlink_all(Unlinked::Kind(kind)),
        (None, None, Some(target)) => {
            changes.unlink_all(Unlinked::Target(id_of("target", &target)?))
        }
        _ => {
            return Err(Failure::bad_request(
                "say source, kind and target of one edge, or one of them for all of its edges",
            ));
        }
    };
    blocking(move || {
        let changed = state.graph(&name)?.change(&changes, Durability::Synced)?;
        Ok(success(json!({ "seq": changed.seq.map(|seq| seq.0) })))
    })
    .await
}

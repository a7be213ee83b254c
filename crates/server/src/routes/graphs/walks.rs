//! What can be reached along edges.

use axum::response::Response;
use serde_json::{Value, json};
use timestrata_graph::walk::Order;
use timestrata_graph::{Reached, Walked};

use super::{ITEMS_DEFAULT, ITEMS_MAX, Way, id_of, read};
use crate::error::{Failure, Result};
use crate::routes::asked::Question;

pub(super) async fn neighbors(mut question: Question<(String, String)>) -> Result<Response> {
    let way = Way::of(&mut question.asked)?;
    let limit = question.asked.number("limit", ITEMS_DEFAULT, ITEMS_MAX)?;
    read(
        question.begin()?,
        |(name, _)| name,
        move |view, (_, id)| {
            let id = id_of("id", id)?;
            let found = way.with(|along| view.neighbors(&[id], along))?;
            let found = found.into_iter().next().unwrap_or_default();
            let shown = found.iter().take(limit);
            let shown: Vec<Value> = shown
                .map(|(id, kind)| json!({ "block": id.to_string(), "kind": &**kind }))
                .collect();
            Ok(json!({ "neighbors": shown, "is_cut": found.len() > limit }))
        },
    )
    .await
}

pub(super) async fn degree(mut question: Question<(String, String)>) -> Result<Response> {
    let way = Way::of(&mut question.asked)?;
    read(
        question.begin()?,
        |(name, _)| name,
        move |view, (_, id)| {
            let id = id_of("id", id)?;
            let degree = way.with(|along| view.degree(id, along))?;
            Ok(json!({ "degree": degree }))
        },
    )
    .await
}

fn walked_json(walked: &Walked) -> Value {
    let of = |reached: &Reached| {
        let parent = reached.parent.and_then(|place| walked.blocks.get(place));
        json!({
            "block": reached.id.to_string(),
            "depth": reached.depth,
            "parent": parent.map(|parent| parent.id.to_string()),
            "kind": reached.kind.as_deref(),
        })
    };
    let blocks: Vec<Value> = walked.blocks.iter().map(of).collect();
    json!({ "blocks": blocks, "is_cut": walked.is_cut })
}

pub(super) async fn walk(mut question: Question<(String, String)>) -> Result<Response> {
    let way = Way::bounded(&mut question.asked, ITEMS_DEFAULT)?;
    let order = question.asked.word("order", &[("bfs", Order::Breadth), ("dfs", Order::Depth)])?;
    read(
        question.begin()?,
        |(name, _)| name,
        move |view, (_, id)| {
            let id = id_of("id", id)?;
            let walked = way.with(|along| view.walk(&[id], along, order, |_| true))?;
            Ok(walked_json(&walked))
        },
    )
    .await
}

pub(super) async fn path(mut question: Question) -> Result<Response> {
    let (source, target) = (question.asked.take("source")?, question.asked.take("target")?);
    let way = Way::bounded(&mut question.asked, ITEMS_MAX)?;
    let weighted = question.asked.truth("weighted")?.unwrap_or(false);
    let begun = question.begin()?;
    let (Some(source), Some(target)) = (source, target) else {
        return Err(Failure::bad_request("say source and target: the blocks at both ends"));
    };
    let (source, target) = (id_of("source", &source)?, id_of("target", &target)?);
    read(
        begun,
        |name| name,
        move |view, _| {
            let routed = way.with(|along| view.shortest_path(source, target, along, weighted))?;
            let route = routed.route.map(|route| {
                let blocks: Vec<String> = route.ids.iter().map(ToString::to_string).collect();
                let kinds: Vec<&str> = route.kinds.iter().map(|kind| &**kind).collect();
                json!({ "blocks": blocks, "kinds": kinds, "cost": route.cost })
            });
            Ok(json!({ "path": route, "is_cut": routed.is_cut }))
        },
    )
    .await
}

//! What is asked of graphs of sources: where a name is, who calls it, what leads from one to another; and what kinds there are.

use axum::response::Response;
use serde_json::{Value, json};
use timestrata_codeindex::{Linked, Relation, Shown, chain, kinds_of, links_of};

use super::{ITEMS_DEFAULT, ITEMS_MAX, read};
use crate::error::{Failure, Result};
use crate::routes::asked::{Asked, Question};

/// The names of all relations.
pub(super) const RELATIONS: &[&str] =
    &["callers", "callees", "imports", "importers", "bases", "derived", "members"];

fn missing(name: &str, what: &str) -> Failure {
    Failure::bad_request(format!("{name}: say {what}, such as {name}=Parser.parse"))
}

fn name_of(asked: &mut Asked) -> Result<String> {
    asked.take("name")?.ok_or_else(|| missing("name", "which name"))
}

pub(super) async fn named(mut question: Question) -> Result<Response> {
    let name = name_of(&mut question.asked);
    let limit = question.asked.number("limit", ITEMS_DEFAULT, ITEMS_MAX)?;
    let begun = question.begin()?;
    let name = name?;
    read(
        begun,
        |graph| graph,
        move |view, graph| {
            let found = timestrata_codeindex::named(view, graph, &name)?;
            let shown: Vec<Value> = found.iter().take(limit).map(Shown::to_json).collect();
            Ok(json!({ "found": shown, "is_cut": found.len() > limit }))
        },
    )
    .await
}

pub(super) async fn links(mut question: Question) -> Result<Response> {
    let name = name_of(&mut question.asked);
    let relation = question.asked.take("relation")?;
    let limit = question.asked.number("limit", ITEMS_DEFAULT, ITEMS_MAX)?;
    let begun = question.begin()?;
    let name = name?;
    let relation = Relation::ALL
        .into_iter()
        .find(|known| relation.as_deref() == Some(known.name()))
        .ok_or_else(|| {
            Failure::bad_request(format!("relation: say which: {}", RELATIONS.join(", ")))
        })?;
    read(
        begun,
        |graph| graph,
        move |view, graph| {
            let mut found = links_of(view, graph, &name, relation)?;
            let is_cut = cut(&mut found, limit);
            let shown: Vec<Value> = found.iter().map(Linked::to_json).collect();
            Ok(json!({ "found": shown, "is_cut": is_cut }))
        },
    )
    .await
}

/// Leaves as many links as that, and as many things that have the name. Tells whether there were more.
fn cut(found: &mut Vec<Linked>, limit: usize) -> bool {
    let (mut left, mut is_cut) = (limit, found.len() > limit);
    found.truncate(limit);
    for linked in found {
        is_cut |= linked.links.len() > left;
        linked.links.truncate(left);
        left -= linked.links.len();
    }
    is_cut
}

pub(super) async fn chained(mut question: Question) -> Result<Response> {
    let (source, target) = (question.asked.take("source")?, question.asked.take("target")?);
    let begun = question.begin()?;
    let source = source.ok_or_else(|| missing("source", "the name that it begins at"))?;
    let target = target.ok_or_else(|| missing("target", "the name that it ends at"))?;
    let query = begun.2.clone();
    read(
        begun,
        |graph| graph,
        move |view, graph| {
            let from = timestrata_codeindex::named(view, graph, &source)?;
            let to = timestrata_codeindex::named(view, graph, &target)?;
            let chain = chain(view, &from, &to, || query.check())?;
            let chain = chain.map(|chain| chain.iter().map(Shown::to_json).collect::<Vec<_>>());
            Ok(json!({ "chain": chain }))
        },
    )
    .await
}

pub(super) async fn kinds(question: Question) -> Result<Response> {
    read(
        question.begin()?,
        |graph| graph,
        |view, _| {
            let kinds = kinds_of(view)?;
            Ok(json!({ "blocks": kinds.blocks, "edges": kinds.edges }))
        },
    )
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_relations_are_offered() {
        assert_eq!(RELATIONS, Relation::ALL.map(Relation::name));
    }
}

//! Graphs of a server.

use std::collections::BTreeMap;

use serde_json::Value;
use timestrata_client::Request;
use timestrata_codeindex::{Kinds, Linked, Relation, Shown};

use super::super::{GraphFace, TakeLine};
use super::{ServedStore, list, unlike};
use crate::failure::{Failure, Result};

/// The most things that a server gives at once.
const MOST: &str = "1000000";

pub(super) struct ServedGraph {
    pub(super) store: ServedStore,
    pub(super) name: String,
}

impl ServedGraph {
    fn get(&self, what: &str) -> Request<'_> {
        self.store.get(&["graphs", &self.name, what])
    }

    /// Everything that a request finds; an error where that is more than an answer has.
    fn found<T>(request: Request<'_>, of: fn(&Value) -> Option<T>) -> Result<Vec<T>> {
        let answer = request.with("limit", MOST).json()?;
        if answer["is_cut"] != false {
            return Err(Failure::failed(
                format!("a server gives {MOST} things at most, and there are more"),
                "ask for a longer name, or export the graph",
            ));
        }
        shown(&answer["found"], "found", of)
    }
}

/// The things of a list.
fn shown<T>(value: &Value, name: &str, of: fn(&Value) -> Option<T>) -> Result<Vec<T>> {
    list(value, name)?.iter().map(|one| of(one).ok_or_else(|| unlike(name))).collect()
}

/// How many there are of each kind.
fn counts(value: &Value, name: &str) -> Result<BTreeMap<String, u64>> {
    let members = value.get(name).and_then(Value::as_object).ok_or_else(|| unlike(name))?;
    let of = |(kind, count): (&String, &Value)| {
        Ok((kind.clone(), count.as_u64().ok_or_else(|| unlike(name))?))
    };
    members.iter().map(of).collect()
}

impl GraphFace for ServedGraph {
    fn named(&self, name: &str) -> Result<Vec<Shown>> {
        Self::found(self.get("names").with("name", name), Shown::of_json)
    }

    fn links(&self, name: &str, relation: Relation) -> Result<Vec<Linked>> {
        let request = self.get("links").with("name", name).with("relation", relation.name());
        Self::found(request, Linked::of_json)
    }

    fn chain(&self, from: &str, to: &str) -> Result<Option<Vec<Shown>>> {
        let answer = self.get("chain").with("source", from).with("target", to).json()?;
        match &answer["chain"] {
            Value::Null => Ok(None),
            chain => shown(chain, "chain", Shown::of_json).map(Some),
        }
    }

    fn kinds(&self) -> Result<Kinds> {
        let answer = self.get("kinds").json()?;
        Ok(Kinds { blocks: counts(&answer, "blocks")?, edges: counts(&answer, "edges")? })
    }

    fn lines(&self, has_content: bool, take: TakeLine<'_>) -> Result<()> {
        let request = self.get("export").with("content", has_content.to_string());
        let mut lines = request.lines()?;
        while let Some(line) = lines.next_line()? {
            take(std::str::from_utf8(line).map_err(|_| unlike("text"))?)?;
        }
        Ok(())
    }
}

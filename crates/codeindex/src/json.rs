//! What is shown of a code graph as JSON, as commands print it and servers give it.

use serde_json::{Value, json};

use crate::show::{Linked, Shown, Site, site};

fn place(site: &Site) -> Value {
    json!([site.line, site.column])
}

impl Shown {
    /// It as an object.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "id": self.id.to_string(),
            "kind": self.kind,
            "name": self.qualified,
            "path": self.path,
            "start": self.start.as_ref().map(place),
            "sites": self.sites.iter().map(place).collect::<Vec<_>>(),
            "by_name_only": self.is_by_name,
        })
    }

    /// What such an object stands for; `None` for what is none.
    #[must_use]
    pub fn of_json(value: &Value) -> Option<Self> {
        let text = |name: &str| value.get(name)?.as_str().map(str::to_owned);
        let sites = value.get("sites")?.as_array()?.iter().map(site);
        Some(Self {
            id: text("id")?.parse().ok()?,
            kind: text("kind")?,
            qualified: text("name")?,
            path: text("path"),
            start: value.get("start").and_then(site),
            sites: sites.collect::<Option<_>>()?,
            is_by_name: value.get("by_name_only")?.as_bool()?,
        })
    }

    /// What a block stands for, which a line of an export has; `None` for an edge, and for what stands for nothing in the
    /// sources.
    #[must_use]
    pub fn of_line(line: &Value) -> Option<Self> {
        let id = line.get("block")?.as_str()?.parse().ok()?;
        let source_uri = line.get("source_uri").and_then(Value::as_str);
        Self::said(id, source_uri, line.get("metadata")?)
    }
}

impl Linked {
    /// It as an object: what it is of, with its `links`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut value = self.of.to_json();
        value["links"] = self.links.iter().map(Shown::to_json).collect();
        value
    }

    /// What such an object stands for; `None` for what is none.
    #[must_use]
    pub fn of_json(value: &Value) -> Option<Self> {
        let links = value.get("links")?.as_array()?.iter().map(Shown::of_json);
        Some(Self { of: Shown::of_json(value)?, links: links.collect::<Option<_>>()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::node_id;

    #[test]
    fn what_is_shown_comes_back_from_its_json_and_what_is_cut_does_not() {
        let of = Shown {
            id: node_id("a.py::f"),
            kind: "function".to_owned(),
            qualified: "f".to_owned(),
            path: Some("a.py".to_owned()),
            start: Some(Site { line: 3, column: 4 }),
            sites: vec![Site { line: 9, column: 0 }],
            is_by_name: true,
        };
        let external = Shown { path: None, start: None, sites: Vec::new(), ..of.clone() };
        let linked = Linked { of, links: vec![external] };
        let value = linked.to_json();
        assert_eq!(Linked::of_json(&value), Some(linked));
        for member in ["id", "kind", "name", "sites", "by_name_only", "links"] {
            let mut cut = value.clone();
            cut.as_object_mut().unwrap().remove(member);
            assert_eq!(Linked::of_json(&cut), None, "{member}");
        }
    }
}

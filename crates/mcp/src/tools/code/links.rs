//! `callers`, `callees` and `show`: what a name is linked to.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use timestrata_codeindex::{Relation, Shown, shown_edges};

use super::super::arguments;
use super::{CodeGraph, LIMIT_DEFAULT, NARROWER, shown_json};
use crate::asked::Asked;
use crate::failure::Result;
use crate::room::Cut;
use crate::tool::Tool;

/// Places that are told of one link.
const SITES_MAX: usize = 20;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LinksArguments {
    /// A function's, class's or file's name: 'parse', 'Parser.parse', 'src/parser.py'.
    name: String,
    /// Only the one in this file: its path, or the end of it.
    file: Option<String>,
    /// The code graph; may be left out where there is only one.
    graph: Option<String>,
    /// Links wanted at most; default 50.
    limit: Option<u32>,
    /// The store as it was: a commit's number, 'pin=NAME' or a time. Default: now.
    at: Option<String>,
}

arguments!(LinksArguments);

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum What {
    /// What it imports.
    Imports,
    /// Who imports it.
    Importers,
    /// What it inherits from.
    Bases,
    /// What inherits from it.
    Derived,
    /// What stands in it.
    Members,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShowArguments {
    /// Which links.
    what: What,
    /// A function's, class's or file's name: 'parse', 'Parser.parse', 'src/parser.py'.
    name: String,
    /// Only the one in this file: its path, or the end of it.
    file: Option<String>,
    /// The code graph; may be left out where there is only one.
    graph: Option<String>,
    /// Links wanted at most; default 50.
    limit: Option<u32>,
    /// The store as it was: a commit's number, 'pin=NAME' or a time. Default: now.
    at: Option<String>,
}

arguments!(ShowArguments);

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LinksAnswer {
    graph: String,
    /// How many things have the name. Those without such links are not in 'of'.
    count: usize,
    /// A thing of that name each, with its links.
    of: Vec<Links>,
    /// Said where there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    none: Option<String>,
    /// What was left out, and how to get it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cut: Vec<Cut>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Links {
    /// Kind, name, path and line.
    thing: Value,
    /// The other ends: kind, name, path, line; 'sites', the [line, column] of each reference in the file of who
    /// refers; 'by_name_only', if it was found only because nothing else has that name.
    links: Vec<Value>,
}

pub(crate) struct Callers;

impl Tool for Callers {
    const NAME: &'static str = "callers";
    const TITLE: &'static str = "Who calls a name";
    const DESCRIPTION: &'static str = "\
Find who calls a function in indexed sources, with file and line of each call; apart for each thing that has the \
name. Example: {\"name\": \"Parser.parse\"}";
    type Arguments = LinksArguments;
    type Answer = LinksAnswer;

    fn answer(arguments: LinksArguments, asked: &Asked) -> Result<LinksAnswer> {
        links(Relation::Callers, &arguments, asked)
    }
}

pub(crate) struct Callees;

impl Tool for Callees {
    const NAME: &'static str = "callees";
    const TITLE: &'static str = "What a name calls";
    const DESCRIPTION: &'static str = "\
Find what a function in indexed sources calls, with the line of each call; kind 'external' is what the sources don't \
have. Example: {\"name\": \"Parser.parse\", \"file\": \"src/parser.py\"}";
    type Arguments = LinksArguments;
    type Answer = LinksAnswer;

    fn answer(arguments: LinksArguments, asked: &Asked) -> Result<LinksAnswer> {
        links(Relation::Callees, &arguments, asked)
    }
}

pub(crate) struct Show;

impl Tool for Show {
    const NAME: &'static str = "show";
    const TITLE: &'static str = "What else a name is linked to";
    const DESCRIPTION: &'static str = "\
Show what a name in indexed sources imports, is imported by, inherits from, is inherited by or holds: the members of \
a file are its outline. Example: {\"what\": \"members\", \"name\": \"src/parser.py\"}";
    type Arguments = ShowArguments;
    type Answer = LinksAnswer;

    fn answer(arguments: ShowArguments, asked: &Asked) -> Result<LinksAnswer> {
        let ShowArguments { what, name, file, graph, limit, at } = arguments;
        let relation = match what {
            What::Imports => Relation::Imports,
            What::Importers => Relation::Importers,
            What::Bases => Relation::Bases,
            What::Derived => Relation::Derived,
            What::Members => Relation::Members,
        };
        links(relation, &LinksArguments { name, file, graph, limit, at }, asked)
    }
}

fn links(relation: Relation, arguments: &LinksArguments, asked: &Asked) -> Result<LinksAnswer> {
    let graph = CodeGraph::open(arguments.graph.as_deref(), asked)?;
    let named = graph.named(&arguments.name, arguments.file.as_deref())?;
    let (direction, kind) = relation.edges();
    let mut room = asked.room(arguments.limit, LIMIT_DEFAULT);
    let mut of = Vec::new();
    for one in &named {
        asked.check()?;
        let mut links = Vec::new();
        for end in shown_edges(&graph.view, one.id, direction, kind)? {
            let mut shown = link_json(&end);
            if !room.takes(&mut shown) {
                break;
            }
            links.push(shown);
        }
        if !links.is_empty() {
            of.push(Links { thing: shown_json(one), links });
        }
        if room.is_full() {
            break;
        }
    }
    let none = of.is_empty().then(|| relation.none(&arguments.name));
    let cut = room.cuts(
        "links",
        "ask for more by 'limit'; or give 'file', or a longer name such as Outer.inner",
        NARROWER,
    );
    Ok(LinksAnswer { graph: graph.name, count: named.len(), of, none, cut })
}

fn link_json(end: &Shown) -> Value {
    let mut value = shown_json(end);
    let Some(members) = value.as_object_mut() else { return value };
    let sites = end.sites.iter().take(SITES_MAX).map(|site| json!([site.line, site.column]));
    let sites: Vec<Value> = sites.collect();
    if !sites.is_empty() {
        members.insert("sites".to_owned(), sites.into());
    }
    if end.sites.len() > SITES_MAX {
        members.insert("more_sites".to_owned(), json!(end.sites.len() - SITES_MAX));
    }
    if end.is_by_name {
        members.insert("by_name_only".to_owned(), json!(true));
    }
    value
}

//! `definition`, `callers`, `callees`, `show` and `path`: what a code graph knows of names.

mod links;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use timestrata::graph::{Graph, GraphView};
use timestrata_codeindex::{Shown, chain, find, names_like, tree_of};

use super::arguments;
use crate::asked::Asked;
use crate::failure::{Failure, Result};
use crate::room::Cut;
use crate::tool::Tool;

pub(super) use links::{Callees, Callers, Show};

/// Things of an answer where nobody says how many.
const LIMIT_DEFAULT: usize = 50;
/// With their sources, so many things of one name are shown; of more, only where they are.
const WITH_SOURCE_MAX: usize = 3;
/// Names that are told where nothing has the one that was asked for.
const LIKE_MAX: usize = 8;
/// Of each end of a path, so many things of its name are tried.
const ENDS_MAX: usize = 8;
const NARROWER: &str = "give 'file', or a longer name such as Outer.inner";

/// A code graph, read for a call.
struct CodeGraph {
    name: String,
    view: GraphView,
}

impl CodeGraph {
    /// The one of a name; without one, the only code graph that there is.
    fn open(name: Option<&str>, asked: &Asked) -> Result<Self> {
        let names = Graph::names(asked.store());
        let view = |name: &str| -> Result<GraphView> {
            let graph = Graph::open(asked.store(), name);
            let graph = graph.map_err(|error| Failure::of_name(error, "graphs", &names))?;
            Ok(graph.view_at(asked.snapshot()?))
        };
        if let Some(name) = name {
            return Ok(Self { name: name.to_owned(), view: view(name)? });
        }
        let mut known = Vec::new();
        for name in &names {
            let view = view(name)?;
            if tree_of(&view)?.is_some() {
                known.push(Self { name: name.clone(), view });
            }
        }
        match known.pop() {
            Some(only) if known.is_empty() => Ok(only),
            Some(_) => Err(Failure::new(
                "graph: there are several code graphs",
                format!("give 'graph'; graphs of this store: {}", names.join(", ")),
            )),
            None => Err(Failure::new(
                "graph: this store has no code graph",
                "'timestrata graph index DIR code SOURCES' makes one",
            )),
        }
    }

    /// What has a name, in a file if one is given; a failure that tells others if nothing has.
    fn named(&self, name: &str, file: Option<&str>) -> Result<Vec<Shown>> {
        let mut found = find(&self.view, name)?;
        // What the sources have comes first: names that they only use are many.
        found.sort_by_key(|one| one.path.is_none());
        if found.is_empty() {
            let like = names_like(&self.view, name, LIKE_MAX)?;
            let hint = match like.is_empty() {
                true => {
                    "names are as the sources have them: 'parse', 'Parser.parse', 'src/parser.py'"
                        .to_owned()
                }
                false => format!("names that hold it: {}", like.join(", ")),
            };
            return Err(Failure::new(
                format!("graph '{}': nothing is called '{name}'", self.name),
                hint,
            ));
        }
        if let Some(file) = file {
            let paths: Vec<String> =
                found.iter().take(LIKE_MAX).filter_map(|one| one.path.clone()).collect();
            found.retain(|one| one.path.as_deref().is_some_and(|path| is_in(path, file)));
            if found.is_empty() {
                return Err(Failure::new(
                    format!("graph '{}': nothing in '{file}' is called '{name}'", self.name),
                    format!("it is in {}", paths.join(", ")),
                ));
            }
        }
        Ok(found)
    }
}

/// Whether a path is a file's, or ends with what is said of it.
fn is_in(path: &str, file: &str) -> bool {
    path.strip_suffix(file).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
}

/// Something of the sources, and where it begins.
fn shown_json(shown: &Shown) -> Value {
    let mut value = json!({ "kind": shown.kind, "name": shown.qualified });
    if let (Some(path), Some(members)) = (&shown.path, value.as_object_mut()) {
        members.insert("path".to_owned(), json!(path));
        members.insert("line".to_owned(), json!(shown.start.map_or(1, |start| start.line)));
    }
    value
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct DefinitionArguments {
    /// A function's, class's or file's name: 'parse', 'Parser.parse', 'src/parser.py'.
    name: String,
    /// Only in this file: its path, or the end of it.
    file: Option<String>,
    /// The code graph; may be left out where there is only one.
    graph: Option<String>,
    /// Definitions wanted at most; default 50.
    limit: Option<u32>,
    /// The store as it was: a commit's number, 'pin=NAME' or a time. Default: now.
    at: Option<String>,
}

arguments!(DefinitionArguments);

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct DefinitionAnswer {
    graph: String,
    /// How many things have the name.
    count: usize,
    /// Each with kind, name, path and line; with its source where few have the name. Kind 'external': the sources
    /// use it and don't have it.
    found: Vec<Value>,
    /// What was left out, and how to get it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cut: Vec<Cut>,
}

pub(super) struct Definition;

impl Tool for Definition {
    const NAME: &'static str = "definition";
    const TITLE: &'static str = "Where a name is defined";
    const DESCRIPTION: &'static str = "\
Find what has a name in indexed sources: kind, file, line, and its source where no more than three things have the \
name. Example: {\"name\": \"Parser.parse\"}";
    type Arguments = DefinitionArguments;
    type Answer = DefinitionAnswer;

    fn answer(arguments: DefinitionArguments, asked: &Asked) -> Result<DefinitionAnswer> {
        let graph = CodeGraph::open(arguments.graph.as_deref(), asked)?;
        let named = graph.named(&arguments.name, arguments.file.as_deref())?;
        let defined = named.iter().filter(|one| one.path.is_some()).count();
        let has_source = defined <= WITH_SOURCE_MAX;
        let mut room = asked.room(arguments.limit, LIMIT_DEFAULT);
        let (mut found, mut shortened) = (Vec::new(), Vec::new());
        for one in &named {
            asked.check()?;
            let mut shown = shown_json(one);
            if !room.takes(&mut shown) {
                break;
            }
            if has_source && one.path.is_some() {
                let share = asked.bounds.bytes_max / 2 / defined;
                shortened.extend(put_source(&graph.view, one, share, &mut shown)?);
            }
            found.push(shown);
        }
        let mut cut = room.cuts("things of this name", NARROWER, "");
        cut.extend(shortened);
        if !has_source {
            let what = format!("sources, as {defined} things have this name");
            cut.push(Cut::new(what, NARROWER));
        }
        Ok(DefinitionAnswer { graph: graph.name, count: named.len(), found, cut })
    }
}

/// Adds the source of something, as much of it as fits; tells what doesn't.
fn put_source(
    view: &GraphView,
    of: &Shown,
    bytes_max: usize,
    shown: &mut Value,
) -> Result<Option<Cut>> {
    let Some(block) = view.get(of.id)? else { return Ok(None) };
    let mut source = String::from_utf8_lossy(block.content()).into_owned();
    let was_shortened = crate::room::shorten_text(&mut source, bytes_max);
    if let Some(members) = shown.as_object_mut() {
        members.insert("source".to_owned(), source.into());
    }
    Ok(was_shortened.then(|| {
        Cut::new(
            format!("the end of the source of {}", of.qualified),
            "ask 'show' for its members and 'definition' for one of them, or read the file",
        )
    }))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PathArguments {
    /// The name where it begins.
    from: String,
    /// The name where it ends.
    to: String,
    /// The code graph; may be left out where there is only one.
    graph: Option<String>,
    /// The store as it was: a commit's number, 'pin=NAME' or a time. Default: now.
    at: Option<String>,
}

arguments!(PathArguments);

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct PathAnswer {
    graph: String,
    /// The chain, from its beginning to its end; empty if nothing leads there.
    path: Vec<Value>,
    /// What was left out, and how to get it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cut: Vec<Cut>,
}

pub(super) struct Path;

impl Tool for Path {
    const NAME: &'static str = "path";
    const TITLE: &'static str = "How one name leads to another";
    const DESCRIPTION: &'static str = "\
Find a shortest chain of calls, imports and inheritance from one name to another in indexed sources: how a function \
comes to be called. Example: {\"from\": \"main\", \"to\": \"Parser.parse\"}";
    type Arguments = PathArguments;
    type Answer = PathAnswer;

    fn answer(arguments: PathArguments, asked: &Asked) -> Result<PathAnswer> {
        let graph = CodeGraph::open(arguments.graph.as_deref(), asked)?;
        let mut cut = Vec::new();
        let mut end = |name: &str| {
            let mut named = graph.named(name, None)?;
            if named.len() > ENDS_MAX {
                let what = format!(
                    "{} things are called '{name}', of which the first {ENDS_MAX} were tried",
                    named.len()
                );
                cut.push(Cut::new(what, "give a longer name, such as Outer.inner"));
                named.truncate(ENDS_MAX);
            }
            Ok::<_, Failure>(named)
        };
        let (from, to) = (end(&arguments.from)?, end(&arguments.to)?);
        let chain = chain(&graph.view, &from, &to, || asked.check())?;
        let mut room = asked.room(None, usize::MAX);
        let mut path = Vec::new();
        for shown in chain.iter().flatten() {
            let mut shown = shown_json(shown);
            if !room.takes(&mut shown) {
                break;
            }
            path.push(shown);
        }
        cut.extend(room.cuts("names on the way", "ask for the path from the last one", ""));
        Ok(PathAnswer { graph: graph.name, path, cut })
    }
}

//! Graphs: made, described and removed; blocks and edges in and out, and walks along them.

mod blocks;
mod edges;
mod export;
mod names;
mod walks;

use std::io::BufReader;

use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::{delete, get, post, put};
use serde_json::{Value, json};
use timestrata_engine::{Durability, RunningQuery};
use timestrata_graph::{Along, BlockId, Changed, Direction, Graph, GraphOptions, GraphView};
use tokio::runtime::Handle;

use crate::auth::Caller;
use crate::body::{Sent, WholeBody};
use crate::content_type;
use crate::endpoint::{ADMIN, Class, Form, Needs, Parameter, READ, Takes, WRITE, parameter};
use crate::error::{Failure, Result, success};
use crate::json_lines::JsonLines;
use crate::moments::Reading;
use crate::query_task::run_query;
use crate::routes::Route;
use crate::routes::asked::{Asked, Question};
use crate::routes::parameters::Members;
use crate::state::{AppState, blocking};

/// Blocks and edges of an answer where nobody says how many, and at most.
const ITEMS_DEFAULT: usize = 1_000;
const ITEMS_MAX: usize = 1_000_000;

const DIRECTION: Parameter =
    parameter("direction", Form::OneOf(&["out", "in", "both"]), "Which edges; out unless given");
const KINDS: Parameter =
    parameter("kinds", Form::Names, "Kinds of edges, with commas between; all unless given");
const AS_OF: Parameter =
    parameter("as_of", Form::Time, "Leaves out edges that hold from a later time on");
const DEPTH: Parameter =
    parameter("depth", Form::Number(u32::MAX as u64), "How many edges away at most");
const NAME: Parameter =
    parameter("name", Form::Text, "Its own, that with what it stands in, or a file's path");
const LIMIT: Parameter = parameter("limit", Form::Number(ITEMS_MAX as u64), "How many at most");
const TIMEOUT: Parameter =
    parameter("timeout", Form::Duration, "The longest time that it is waited for");

pub(super) const ENDPOINTS: &[Route] = &[
    Route::get("/graphs", Needs::Token, "The names of the graphs", || get(list)),
    Route::get("/graphs/{graph}", READ, "What the graph was made as", || get(describe)),
    Route::put(
        "/graphs/{graph}",
        ADMIN,
        "Makes the graph; fine if it is there with these options",
        || put(create),
    )
    .takes(Takes::Members(&[parameter(
        "keep_versions",
        Form::Number(u32::MAX as u64),
        "How many versions of a block stay readable",
    )])),
    Route::delete("/graphs/{graph}", ADMIN, "Removes the graph, durably", || delete(drop)),
    Route::get("/graphs/{graph}/count", READ, "How many blocks and edges there are", || get(count))
        .asks(&[TIMEOUT]),
    Route::post(
        "/graphs/{graph}/changes",
        WRITE,
        "Makes changes, all in one commit, or none",
        || post(change),
    )
    .class(Class::Body)
    .takes(Takes::Kinds(&["application/x-ndjson", "application/json"])),
    Route::get(
        "/graphs/{graph}/blocks",
        READ,
        "Blocks in the order of their ids, without content",
        || get(blocks::find),
    )
    .asks(&[
        parameter("source_uri", Form::Text, "Only those that came from here"),
        parameter(
            "metadata",
            Form::Text,
            "Only those whose metadata has the members of this object",
        ),
        LIMIT,
        TIMEOUT,
    ]),
    Route::get("/graphs/{graph}/blocks/{id}", READ, "A block, or its content alone", || {
        get(blocks::one)
    })
    .gives(&["application/json", "application/octet-stream"]),
    Route::put("/graphs/{graph}/blocks/{id}", WRITE, "Puts a block in a new version", || {
        put(blocks::put_one)
    })
    .class(Class::Body)
    .asks(blocks::PARAMETERS)
    .takes(Takes::Kinds(blocks::KINDS)),
    Route::post(
        "/graphs/{graph}/blocks",
        WRITE,
        "Puts a block whose id is that of its content",
        || post(blocks::post_one),
    )
    .class(Class::Body)
    .asks(blocks::PARAMETERS)
    .takes(Takes::Kinds(blocks::KINDS)),
    Route::delete(
        "/graphs/{graph}/blocks/{id}",
        WRITE,
        "Deletes a block and all of its edges",
        || delete(blocks::delete_one),
    )
    .asks(&[blocks::EXPECTED]),
    Route::get(
        "/graphs/{graph}/blocks/{id}/versions",
        READ,
        "The versions that are kept of it",
        || get(blocks::versions),
    ),
    Route::get("/graphs/{graph}/blocks/{id}/edges", READ, "The edges of a block", || {
        get(edges::edges)
    })
    .asks(&[DIRECTION, KINDS, LIMIT, TIMEOUT]),
    Route::get("/graphs/{graph}/blocks/{id}/neighbors", READ, "The blocks one edge away", || {
        get(walks::neighbors)
    })
    .asks(&[DIRECTION, KINDS, AS_OF, LIMIT, TIMEOUT]),
    Route::get("/graphs/{graph}/blocks/{id}/degree", READ, "How many edges a block has", || {
        get(walks::degree)
    })
    .asks(&[DIRECTION, KINDS, AS_OF, TIMEOUT]),
    Route::get(
        "/graphs/{graph}/blocks/{id}/walk",
        READ,
        "All that can be reached from a block",
        || get(walks::walk),
    )
    .asks(&[
        DIRECTION,
        KINDS,
        AS_OF,
        DEPTH,
        LIMIT,
        parameter("order", Form::OneOf(&["bfs", "dfs"]), "Nearer ones first, or down each path"),
        TIMEOUT,
    ]),
    Route::get("/graphs/{graph}/path", READ, "A shortest path from one block to another", || {
        get(walks::path)
    })
    .asks(&[
        parameter("source", Form::Text, "The block that it begins at"),
        parameter("target", Form::Text, "The block that it ends at"),
        DIRECTION,
        KINDS,
        AS_OF,
        DEPTH,
        LIMIT,
        parameter("weighted", Form::Truth, "true: whose edges weigh least, not the fewest edges"),
        TIMEOUT,
    ]),
    Route::get("/graphs/{graph}/names", READ, "What has a name, of a graph of sources", || {
        get(names::named)
    })
    .asks(&[NAME, LIMIT, TIMEOUT]),
    Route::get(
        "/graphs/{graph}/links",
        READ,
        "What everything that has a name is linked to, with file and line of each place",
        || get(names::links),
    )
    .asks(&[
        NAME,
        parameter("relation", Form::OneOf(names::RELATIONS), "Which links"),
        LIMIT,
        TIMEOUT,
    ]),
    Route::get(
        "/graphs/{graph}/chain",
        READ,
        "A shortest chain of calls, imports and inheritance from one name to another",
        || get(names::chained),
    )
    .asks(&[
        parameter("source", Form::Text, "The name that it begins at"),
        parameter("target", Form::Text, "The name that it ends at"),
        TIMEOUT,
    ]),
    Route::get("/graphs/{graph}/kinds", READ, "How many blocks and edges of each kind", || {
        get(names::kinds)
    })
    .asks(&[TIMEOUT]),
    Route::get(
        "/graphs/{graph}/export",
        READ,
        "All blocks and edges, a line each, which POST of changes takes in",
        || get(export::export),
    )
    .asks(&[parameter("content", Form::Truth, "false: blocks without their content"), TIMEOUT])
    .gives(&["application/x-ndjson"]),
    Route::put("/graphs/{graph}/edges", WRITE, "Links two blocks, or links them anew", || {
        put(edges::link)
    })
    .class(Class::Body)
    .takes(Takes::Kinds(&["application/json"])),
    Route::delete(
        "/graphs/{graph}/edges",
        WRITE,
        "Unlinks an edge, or all of a block or kind",
        || delete(edges::unlink),
    )
    .asks(&[
        parameter("source", Form::Text, "The block that it comes from"),
        parameter("kind", Form::Text, "Its kind"),
        parameter("target", Form::Text, "The block that it goes to"),
    ]),
];

async fn list(caller: Caller, Reading(state): Reading) -> Response {
    success(json!(caller.known(Graph::names(state.read()))))
}

fn described(graph: &Graph) -> Value {
    json!({ "name": graph.name(), "keep_versions": graph.options().keep_versions })
}

async fn describe(question: Question) -> Result<Response> {
    let (state, name) = question.named()?;
    blocking(move || Ok(success(described(&state.graph(&name)?)))).await
}

async fn create(question: Question, mut members: Members) -> Result<Response> {
    let (state, name) = question.named()?;
    let keep_versions = members.number("keep_versions")?;
    let options = GraphOptions {
        keep_versions: keep_versions.unwrap_or(GraphOptions::default().keep_versions),
    };
    blocking(move || Ok(success(described(&Graph::create(&state.store, &name, &options)?)))).await
}

async fn drop(question: Question) -> Result<Response> {
    let (state, name) = question.named()?;
    blocking(move || {
        Graph::drop(&state.store, &name)?;
        state.store.sync()?;
        Ok(success(json!({ "dropped": name })))
    })
    .await
}

async fn count(question: Question) -> Result<Response> {
    let (state, name, query) = question.begin()?;
    let asker = query.clone();
    run_query(&Handle::current(), &query, move || {
        let graph = state.graph(&name)?;
        // It reads no edge in memory.
        let view = graph.view_at(state.read().snapshot()?.for_query(&asker));
        let (blocks, edges) = (view.block_count()?, view.edge_count()?);
        Ok(success(json!({ "blocks": blocks, "edges": edges })))
    })
    .await
}

/// What became of changes.
fn changed_json(changed: &Changed) -> Value {
    let put = changed.put.iter();
    let put: Vec<Value> =
        put.map(|(id, version)| json!({ "block": id.to_string(), "version": version })).collect();
    json!({ "seq": changed.seq.map(|seq| seq.0), "put": put })
}

/// `POST /graphs/{graph}/changes`: a change a line, or a list of them.
async fn change(question: Question, sent: Sent) -> Result<Response> {
    let is_document = content_type::is_document(&question.headers, "changes")?;
    let body = WholeBody::new(&question.state, &question.headers, sent).await?;
    let (state, name) = question.named()?;
    blocking(move || {
        let body = body.read()?;
        let graph = state.graph(&name)?;
        let changed = match is_document {
            true => {
                let lines = BufReader::new(JsonLines::new(body.as_slice()));
                graph.change_lines(lines, Durability::Synced)?
            }
            false => graph.change_lines(body.as_slice(), Durability::Synced)?,
        };
        Ok(success(changed_json(&changed)))
    })
    .await
}

fn unsupported(kind: &str, otherwise: &str) -> Failure {
    let why = format!("Content-Type: {kind:?}: {otherwise}");
    Failure::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, why)
}

fn id_of(name: &str, text: &str) -> Result<BlockId> {
    text.parse().map_err(|error: timestrata_engine::Error| {
        Failure::bad_request(format!("{name}: {}", error.message()))
    })
}

/// `direction`.
fn direction(asked: &mut Asked) -> Result<Direction> {
    let words = [("out", Direction::Out), ("in", Direction::In), ("both", Direction::Both)];
    asked.word("direction", &words)
}

/// Which edges are gone along, and how far.
#[derive(Debug)]
struct Way {
    direction: Direction,
    kinds: Vec<String>,
    as_of_ns: Option<i64>,
    depth_max: u32,
    nodes_max: usize,
}

impl Way {
    /// `direction`, `kinds` and `as_of`.
    fn of(asked: &mut Asked) -> Result<Self> {
        Ok(Self {
            direction: direction(asked)?,
            kinds: asked.names("kinds")?,
            as_of_ns: asked.time("as_of")?,
            depth_max: u32::MAX,
            nodes_max: usize::MAX,
        })
    }

    /// The same with `depth` and `limit`.
    fn bounded(asked: &mut Asked, nodes_max: usize) -> Result<Self> {
        Ok(Self {
            depth_max: asked.number("depth", u32::MAX, u32::MAX)?,
            nodes_max: asked.number("limit", nodes_max, ITEMS_MAX)?,
            ..Self::of(asked)?
        })
    }

    fn with<T>(&self, work: impl FnOnce(&Along<'_>) -> T) -> T {
        let kinds: Vec<&str> = self.kinds.iter().map(String::as_str).collect();
        work(&Along {
            direction: self.direction,
            kinds: &kinds,
            as_of_ns: self.as_of_ns,
            depth_max: self.depth_max,
            nodes_max: self.nodes_max,
        })
    }
}

/// What `work` makes of a graph and a block of it, until nobody waits for it any more.
async fn read<P: Send + 'static>(
    (state, named, query): (AppState, P, RunningQuery),
    name: impl FnOnce(&P) -> &str + Send + 'static,
    work: impl FnOnce(&GraphView, &P) -> Result<Value> + Send + 'static,
) -> Result<Response> {
    let asker = query.clone();
    run_query(&Handle::current(), &query, move || {
        let view = state.graph(name(&named))?.view()?.for_query(&asker);
        Ok(success(work(&view, &named)?))
    })
    .await
}

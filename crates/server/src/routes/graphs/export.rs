//! `GET /graphs/{graph}/export`: a graph whole, a line at a time.

use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use timestrata_engine::Result as StoreResult;
use timestrata_graph::{Block, Edge, GraphView, block_line, block_line_without_content, edge_line};

use crate::answer::pieces::{self, PIECE_BYTES, Pieces};
use crate::answer::{LINES, accepted};
use crate::error::Result;
use crate::routes::asked::Question;

pub(super) async fn export(mut question: Question) -> Result<Response> {
    expect_lines(&question.headers)?;
    let has_content = question.asked.truth("content")?.unwrap_or(true);
    let (state, name, query) = question.begin()?;
    let asker = query.clone();
    let body = pieces::body(&query, move || {
        let graph = state.graph(&name)?;
        // It reads no edge in memory.
        let view = graph.view_at(state.read().snapshot()?.for_query(&asker));
        Ok(LinesOfGraph::new(&view, has_content)?)
    })
    .await?;
    Ok(([(header::CONTENT_TYPE, LINES)], body).into_response())
}

fn expect_lines(headers: &HeaderMap) -> Result<()> {
    accepted(headers, (), &format!("a graph is {LINES}"), |kind| match kind {
        "*/*" | "application/*" | LINES | "application/jsonl" => Some(()),
        _ => None,
    })
}

/// Blocks in the order of their ids, then edges.
struct LinesOfGraph {
    blocks: Box<dyn Iterator<Item = StoreResult<Block>> + Send>,
    edges: Box<dyn Iterator<Item = StoreResult<Edge>> + Send>,
    block_line: fn(&Block) -> String,
}

impl LinesOfGraph {
    fn new(view: &GraphView, has_content: bool) -> StoreResult<Self> {
        Ok(Self {
            blocks: Box::new(view.all_blocks()?),
            edges: Box::new(view.all_edges()?),
            block_line: if has_content { block_line } else { block_line_without_content },
        })
    }

    fn line(&mut self) -> StoreResult<Option<String>> {
        if let Some(block) = self.blocks.next() {
            return Ok(Some((self.block_line)(&block?)));
        }
        self.edges.next().map(|edge| Ok(edge_line(&edge?))).transpose()
    }
}

impl Pieces for LinesOfGraph {
    fn write(&mut self, out: &mut String) -> StoreResult<bool> {
        while out.len() < PIECE_BYTES {
            let Some(line) = self.line()? else { return Ok(true) };
            out.push_str(&line);
            out.push('\n');
        }
        Ok(false)
    }
}

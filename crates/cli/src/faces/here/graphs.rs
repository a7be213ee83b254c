//! Graphs of a store that was opened.

use timestrata::graph::{GraphView, block_line, block_line_without_content, edge_line};
use timestrata_codeindex::{Kinds, Linked, Relation, Shown, chain, kinds_of, links_of, named};

use super::super::{GraphFace, TakeLine};
use crate::failure::Result;

pub(super) struct OpenedGraph {
    pub(super) name: String,
    pub(super) view: GraphView,
}

impl GraphFace for OpenedGraph {
    fn named(&self, name: &str) -> Result<Vec<Shown>> {
        Ok(named(&self.view, &self.name, name)?)
    }

    fn links(&self, name: &str, relation: Relation) -> Result<Vec<Linked>> {
        Ok(links_of(&self.view, &self.name, name, relation)?)
    }

    fn chain(&self, from: &str, to: &str) -> Result<Option<Vec<Shown>>> {
        let (from, to) = (self.named(from)?, self.named(to)?);
        Ok(chain(&self.view, &from, &to, || Ok(()))?)
    }

    fn kinds(&self) -> Result<Kinds> {
        Ok(kinds_of(&self.view)?)
    }

    fn lines(&self, has_content: bool, take: TakeLine<'_>) -> Result<()> {
        let line = if has_content { block_line } else { block_line_without_content };
        for block in self.view.all_blocks()? {
            take(&line(&block?))?;
        }
        for edge in self.view.all_edges()? {
            take(&edge_line(&edge?))?;
        }
        Ok(())
    }
}

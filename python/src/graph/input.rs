//! Blocks and edges that callers bring as objects: mappings, tuples, contents.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyList, PyMapping, PyMappingMethods, PyMemoryView, PyTuple};
use timestrata_graph::{Block as ModelBlock, BlockId, Edge as ModelEdge, GraphChanges, NewBlock};

use super::arguments::{id_of, json_of};
use super::arrow::{self, ArrowBlocks};
use super::{Block, Edge};
use crate::error::wrong_type;
use crate::payload::Payload;
use crate::timestamp::time_ns;
use crate::typed::is_arrow;

/// Content of a block, without a copy where it is bytes, text, or a block that was read.
#[derive(Debug)]
enum Content {
    Given(Payload),
    Read(ModelBlock),
}

impl Content {
    fn of(value: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Some(given) = Payload::of(value)? {
            return Ok(Self::Given(given));
        }
        match PyMemoryView::from(value) {
            Ok(view) => Payload::of_view(&view).map(Self::Given),
            Err(_) => Err(wrong_type("the content of a block is bytes-like or str", value)),
        }
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Self::Given(given) => given.bytes(),
            Self::Read(block) => block.content(),
        }
    }

    fn is_text(&self) -> bool {
        match self {
            Self::Given(given) => given.is_text(),
            Self::Read(block) => block.is_text(),
        }
    }
}

/// A block that somebody gave.
#[derive(Debug)]
pub(super) struct GivenBlock {
    pub(super) id: Option<BlockId>,
    pub(super) version: Option<u32>,
    pub(super) source_uri: Option<String>,
    pub(super) metadata: Option<String>,
    /// Said by rows that were read; else as the content is.
    is_text: Option<bool>,
    content: Content,
}

impl GivenBlock {
    fn new(content: Content) -> Self {
        Self { id: None, version: None, source_uri: None, metadata: None, is_text: None, content }
    }

    /// The parts that a call gives.
    pub(super) fn of_parts(
        content: &Bound<'_, PyAny>,
        id: Option<&Bound<'_, PyAny>>,
        version: Option<u32>,
        source_uri: Option<String>,
        metadata: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let mut given = Self::new(Content::of(content)?);
        given.id = id.map(id_of).transpose()?;
        given.metadata = metadata.map(|given| json_of("metadata", given)).transpose()?.flatten();
        (given.version, given.source_uri) = (version, source_uri);
        Ok(given)
    }

    /// A `Block`, a mapping of its parts, or the content alone.
    pub(super) fn of(block: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(block) = block.cast::<Block>() {
            let model = &block.get().0;
            return Ok(Self {
                id: Some(model.id()),
                version: Some(model.version()),
                source_uri: model.source_uri().map(str::to_owned),
                metadata: model.metadata().map(str::to_owned),
                is_text: None,
                content: Content::Read(model.clone()),
            });
        }
        let Ok(parts) = block.cast::<PyMapping>() else {
            return Content::of(block).map(Self::new);
        };
        let Some(content) = parts.get_item("content").ok().filter(|content| !content.is_none())
        else {
            return Err(PyValueError::new_err("a block has no part \"content\", which it needs"));
        };
        let mut given = Self::new(Content::of(&content)?);
        for item in parts.items()? {
            let (name, part) = item.extract::<(PyBackedStr, Bound<'_, PyAny>)>()?;
            given.set(&name, &part)?;
        }
        Ok(given)
    }

    fn set(&mut self, name: &str, part: &Bound<'_, PyAny>) -> PyResult<()> {
        match name {
            "content" => {}
            "id" if part.is_none() => self.id = None,
            "id" => self.id = Some(id_of(part)?),
            "version" => self.version = part.extract()?,
            "source_uri" => self.source_uri = part.extract()?,
            "metadata" => self.metadata = json_of("a block's metadata", part)?,
            "is_text" => self.is_text = part.extract()?,
            other => {
                return Err(PyValueError::new_err(format!(
                    "a block has no part {other:?}: it has id, version, source_uri, metadata, \
                     content and is_text"
                )));
            }
        }
        Ok(())
    }

    /// The id that it will have, which is not looked for again.
    pub(super) fn identify(&mut self) -> BlockId {
        let id = self.block().id();
        *self.id.insert(id)
    }

    pub(super) fn block(&self) -> NewBlock<'_> {
        NewBlock {
            id: self.id,
            version: self.version,
            source_uri: self.source_uri.as_deref(),
            metadata: self.metadata.as_deref(),
            is_text: self.is_text.unwrap_or_else(|| self.content.is_text()),
            content: self.content.bytes(),
        }
    }
}

/// Blocks that somebody gave: one by one, or as columns of Arrow.
#[derive(Debug)]
pub(super) enum GivenBlocks {
    Each(Vec<GivenBlock>),
    Arrow(ArrowBlocks),
}

impl GivenBlocks {
    pub(super) fn of(blocks: &Bound<'_, PyAny>) -> PyResult<Self> {
        if is_arrow(blocks)? {
            return ArrowBlocks::of(blocks).map(Self::Arrow);
        }
        let each = blocks.try_iter()?.map(|block| GivenBlock::of(&block?));
        each.collect::<PyResult<_>>().map(Self::Each)
    }

    /// Puts all of them, in their order.
    pub(super) fn put<'a>(&'a self, changes: GraphChanges<'a>) -> GraphChanges<'a> {
        match self {
            Self::Each(blocks) => {
                blocks.iter().map(GivenBlock::block).fold(changes, GraphChanges::put)
            }
            Self::Arrow(blocks) => blocks.blocks().fold(changes, GraphChanges::put),
        }
    }
}

/// Edges that somebody gave: one by one, or as columns of Arrow.
pub(super) fn edges_of(edges: &Bound<'_, PyAny>) -> PyResult<Vec<ModelEdge>> {
    if is_arrow(edges)? {
        return arrow::edges_of(edges);
    }
    edges.try_iter()?.map(|edge| edge_of(&edge?)).collect()
}

/// The parts of an edge, in the order that they have in a tuple.
const PARTS: [&str; 6] = ["source", "kind", "target", "weight", "valid_from", "properties"];

/// An edge that somebody gave: an `Edge`, a tuple or list of three to six, or a mapping.
fn edge_of(edge: &Bound<'_, PyAny>) -> PyResult<ModelEdge> {
    if let Ok(edge) = edge.cast::<Edge>() {
        return Ok(edge.get().0.clone());
    }
    if let Ok(parts) = edge.cast::<PyTuple>() {
        return of_parts(&parts.iter().collect::<Vec<_>>());
    }
    if let Ok(parts) = edge.cast::<PyList>() {
        return of_parts(&parts.iter().collect::<Vec<_>>());
    }
    let Ok(named) = edge.cast::<PyMapping>() else {
        return Err(wrong_type(
            "an edge is a tuple of source, kind and target, a mapping or an Edge",
            edge,
        ));
    };
    let mut parts = vec![edge.py().None().into_bound(edge.py()); PARTS.len()];
    for item in named.items()? {
        let (name, part) = item.extract::<(PyBackedStr, Bound<'_, PyAny>)>()?;
        let Some(place) = PARTS.iter().position(|known| **known == *name) else {
            return Err(PyValueError::new_err(format!(
                "an edge has no part {:?}: it has {}",
                &*name,
                PARTS.join(", ")
            )));
        };
        parts[place] = part;
    }
    of_parts(&parts)
}

fn of_parts(parts: &[Bound<'_, PyAny>]) -> PyResult<ModelEdge> {
    let ([source, kind, target], rest) = match parts.split_first_chunk() {
        Some((first, rest)) if parts.len() <= PARTS.len() => (first, rest),
        _ => {
            return Err(PyValueError::new_err(format!(
                "an edge has 3 to {} parts ({}), not {}",
                PARTS.len(),
                PARTS.join(", "),
                parts.len()
            )));
        }
    };
    let said = Said { weight: rest.first(), valid_from: rest.get(1), properties: rest.get(2) };
    said.edge(source, kind, target)
}

/// What more is said of an edge.
#[derive(Debug, Clone, Copy)]
pub(super) struct Said<'a, 'py> {
    pub(super) weight: Option<&'a Bound<'py, PyAny>>,
    pub(super) valid_from: Option<&'a Bound<'py, PyAny>>,
    pub(super) properties: Option<&'a Bound<'py, PyAny>>,
}

impl Said<'_, '_> {
    pub(super) fn edge(
        self,
        source: &Bound<'_, PyAny>,
        kind: &Bound<'_, PyAny>,
        target: &Bound<'_, PyAny>,
    ) -> PyResult<ModelEdge> {
        let Ok(kind) = kind.extract::<PyBackedStr>() else {
            return Err(wrong_type("the kind of an edge is a str", kind));
        };
        let mut edge = ModelEdge::new(id_of(source)?, &*kind, id_of(target)?);
        let part = self.weight.filter(|part| !part.is_none());
        edge.weight = part.map(|part| part.extract()).transpose()?;
        edge.valid_from_ns = self.valid_from.map(time_ns).transpose()?.flatten();
        let properties = self.properties.map(|part| json_of("an edge's properties", part));
        edge.properties = properties.transpose()?.flatten().map(Into::into);
        Ok(edge)
    }
}

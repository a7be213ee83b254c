//! Edges: one a source, kind and target, kept in both directions.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, TimestampNanosecondType};
use arrow_array::{Array, Float64Array, RecordBatch, StringArray, TimestampNanosecondArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use timestrata_engine::{Cell, Error, ErrorKind, Result};

pub(super) use super::adjacency::EdgeSide;
use super::adjacency::{BlockId, Direction};
use super::block::ID_BYTES;
use super::json::refuse_object;

/// Longest name of a kind.
pub const KIND_BYTES_MAX: usize = 255;

/// What an edge is known by.
///
/// ```
/// use timestrata_engine::{Durability, Settings, Store};
/// use timestrata_graph::EdgeKey;
/// # use timestrata_graph::{Edge, Graph, GraphChanges, GraphOptions, NewBlock};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// # let code = Graph::create(&store, "code", &GraphOptions::default())?;
/// # let block = |content| NewBlock { is_text: true, content, ..NewBlock::default() };
/// # let (main, run) = (block(b"fn main() { run() }"), block(b"fn run() {}"));
/// # let call = Edge::new(main.id(), "calls", run.id());
/// # let changes = GraphChanges::new().put(main).put(run).link(call);
/// # code.change(&changes, Durability::Written)?;
/// // A block `main` has an edge to a block `run`, of the kind `calls`.
/// let call = EdgeKey { source: main.id(), kind: "calls".into(), target: run.id() };
/// code.change(&GraphChanges::new().unlink(call), Durability::Written)?;
/// assert_eq!(code.view()?.edge_count()?, 0);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EdgeKey {
    /// The block that it comes from.
    pub source: BlockId,
    /// What it says: `calls`, `imports`, anything.
    pub kind: Arc<str>,
    /// The block that it goes to, which need not exist.
    pub target: BlockId,
}

/// An edge.
///
/// ```
/// use timestrata_graph::{Edge, id_of_content};
///
/// let (main, run) = (id_of_content(b"main"), id_of_content(b"run"));
/// let call = Edge { weight: Some(2.0), ..Edge::new(main, "calls", run) };
/// assert_eq!((&*call.key.kind, call.key.target), ("calls", run));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Edge {
    /// What it is known by.
    pub key: EdgeKey,
    /// How much it counts in sums along a path: a finite number. Default: 1.
    pub weight: Option<f64>,
    /// Since when it holds, nanoseconds since the epoch. Default: always.
    pub valid_from_ns: Option<i64>,
    /// A JSON object, as text.
    pub properties: Option<Arc<str>>,
}

impl Edge {
    /// An edge that nothing more is said of.
    pub fn new(source: BlockId, kind: impl Into<Arc<str>>, target: BlockId) -> Self {
        let key = EdgeKey { source, kind: kind.into(), target };
        Self { key, weight: None, valid_from_ns: None, properties: None }
    }

    /// Whether more is said of it than what it is known by.
    pub(super) fn says_more(&self) -> bool {
        self.weight.is_some() || self.valid_from_ns.is_some() || self.properties.is_some()
    }

    /// # Errors
    /// `InvalidArgument` for a kind without a name or with too long a one, a weight that is no finite
    /// number, and properties that are no JSON object.
    pub(super) fn check(&self) -> Result<()> {
        let EdgeKey { source, kind, target } = &self.key;
        check_kind(kind)?;
        let wrong = |what: String| {
            let message = format!("edge {source} -{kind}-> {target}: {what}");
            Err(Error::new(ErrorKind::InvalidArgument, message))
        };
        if let Some(weight) = self.weight.filter(|weight| !weight.is_finite()) {
            return wrong(format!("its weight is {weight}; it must be a finite number"));
        }
        match self.properties.as_deref().and_then(refuse_object) {
            None => Ok(()),
            Some(why) => wrong(format!("its properties must be a JSON object: {why}")),
        }
    }
}

impl EdgeSide {
    /// Both, in the order of their streams.
    pub(super) const BOTH: [Self; 2] = [Self::Out, Self::In];
}

impl EdgeKey {
    /// The cells of the key as the stream of a side has them.
    pub(super) fn cells(&self, side: EdgeSide) -> [Cell<'_>; 3] {
        let (lead, last) = match side {
            EdgeSide::Out => (&self.source, &self.target),
            EdgeSide::In => (&self.target, &self.source),
        };
        [Cell::Bytes(lead.bytes()), Cell::Text(&self.kind), Cell::Bytes(last.bytes())]
    }
}

impl Edge {
    /// The edge as a row of the stream of a side.
    pub(super) fn cells(&self, side: EdgeSide) -> [Cell<'_>; 6] {
        let [lead, kind, last] = self.key.cells(side);
        let weight = self.weight.map_or(Cell::Null, Cell::Float);
        let valid_from = self.valid_from_ns.map_or(Cell::Null, Cell::Int);
        let properties = self.properties.as_deref().map_or(Cell::Null, Cell::Text);
        [lead, kind, last, weight, valid_from, properties]
    }
}

/// # Errors
/// `InvalidArgument` for a name that no kind can have.
pub(super) fn check_kind(kind: &str) -> Result<()> {
    if (1..=KIND_BYTES_MAX).contains(&kind.len()) {
        return Ok(());
    }
    let message =
        format!("a kind of edge has a name of 1 to {KIND_BYTES_MAX} bytes, not of {}", kind.len());
    Err(Error::new(ErrorKind::InvalidArgument, message))
}

impl EdgeSide {
    /// The sides from which edges are seen in a direction.
    pub(super) fn of(direction: Direction) -> &'static [Self] {
        match direction {
            Direction::Out => &[Self::Out],
            Direction::In => &[Self::In],
            Direction::Both => &[Self::Out, Self::In],
        }
    }

    /// The key columns, in key order.
    pub(super) fn key(self) -> [&'static str; 3] {
        match self {
            Self::Out => ["source", "kind", "target"],
            Self::In => ["target", "kind", "source"],
        }
    }

    pub(super) fn fields(self) -> Vec<Field> {
        let id = |name| Field::new(name, DataType::FixedSizeBinary(ID_BYTES), false);
        let [lead, kind, last] = self.key();
        vec![id(lead), Field::new(kind, DataType::Utf8, false), id(last)]
    }

    /// The columns of its stream.
    pub(super) fn schema(self) -> SchemaRef {
        let time = DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()));
        let mut fields = self.fields();
        fields.push(Field::new("weight", DataType::Float64, true));
        fields.push(Field::new("valid_from", time, true));
        fields.push(Field::new("properties", DataType::Utf8, true));
        Arc::new(Schema::new(fields))
    }
}

/// The place of the column that is read only where it is wanted: the last one.
pub(super) const PROPERTIES: usize = 5;

/// Rows of one of the two streams, as columns whose types are known.
pub(super) struct EdgeRows<'a> {
    side: EdgeSide,
    lead: &'a [[u8; 16]],
    kinds: &'a StringArray,
    last: &'a [[u8; 16]],
    weights: &'a Float64Array,
    times: &'a TimestampNanosecondArray,
    /// Absent where nobody reads them.
    properties: Option<&'a StringArray>,
}

impl<'a> EdgeRows<'a> {
    /// # Errors
    /// `Corruption` for other columns than those of edges.
    pub(super) fn of(side: EdgeSide, rows: &'a RecordBatch) -> Result<Self> {
        let find = || {
            let column = |index: usize| rows.columns().get(index);
            let ids = |index: usize| {
                let ids = column(index)?.as_fixed_size_binary_opt()?;
                let (ids, rest) = ids.value_data().as_chunks::<16>();
                (rest.is_empty() && ids.len() == rows.num_rows()).then_some(ids)
            };
            Some(Self {
                side,
                lead: ids(0)?,
                kinds: column(1)?.as_string_opt()?,
                last: ids(2)?,
                weights: column(3)?.as_primitive_opt::<Float64Type>()?,
                times: column(4)?.as_primitive_opt::<TimestampNanosecondType>()?,
                properties: match column(PROPERTIES) {
                    Some(column) => Some(column.as_string_opt()?),
                    None => None,
                },
            })
        };
        find().ok_or_else(|| {
            let message = "rows of a graph's edges have other columns than edges";
            Error::new(ErrorKind::Corruption, message)
        })
    }

    /// Source, kind and target of each row.
    pub(super) fn keys(&self) -> impl Iterator<Item = (BlockId, &'a str, BlockId)> {
        let side = self.side;
        let kinds = self.kinds.iter().map(Option::unwrap_or_default);
        self.lead.iter().zip(kinds).zip(self.last).map(move |((lead, kind), last)| match side {
            EdgeSide::Out => (BlockId::new(*lead), kind, BlockId::new(*last)),
            EdgeSide::In => (BlockId::new(*last), kind, BlockId::new(*lead)),
        })
    }

    /// What more is said of an edge: its weight, and since when it holds.
    pub(super) fn said(&self, row: usize) -> (Option<f64>, Option<i64>) {
        let weight = self.weights.is_valid(row).then(|| self.weights.value(row));
        let time = self.times.is_valid(row).then(|| self.times.value(row));
        (weight, time)
    }

    /// The edges as values of their own.
    pub(super) fn edges(&self) -> impl Iterator<Item = Edge> {
        self.keys().enumerate().map(|(row, (source, kind, target))| {
            let (weight, valid_from_ns) = self.said(row);
            let properties = self.properties.filter(|texts| texts.is_valid(row));
            let properties = properties.map(|texts| Arc::from(texts.value(row)));
            let key = EdgeKey { source, kind: Arc::from(kind), target };
            Edge { key, weight, valid_from_ns, properties }
        })
    }
}

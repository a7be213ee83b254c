//! Changes to edges in the order of both streams, ready to be written.
//!
//! Edges lie anywhere in memory, so all that orders them is brought together first, and each is looked at
//! once more when its row is made. The rows of the second stream are those of the first, in other order.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::{
    FixedSizeBinaryBuilder, Float64Builder, StringBuilder, TimestampNanosecondBuilder,
};
use arrow_array::{ArrayRef, RecordBatch, UInt32Array};
use arrow_schema::{ArrowError, Schema};
use arrow_select::take::take_arrays;
use timestrata_engine::Result;

use super::block::{ID_BYTES, unmade};
use super::changes::EdgeChange;
use super::edge::{Edge, EdgeKey, EdgeSide};

/// Of more, batches take less.
const FEW_MAX: usize = 16;

/// What orders an edge in a stream: one end, the rank of its kind, the other end.
type Order = (u128, u32, u128);

/// What becomes of edges in the end, by source, kind and target.
pub(super) struct Ordered<'a> {
    pub(super) linked: Many<'a, &'a Edge>,
    pub(super) unlinked: Many<'a, &'a EdgeKey>,
}

/// Some of one sort.
pub(super) struct Many<'a, T> {
    /// Names of the kinds, by their rank.
    kinds: Arc<[&'a str]>,
    order: Vec<Order>,
    each: Vec<T>,
    /// Whether more is said of any than its key.
    says_more: bool,
}

impl<'a, T> Many<'a, T> {
    fn new(kinds: &Arc<[&'a str]>, says_more: bool) -> Self {
        Self { kinds: Arc::clone(kinds), order: Vec::new(), each: Vec::new(), says_more }
    }

    fn push(&mut self, order: Order, one: T) {
        self.order.push(order);
        self.each.push(one);
    }

    /// All of them, if they are so few that they are better written one by one.
    pub(super) fn few(&self) -> Option<&[T]> {
        (self.each.len() <= FEW_MAX).then_some(&self.each)
    }

    /// The key columns, in the order of the first stream.
    fn key_columns(&self) -> Result<Vec<ArrayRef>> {
        let rows = self.order.len();
        let mut sources = FixedSizeBinaryBuilder::with_capacity(rows, ID_BYTES);
        let mut targets = FixedSizeBinaryBuilder::with_capacity(rows, ID_BYTES);
        let mut kinds = StringBuilder::new();
        for (source, kind, target) in &self.order {
            kinds.append_value(self.kinds.get(*kind as usize).copied().unwrap_or_default());
            let ids = [(&mut sources, source), (&mut targets, target)];
            ids.into_iter()
                .try_for_each(|(column, id)| column.append_value(id.to_be_bytes()))
                .map_err(|error| unmade(&error))?;
        }
        Ok(vec![Arc::new(sources.finish()), Arc::new(kinds.finish()), Arc::new(targets.finish())])
    }

    /// Places in the order of the other stream.
    fn by_target(&self) -> UInt32Array {
        let turned = self.order.iter().zip(0..);
        let mut turned: Vec<(Order, u32)> = turned
            .map(|(&(source, kind, target), place)| ((target, kind, source), place))
            .collect();
        turned.sort_unstable();
        turned.into_iter().map(|(_, place)| place).collect::<Vec<u32>>().into()
    }

    /// Rows of both streams, of the columns of the first and the schemas of each.
    fn rows(
        &self,
        columns: &[ArrayRef],
        schema: impl Fn(EdgeSide) -> Schema,
    ) -> Result<Vec<(EdgeSide, RecordBatch)>> {
        let make = || {
            let mut others = take_arrays(columns, &self.by_target(), None)?;
            others.swap(0, 2);
            let batch = |side, columns| RecordBatch::try_new(Arc::new(schema(side)), columns);
            let out = batch(EdgeSide::Out, columns.to_vec())?;
            Ok(vec![(EdgeSide::Out, out), (EdgeSide::In, batch(EdgeSide::In, others)?)])
        };
        make().map_err(|error: ArrowError| unmade(&error))
    }
}

impl<'a> Ordered<'a> {
    /// Of several changes to one edge the last one counts.
    pub(super) fn new(changes: &'a [EdgeChange<'a>]) -> Self {
        let mut sorted: Vec<(Order, usize)> = Vec::with_capacity(changes.len());
        let (ranks, kinds) = ranks_of_kinds(changes);
        let mut says_more = false;
        for ((place, change), rank) in changes.iter().enumerate().zip(ranks) {
            says_more |= matches!(change, EdgeChange::Link(edge) if edge.says_more());
            let [source, target] = [change.key().source, change.key().target]
                .map(|id| u128::from_be_bytes(*id.bytes()));
            sorted.push(((source, rank, target), place));
        }
        sorted.sort_unstable();
        let mut linked = Many::new(&kinds, says_more);
        let mut unlinked = Many::new(&kinds, false);
        for same in sorted.chunk_by(|(a, _), (b, _)| a == b) {
            let Some((order, place)) = same.last() else { continue };
            match changes.get(*place) {
                Some(EdgeChange::Link(edge)) => linked.push(*order, *edge),
                Some(EdgeChange::Unlink(key)) => unlinked.push(*order, key.as_ref()),
                None => {}
            }
        }
        Self { linked, unlinked }
    }
}

impl Many<'_, &Edge> {
    /// Edges as rows of both streams, each in its order; none if there are no edges.
    pub(super) fn edge_rows(&self) -> Result<Vec<(EdgeSide, RecordBatch)>> {
        if self.each.is_empty() {
            return Ok(Vec::new());
        }
        let mut columns = self.key_columns()?;
        columns.extend(self.said());
        self.rows(&columns, |side| Arc::unwrap_or_clone(side.schema()))
    }

    /// The columns behind those of the key.
    fn said(&self) -> [ArrayRef; 3] {
        let rows = self.each.len();
        let mut weights = Float64Builder::with_capacity(rows);
        let mut times = TimestampNanosecondBuilder::with_capacity(rows);
        let mut properties = StringBuilder::with_capacity(rows, 0);
        if self.says_more {
            for edge in &self.each {
                weights.append_option(edge.weight);
                times.append_option(edge.valid_from_ns);
                properties.append_option(edge.properties.as_deref());
            }
        } else {
            weights.append_nulls(rows);
            times.append_nulls(rows);
            properties.append_nulls(rows);
        }
        let times = times.finish().with_timezone("UTC");
        [Arc::new(weights.finish()), Arc::new(times), Arc::new(properties.finish())]
    }
}

impl Many<'_, &EdgeKey> {
    /// Keys as rows of both streams, each in its order; none if there are no keys.
    pub(super) fn key_rows(&self) -> Result<Vec<(EdgeSide, RecordBatch)>> {
        match self.each.is_empty() {
            true => Ok(Vec::new()),
            false => self.rows(&self.key_columns()?, |side| Schema::new(side.fields())),
        }
    }
}

/// The place of each change's kind among all kinds that there are, in order of their names; and these.
fn ranks_of_kinds<'a>(changes: &'a [EdgeChange<'a>]) -> (Vec<u32>, Arc<[&'a str]>) {
    let (mut numbers, mut of_each) = (HashMap::new(), Vec::with_capacity(changes.len()));
    let mut last: Option<(&str, u32)> = None;
    for change in changes {
        let name = &*change.key().kind;
        let number = match last {
            Some((known, number)) if known == name => number,
            _ => {
                let next = numbers.len() as u32;
                *numbers.entry(name).or_insert(next)
            }
        };
        last = Some((name, number));
        of_each.push(number);
    }
    let mut names: Vec<(&str, u32)> = numbers.into_iter().collect();
    names.sort_unstable();
    let mut ranks = vec![0; names.len()];
    for (rank, (_, number)) in (0..).zip(&names) {
        if let Some(own) = ranks.get_mut(*number as usize) {
            *own = rank;
        }
    }
    of_each.iter_mut().for_each(|kind| *kind = ranks.get(*kind as usize).copied().unwrap_or(*kind));
    (of_each, names.into_iter().map(|(name, _)| name).collect())
}

//! Table functions over one log, graph or topic, as SQL has them.
//!
//! - `search(log, filter)`
//! - `walk(graph, start [, depth, direction =>, kinds =>, order =>, nodes_max =>, as_of =>])`
//! - `shortest_path(graph, source, target [, depth, direction =>, kinds =>, by_weight =>, nodes_max =>, as_of =>])`
//! - `proof(topic, offset [, partition])`
//!
//! What they are called with is made out and checked here.

mod graph;
mod proof;

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::catalog::TableProvider;
use datafusion::common::{Result, ScalarValue, TableReference};
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::logical_expr::planner::{
    RelationPlanner, RelationPlannerContext, RelationPlanning,
};
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder};
use sqlparser::ast::{self, ObjectName, TableFactor};
use timestrata_graph::walk::Order;
use timestrata_graph::{BlockId, Direction};

use self::graph::{AlongEdges, ShortestPath, Walk};
use self::proof::Proof;
use crate::error::{carried, refused};
use crate::functions::{CallArguments, CallPlanner, columns, literal, plan_call, text};
use crate::physical_plan::{Computation, ComputedTable};
use crate::table::{GraphTable, TopicTable, search_table};

#[derive(Debug)]
pub(crate) struct ModelFunctions;

fn planner_of(name: &str) -> Option<(&'static str, CallPlanner)> {
    match name {
        "search" => Some(("search", plan_search)),
        "walk" => Some(("walk", plan_walk)),
        "shortest_path" => Some(("shortest_path", plan_shortest_path)),
        "proof" => Some(("proof", plan_proof)),
        _ => None,
    }
}

impl RelationPlanner for ModelFunctions {
    fn plan_relation(
        &self,
        relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        plan_call(planner_of, relation, context)
    }
}

/// `search(log, filter)`.
fn plan_search(
    mut given: CallArguments,
    context: &mut dyn RelationPlannerContext,
) -> Result<LogicalPlan> {
    let (name, table) = named_table(&mut given, "log", context)?;
    let filter = match literal(given.need("filter")?, context)? {
        ScalarValue::Utf8(Some(filter)) => filter,
        _ => return Err(refused("search: 'filter' is a text in the language of filters")),
    };
    given.finish()?;
    let found = search_table(table.as_ref(), name.table(), &filter).map_err(carried)?;
    LogicalPlanBuilder::scan(name, provider_as_source(found), None)?.build()
}

/// `walk(graph, start [, depth] [, direction] [, kinds] [, order] [, nodes_max] [, as_of])`.
fn plan_walk(
    mut given: CallArguments,
    context: &mut dyn RelationPlannerContext,
) -> Result<LogicalPlan> {
    let graph = graph(&mut given, context)?;
    let starts = block_ids(&given.need("start")?, context)?;
    let edges = along_edges(&mut given, context)?;
    let order = match given.named("order").map(|order| text(&order)) {
        None => Order::Breadth,
        Some(Some(order)) if order.eq_ignore_ascii_case("breadth") => Order::Breadth,
        Some(Some(order)) if order.eq_ignore_ascii_case("depth") => Order::Depth,
        Some(_) => return Err(refused("walk: order is 'breadth' or 'depth'")),
    };
    given.finish()?;
    computed("walk", Walk { graph, starts, order, edges })
}

/// `shortest_path(graph, source, target [, depth] [, direction] [, kinds] [, by_weight] [, nodes_max] [, as_of])`.
fn plan_shortest_path(
    mut given: CallArguments,
    context: &mut dyn RelationPlannerContext,
) -> Result<LogicalPlan> {
    let graph = graph(&mut given, context)?;
    let source = block_id(&mut given, "source", context)?;
    let target = block_id(&mut given, "target", context)?;
    let edges = along_edges(&mut given, context)?;
    let by_weight = match given.named("by_weight") {
        None => false,
        Some(by_weight) => match literal(by_weight, context)? {
            ScalarValue::Boolean(Some(by_weight)) => by_weight,
            _ => return Err(refused("shortest_path: by_weight is true or false")),
        },
    };
    if by_weight && edges.depth.is_some() {
        return Err(refused("shortest_path: a way by weight has no depth"));
    }
    given.finish()?;
    computed("shortest_path", ShortestPath { graph, source, target, by_weight, edges })
}

/// `proof(topic, offset [, partition])`.
fn plan_proof(
    mut given: CallArguments,
    context: &mut dyn RelationPlannerContext,
) -> Result<LogicalPlan> {
    let (name, table) = named_table(&mut given, "topic", context)?;
    let topic = TopicTable::of(table.as_ref(), name.table()).map_err(carried)?;
    let offset = given.need("offset")?;
    let offset = number(Some(offset), "proof: 'offset'", context)?.unwrap_or_default();
    let partition = number(given.take("partition"), "proof: 'partition'", context)?;
    given.finish()?;
    computed("proof", Proof { topic, partition: partition.unwrap_or_default(), offset })
}

fn computed(name: &str, computation: impl Computation) -> Result<LogicalPlan> {
    let table = Arc::new(ComputedTable(Arc::new(computation)));
    LogicalPlanBuilder::scan(TableReference::bare(name), provider_as_source(table), None)?.build()
}

/// The table that an argument names.
fn named_table(
    given: &mut CallArguments,
    argument: &str,
    context: &dyn RelationPlannerContext,
) -> Result<(TableReference, Arc<dyn TableProvider>)> {
    let value = given.need(argument)?;
    let parts = match &value {
        ast::Expr::Identifier(name) => Some(vec![name.clone()]),
        ast::Expr::CompoundIdentifier(names) => Some(names.clone()),
        _ => None,
    };
    let name = match (text(&value), parts) {
        (Some(name), _) => TableReference::bare(name),
        (None, Some(parts)) => context.object_name_to_table_reference(ObjectName::from(parts))?,
        (None, None) => return Err(refused(format!("{value} is no name of a {argument}"))),
    };
    let source = context.context_provider().get_table_source(name.clone())?;
    Ok((name, source_as_provider(&source)?))
}

fn graph(given: &mut CallArguments, context: &dyn RelationPlannerContext) -> Result<GraphTable> {
    let (name, table) = named_table(given, "graph", context)?;
    GraphTable::of(table.as_ref(), name.table()).map_err(carried)
}

fn along_edges(
    given: &mut CallArguments,
    context: &mut dyn RelationPlannerContext,
) -> Result<AlongEdges> {
    let depth = number(given.take("depth"), "depth", context)?;
    let direction = match given.named("direction").map(|direction| text(&direction)) {
        None => Direction::Out,
        Some(direction) => match direction.unwrap_or_default().to_lowercase().as_str() {
            "out" => Direction::Out,
            "in" => Direction::In,
            "both" => Direction::Both,
            _ => return Err(refused("direction is 'out', 'in' or 'both'")),
        },
    };
    let kinds = given.named("kinds").map_or(Ok(Vec::new()), |kinds| columns(&kinds, context))?;
    let nodes = number(given.named("nodes_max"), "nodes_max", context)?;
    let as_of_ns = match given.named("as_of") {
        None => None,
        Some(time) => {
            let time = literal(time, context)?;
            match time.cast_to(&DataType::Timestamp(TimeUnit::Nanosecond, None))? {
                ScalarValue::TimestampNanosecond(time_ns, _) => time_ns,
                _ => return Err(refused("as_of is a time")),
            }
        }
    };
    Ok(AlongEdges { direction, kinds, as_of_ns, depth, nodes })
}

/// A whole number from 0 on.
fn number<T: TryFrom<u64>>(
    value: Option<ast::Expr>,
    what: &str,
    context: &mut dyn RelationPlannerContext,
) -> Result<Option<T>> {
    let Some(value) = value else { return Ok(None) };
    let given = match literal(value, context)? {
        ScalarValue::Int64(Some(number)) => u64::try_from(number).ok(),
        ScalarValue::UInt64(number) => number,
        _ => None,
    };
    let number = given.and_then(|number| T::try_from(number).ok());
    number.map(Some).ok_or_else(|| refused(format!("{what} is a whole number from 0 on")))
}

/// The id of one block.
fn block_id(
    given: &mut CallArguments,
    argument: &str,
    context: &mut dyn RelationPlannerContext,
) -> Result<BlockId> {
    match block_ids(&given.need(argument)?, context)?.as_slice() {
        [id] => Ok(*id),
        _ => Err(refused(format!("'{argument}' is the id of one block"))),
    }
}

/// Ids of blocks: text of hexadecimal digits, several with commas between them, bytes (`X'..'`), or a list of these.
fn block_ids(value: &ast::Expr, context: &mut dyn RelationPlannerContext) -> Result<Vec<BlockId>> {
    let several = match value {
        ast::Expr::Nested(inner) => return block_ids(inner, context),
        ast::Expr::Tuple(values) => Some(values),
        ast::Expr::Array(array) => Some(&array.elem),
        _ => None,
    };
    if let Some(values) = several {
        let ids = values.iter().map(|value| block_ids(value, context));
        return Ok(ids.collect::<Result<Vec<_>>>()?.concat());
    }
    match literal(value.clone(), context)? {
        ScalarValue::Utf8(Some(text)) => {
            let ids = text.split(',').map(|id| id.trim().parse());
            ids.collect::<timestrata_engine::Result<_>>().map_err(carried)
        }
        ScalarValue::Binary(Some(bytes)) | ScalarValue::FixedSizeBinary(_, Some(bytes)) => {
            BlockId::try_from(bytes.as_slice()).map(|id| vec![id]).map_err(carried)
        }
        _ => Err(refused(format!("{value} is no id of a block: it has 32 hexadecimal digits"))),
    }
}

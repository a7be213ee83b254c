//! A materialised view's query as queries over what is kept: from rows to partial results, from these to fewer, and from these to its columns.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion::arrow::error::ArrowError;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, Result as DataFusionResult, ScalarValue};
use datafusion::execution::SessionState;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Volatility};
use timestrata_engine::{Error, ErrorKind, Result};
use timestrata_table::{Buckets, MaterializedView, expiring_before, is_table};

use super::shape::{Aggregate, AggregateKind, Origin, Shape, table_of};
use crate::catalog::Catalog;
use crate::error::{from_datafusion, invalid};
use crate::expressions::has_expression;
use crate::functions::{Step, parse_interval};
use crate::params::Params;
use crate::planner_context::NamedTables;
use crate::planning::{Planning, plan_over, planned_view};
use crate::schema::{SqlTable, plain_schema};
use crate::statement;

/// The tables of the queries over what is kept.
pub(crate) const KEPT: &str = "__kept";
pub(crate) const ADDED: &str = "__added";
pub(crate) const BASE: &str = "__base";

/// A materialised view of a table as it is at one snapshot.
#[derive(Debug)]
pub(crate) struct Definition {
    query: String,
    shape: Shape,
    pub(crate) base: SqlTable,
    /// The columns of the table that it reads.
    pub(crate) read: SchemaRef,
    /// Its own columns.
    output: SchemaRef,
    step: Step,
    origin: i64,
}

pub(crate) fn unfit(error: ArrowError) -> Error {
    Error::new(ErrorKind::InvalidData, "rows don't fit a materialised view").caused_by(error)
}

impl Definition {
    /// # Errors
    /// `InvalidArgument` for a query that can't be kept, `NotFound` without its table.
    pub(crate) fn of(planning: &Planning, query: &str) -> Result<Self> {
        let base = planning.catalog.require(&table_of(query)?)?;
        if !is_table(&base.stream) {
            let name = &base.name;
            return Err(invalid(format!(
                "'{name}' is no table: a materialised view is of a table"
            )));
        }
        let time = base.stream.schema().field(base.stream.lead_column());
        let DataType::Timestamp(unit, _) = time.data_type() else {
            return Err(invalid(format!(
                "the times of table '{}' are numbers: a materialised view needs a type of time",
                base.name
            )));
        };
        let shape = Shape::of(query, base.stream.schema(), time.name())?;
        let step = step_of(&shape.interval, *unit)?;
        let plan = planned_view(planning, query).map_err(from_datafusion)?;
        check_lasting(&plan)?;
        let stored = base.stream.schema().fields().iter();
        let is_read =
            |field: &&Arc<Field>| shape.names.contains(field.name()) || field.name() == time.name();
        let read = Schema::new(stored.filter(is_read).cloned().collect::<Vec<_>>());
        let definition = Self {
            query: query.to_owned(),
            output: Arc::new(plan.schema().as_arrow().clone()),
            read: Arc::new(read),
            origin: step.origin(*unit),
            shape,
            base,
            step,
        };
        definition.check_types()?;
        Ok(definition)
    }

    /// What is to be made for it.
    pub(crate) fn view(&self, name: String, planning: &Planning) -> Result<MaterializedView> {
        let plan = self
            .plan(
                &planning.state,
                &BaseAlone(&planning.catalog, &self.base.name),
                &self.partial(BASE),
            )
            .map_err(from_datafusion)?;
        let fields = plain_schema(plan.schema().as_arrow());
        let state = fields.fields().iter().enumerate().map(|(place, field)| match place {
            0 => Field::clone(field).with_nullable(false),
            _ => Field::clone(field).with_nullable(true),
        });
        let Step::Width(width) = self.step else { return Err(months()) };
        Ok(MaterializedView {
            name,
            query: self.query.clone(),
            table: self.base.name.clone(),
            state: Arc::new(Schema::new(state.collect::<Vec<_>>())),
            buckets: Buckets { width, origin: self.origin },
        })
    }

    pub(crate) fn time_name(&self) -> &str {
        self.base.stream.schema().field(self.base.stream.lead_column()).name()
    }

    /// Where the bucket of a time begins and ends, which is open at the end of all times.
    pub(crate) fn bucket(&self, time: i64) -> (i64, Option<i64>) {
        self.step.bucket(time, self.origin).unwrap_or((i64::MIN, None))
    }

    /// Where the first bucket begins of which no rows have expired, or will do so soon.
    pub(crate) fn open_from(&self, wall_ns: i64, soon: Duration) -> Option<i64> {
        expiring_before(&self.base.stream, wall_ns, soon).map(|horizon| self.first_from(horizon))
    }

    /// Before which time rows may have expired.
    pub(crate) fn horizon(&self, wall_ns: i64) -> Option<i64> {
        expiring_before(&self.base.stream, wall_ns, Duration::ZERO)
    }

    /// Where the first bucket begins that begins at a time or later.
    pub(crate) fn first_from(&self, time: i64) -> i64 {
        match self.step {
            Step::Width(width) => Buckets { width, origin: self.origin }.first_from(time),
            Step::Months { .. } => time,
        }
    }

    /// How many units of the table's times a while is.
    pub(crate) fn units(&self, while_ns: i64) -> i64 {
        while_ns / self.base.stream.time_unit_ns().unwrap_or(1).max(1)
    }

    /// Sums and averages that can be kept.
    fn check_types(&self) -> Result<()> {
        for (place, origin) in self.shape.columns.iter().enumerate() {
            let Origin::Aggregate(aggregate) = origin else { continue };
            let Some(Aggregate { function, argument }) = self.shape.aggregates.get(*aggregate)
            else {
                continue;
            };
            let data_type = self.output.field(place).data_type();
            let is_kept = match function {
                AggregateKind::Sum => matches!(
                    data_type,
                    DataType::Int64
                        | DataType::UInt64
                        | DataType::Float64
                        | DataType::Decimal128(_, _)
                ),
                AggregateKind::Avg => *data_type == DataType::Float64,
                _ => true,
            };
            if !is_kept {
                let name = if *function == AggregateKind::Sum { "sum" } else { "avg" };
                return Err(invalid(format!(
                    "{name}({argument}) is {data_type}, which a materialised view does not keep: take sum and count of whole numbers, floats and \
                     decimals"
                )));
            }
        }
        Ok(())
    }

    /// The type of what an aggregate gives.
    fn type_of(&self, aggregate: usize) -> Option<&DataType> {
        let is_its = |origin: &Origin| *origin == Origin::Aggregate(aggregate);
        let place = self.shape.columns.iter().position(is_its)?;
        Some(self.output.field(place).data_type())
    }

    /// From rows to partial results.
    pub(crate) fn partial(&self, table: &str) -> String {
        let mut items = self.names("g", self.shape.groups.iter());
        for (place, aggregate) in self.shape.aggregates.iter().enumerate() {
            let Aggregate { function, argument } = aggregate;
            let time = crate::names::quoted(self.time_name());
            let _ = match function {
                AggregateKind::Sum => match self.type_of(place) {
                    Some(DataType::Decimal128(_, scale)) => {
                        write!(items, ", sum(CAST({argument} AS DECIMAL(38, {scale}))) AS s{place}")
                    }
                    Some(DataType::Float64) => write!(items, ", sum({argument}) AS s{place}"),
                    // So that it only matters that the sum has room, and not what it comes by.
                    _ => write!(items, ", sum(CAST({argument} AS DECIMAL(38, 0))) AS s{place}"),
                },
                AggregateKind::Count => write!(items, ", count({argument}) AS s{place}"),
                AggregateKind::Min => write!(items, ", min({argument}) AS s{place}"),
                AggregateKind::Max => write!(items, ", max({argument}) AS s{place}"),
                AggregateKind::Avg => write!(
                    items,
                    ", sum(CAST({argument} AS DOUBLE)) AS s{place}, count({argument}) AS n{place}"
                ),
                AggregateKind::First => write!(
                    items,
                    ", first({argument}, {time}) AS s{place}, min({time}) AS t{place}"
                ),
                AggregateKind::Last => {
                    write!(items, ", last({argument}, {time}) AS s{place}, max({time}) AS t{place}")
                }
            };
        }
        let condition =
            self.shape.condition.as_ref().map(|condition| format!(" WHERE {condition}"));
        let condition = condition.unwrap_or_default();
        format!("SELECT {items} FROM {table}{condition} GROUP BY {}", self.places())
    }

    /// Partial results as they are kept.
    pub(crate) fn kept(&self) -> String {
        let mut items = self.group_names();
        for (place, aggregate) in self.shape.aggregates.iter().enumerate() {
            let _ = match aggregate.function {
                AggregateKind::Avg => write!(items, ", s{place}, n{place}"),
                AggregateKind::First | AggregateKind::Last => {
                    write!(items, ", s{place}, t{place}")
                }
                _ => write!(items, ", s{place}"),
            };
        }
        format!("SELECT {items} FROM {KEPT}")
    }

    /// From partial results to one a group.
    pub(crate) fn merged(&self, partials: &str) -> String {
        let mut items = self.group_names();
        for (place, aggregate) in self.shape.aggregates.iter().enumerate() {
            let _ = match aggregate.function {
                AggregateKind::Sum | AggregateKind::Count => {
                    write!(items, ", sum(s{place}) AS s{place}")
                }
                AggregateKind::Min => write!(items, ", min(s{place}) AS s{place}"),
                AggregateKind::Max => write!(items, ", max(s{place}) AS s{place}"),
                AggregateKind::Avg => {
                    write!(items, ", sum(s{place}) AS s{place}, sum(n{place}) AS n{place}")
                }
                AggregateKind::First => write!(
                    items,
                    ", first(s{place}, t{place}) AS s{place}, min(t{place}) AS t{place}"
                ),
                AggregateKind::Last => write!(
                    items,
                    ", last(s{place}, t{place}) AS s{place}, max(t{place}) AS t{place}"
                ),
            };
        }
        format!("SELECT {items} FROM ({partials}) AS m GROUP BY {}", self.places())
    }

    /// From one partial result a group to the view's columns.
    pub(crate) fn finished(
        &self,
        state: &SessionState,
        tables: &dyn NamedTables,
        merged: &str,
    ) -> DataFusionResult<LogicalPlan> {
        let item = |(place, origin): (usize, &Origin)| match origin {
            Origin::Group(group) => format!("g{group} AS c{place}"),
            Origin::Aggregate(aggregate) => match self.shape.aggregates.get(*aggregate) {
                Some(Aggregate { function: AggregateKind::Avg, .. }) => {
                    format!("s{aggregate} / CAST(nullif(n{aggregate}, 0) AS DOUBLE) AS c{place}")
                }
                _ => format!("s{aggregate} AS c{place}"),
            },
        };
        let items: Vec<String> = self.shape.columns.iter().enumerate().map(item).collect();
        let query = format!("SELECT {} FROM ({merged}) AS f", items.join(", "));
        let plan = self.plan(state, tables, &query)?;
        let columns: Vec<Column> = plan.schema().columns();
        let typed = columns.into_iter().zip(self.output.fields()).map(|(column, field)| {
            let typed = Expr::Column(column).cast_to(field.data_type(), plan.schema())?;
            Ok(typed.alias(field.name()))
        });
        let typed = typed.collect::<DataFusionResult<Vec<_>>>()?;
        LogicalPlanBuilder::from(plan).project(typed)?.build()
    }

    /// A query over what is kept, as a plan.
    pub(crate) fn plan(
        &self,
        state: &SessionState,
        tables: &dyn NamedTables,
        query: &str,
    ) -> DataFusionResult<LogicalPlan> {
        let parsed = statement::parse(query, usize::MAX).map_err(crate::error::carried)?;
        plan_over(state, tables, parsed, Params::none(), query)
    }

    /// All names of groups, with what they are.
    fn names<'a>(&self, letter: &str, groups: impl Iterator<Item = &'a String>) -> String {
        let named = groups.enumerate().map(|(place, group)| format!("{group} AS {letter}{place}"));
        named.collect::<Vec<_>>().join(", ")
    }

    fn group_names(&self) -> String {
        let names = (0..self.shape.groups.len()).map(|group| format!("g{group}"));
        names.collect::<Vec<_>>().join(", ")
    }

    /// The places of the groups, to group by.
    fn places(&self) -> String {
        let places = (1..=self.shape.groups.len()).map(|place| place.to_string());
        places.collect::<Vec<_>>().join(", ")
    }
}

/// The table of a view, and nothing else.
struct BaseAlone<'a>(&'a Catalog, &'a str);

impl NamedTables for BaseAlone<'_> {
    fn named(
        &self,
        _: &datafusion::common::TableReference,
    ) -> DataFusionResult<Arc<dyn datafusion::catalog::TableProvider>> {
        self.0.named(&datafusion::common::TableReference::bare(self.1))
    }
}

fn months() -> Error {
    invalid("the buckets of a materialised view are of days or less: months differ in length")
}

/// The width of buckets, which is written as a text or an interval.
fn step_of(interval: &str, unit: TimeUnit) -> Result<Step> {
    let interval = interval.trim();
    let text = interval.strip_prefix("INTERVAL").unwrap_or(interval).trim();
    let (text, rest) = match text.strip_prefix('\'').and_then(|text| text.split_once('\'')) {
        Some((text, rest)) => (text, rest.trim()),
        None => {
            let message = format!("{interval} is no interval like '1 minute'");
            return Err(invalid(message));
        }
    };
    let interval = parse_interval(format!("{text} {rest}").trim()).map_err(from_datafusion)?;
    match Step::new(interval, unit).map_err(from_datafusion)? {
        Step::Months { .. } => Err(months()),
        step => Ok(step),
    }
}

/// Refuses what gives another answer each time.
fn check_lasting(plan: &LogicalPlan) -> Result<()> {
    let varies = |expr: &Expr| match expr {
        Expr::ScalarFunction(call) => call.func.signature().volatility != Volatility::Immutable,
        Expr::ScalarVariable(..) | Expr::Placeholder(_) => true,
        _ => false,
    };
    let mut found = false;
    let looked = plan.apply(|node| {
        found |= has_expression(node, varies)?;
        Ok(TreeNodeRecursion::Continue)
    });
    looked.map_err(from_datafusion)?;
    match found {
        true => Err(invalid(
            "a materialised view can't ask what the time is, or anything else that differs from one time to the next",
        )),
        false => Ok(()),
    }
}

/// A time of a table's, to compare with.
pub(crate) fn time_literal(time: i64, data_type: &DataType) -> ScalarValue {
    match data_type {
        DataType::Timestamp(unit, zone) => crate::instant::timestamp(time, *unit, zone.clone()),
        _ => ScalarValue::Int64(Some(time)),
    }
}

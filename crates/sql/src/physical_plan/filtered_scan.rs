//! A rule of the optimizer: scans filter their rows themselves, so that of most columns only the rows that
//! pass are decoded.
//!
//! What a scan is asked it is asked of all rows of a block, also of those that are outside its range or deleted.
//! So it gets only what can't fail on any value: comparisons of a column with a literal, lists, patterns, `IS NULL`, and
//! what `AND`, `OR` and `NOT` make of these. The other conditions stay in the filter above.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use datafusion::arrow::array::cast::AsArray;
use datafusion::arrow::array::{ArrayRef, BooleanArray, RecordBatch};
use datafusion::arrow::datatypes::{DataType, FieldRef, Schema, SchemaRef};
use datafusion::common::pruning::PruningStatistics;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Column as LogicalColumn, Result, ScalarValue, internal_datafusion_err};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{
    BinaryExpr, Column, InListExpr, IsNotNullExpr, IsNullExpr, LikeExpr, Literal, NotExpr,
};
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr::{
    DynamicFilterTracking, PhysicalExpr, conjunction, split_conjunction,
};
use datafusion::physical_expr_common::physical_expr::snapshot_generation;
use datafusion::physical_optimizer::pruning::{PruningPredicate, PruningPredicateBuilder};
use datafusion::physical_plan::filter::{FilterExec, FilterExecBuilder};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::{ExecutionPlan, Partitioning, replace_children_if_necessary};
use timestrata_engine::locks::Mutex;
use timestrata_engine::{ColumnBounds, NumberRange, RowFilter, ScanFilter};

use super::compare::compared;
use super::filter_projections::projection_of;
use super::number_ranges::number_ranges;
use super::scan::StreamScan;
use crate::error::from_datafusion;

/// Gives the conditions of filters to the scans below them, as far as these can take them. Comes behind the rules that
/// conclude something from a filter, and before scans get a wrapping that hides them.
pub(crate) fn filter_scans(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    plan.transform_up(|plan| {
        let given = match plan.downcast_ref::<FilterExec>() {
            Some(filter) => given_to_scan(filter)?,
            None => plan.downcast_ref::<ProjectionExec>().and_then(chosen_by_scan),
        };
        Ok(given.map_or_else(|| Transformed::no(plan), Transformed::yes))
    })
    .data()
}

/// A scan below an operator: its input, or what its input only deals out to threads.
fn scan_in(input: &Arc<dyn ExecutionPlan>) -> Option<&StreamScan> {
    let dealt = input.downcast_ref::<RepartitionExec>();
    let dealt =
        dealt.filter(|dealt| matches!(dealt.partitioning(), Partitioning::RoundRobinBatch(_)));
    dealt.map_or(input, RepartitionExec::input).downcast_ref()
}

/// The same input with another scan.
fn with_scan(input: &Arc<dyn ExecutionPlan>, scan: StreamScan) -> Result<Arc<dyn ExecutionPlan>> {
    let scan: Arc<dyn ExecutionPlan> = Arc::new(scan);
    match input.is::<RepartitionExec>() {
        true => replace_children_if_necessary(Arc::clone(input), vec![scan]),
        false => Ok(scan),
    }
}

/// Of a projection over a scan that filters, which only chooses columns: a scan of these, which doesn't give what
/// it has only looked at.
fn chosen_by_scan(projection: &ProjectionExec) -> Option<Arc<dyn ExecutionPlan>> {
    let scan = scan_in(projection.input()).filter(|scan| scan.has_filter())?;
    let mut chosen = Vec::new();
    for each in projection.expr() {
        let column = each.expr.downcast_ref::<Column>()?;
        if each.alias != column.name() || chosen.contains(&column.index()) {
            return None;
        }
        chosen.push(column.index());
    }
    with_scan(projection.input(), scan.projected(&chosen).ok()?).ok()
}

/// A filter over a scan, as a filter (where one is left) over a scan that filters.
fn given_to_scan(filter: &FilterExec) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(scan) = scan_in(filter.input()) else { return Ok(None) };
    // A limit of the scan counts rows before they are filtered.
    if !scan.takes_filter() {
        return Ok(None);
    }
    let conditions = split_conjunction(filter.predicate());
    let (given, mut kept): (Vec<_>, Vec<_>) =
        conditions.into_iter().cloned().partition(never_fails);
    if given.is_empty() {
        return Ok(None);
    }
    // What is above may count on a column having one value, which only a filter can say.
    kept.extend(given.iter().filter(|condition| is_equality(condition)).map(Arc::clone));
    let condition = ScanCondition::new(scan, conjunction(given))?;
    let scan = with_scan(filter.input(), scan.filtered(condition))?;
    let kept = match (kept.is_empty(), filter.fetch()) {
        (true, None) => return chosen(filter, scan).map(Some),
        // The filter ends after so many rows.
        (true, Some(_)) => Arc::clone(filter.predicate()),
        (false, _) => conjunction(kept),
    };
    let rest = FilterExecBuilder::from(filter).with_predicate(kept).with_input(scan).build()?;
    Ok(Some(Arc::new(rest)))
}

/// The columns that a filter gives, of what it is given.
fn chosen(filter: &FilterExec, input: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    if filter.projection().is_none() {
        return Ok(input);
    }
    let projection = ProjectionExec::try_new(projection_of(filter), input)?;
    Ok(chosen_by_scan(&projection).unwrap_or_else(|| Arc::new(projection)))
}

/// Whether a condition says something of any value that its columns may have, and ends with none of them.
fn never_fails(condition: &Arc<dyn PhysicalExpr>) -> bool {
    let is_column = |expr: &Arc<dyn PhysicalExpr>| expr.is::<Column>();
    let is_literal = |expr: &Arc<dyn PhysicalExpr>| expr.is::<Literal>();
    if let Some(binary) = condition.downcast_ref::<BinaryExpr>() {
        let (left, right) = (binary.left(), binary.right());
        return match binary.op() {
            Operator::And | Operator::Or => never_fails(left) && never_fails(right),
            Operator::Eq
            | Operator::NotEq
            | Operator::Lt
            | Operator::LtEq
            | Operator::Gt
            | Operator::GtEq => {
                is_column(left) && is_literal(right) || is_literal(left) && is_column(right)
            }
            _ => false,
        };
    }
    if let Some(list) = condition.downcast_ref::<InListExpr>() {
        return is_column(list.expr()) && list.list().iter().all(is_literal);
    }
    if let Some(like) = condition.downcast_ref::<LikeExpr>() {
        return is_column(like.expr()) && is_literal(like.pattern());
    }
    let not = condition.downcast_ref::<NotExpr>().map(|not| never_fails(not.arg()));
    let is_null = condition.downcast_ref::<IsNullExpr>().map(|null| is_column(null.arg()));
    let is_there = condition.downcast_ref::<IsNotNullExpr>().map(|there| is_column(there.arg()));
    not.or(is_null).or(is_there).unwrap_or(false)
}

fn is_equality(condition: &Arc<dyn PhysicalExpr>) -> bool {
    condition.downcast_ref::<BinaryExpr>().is_some_and(|binary| *binary.op() == Operator::Eq)
}

/// A condition that a scan evaluates.
#[derive(Debug)]
pub(super) struct ScanCondition {
    /// Columns of the stream.
    columns: Vec<usize>,
    /// These columns as the table has them.
    schema: SchemaRef,
    /// Over these columns.
    given: Arc<dyn PhysicalExpr>,
    /// The same as it is evaluated.
    predicate: Arc<dyn PhysicalExpr>,
    /// The same of the bounds of many rows.
    pruning: Mutex<Pruning>,
    /// What it asks of single columns of text.
    of_texts: Vec<ScanFilter>,
    /// The range of numbers that it asks of each column, where that is all.
    number_ranges: Vec<NumberRange>,
    /// The same as it stands in the plan.
    text: String,
}

/// Columns that a condition looks at, each once.
#[derive(Default)]
struct Looked {
    /// Columns of the stream.
    columns: Vec<usize>,
    /// As the table has them.
    fields: Vec<FieldRef>,
}

impl Looked {
    /// A predicate over the columns of a scan as one over these columns, to which those are added that it names first.
    fn moved(
        &mut self,
        scan: &StreamScan,
        predicate: Arc<dyn PhysicalExpr>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        let schema = scan.schema();
        let moved = predicate.transform_up(|expr| {
            let Some(column) = expr.downcast_ref::<Column>() else {
                return Ok(Transformed::no(expr));
            };
            let told = scan.columns.get(column.index()).zip(schema.fields().get(column.index()));
            let (of_stream, field) =
                told.ok_or_else(|| internal_datafusion_err!("a scan has no column {column}"))?;
            let known = self.columns.iter().position(|known| known == of_stream);
            let place = known.unwrap_or_else(|| {
                self.columns.push(*of_stream);
                self.fields.push(Arc::clone(field));
                self.columns.len() - 1
            });
            Ok(Transformed::yes(Arc::new(Column::new(column.name(), place)) as _))
        });
        moved.data()
    }
}

/// What a condition says of the bounds of many rows, where it says something of these; and when, as some says more the
/// longer the query runs.
#[derive(Debug)]
struct Pruning {
    generation: u64,
    predicate: Option<Arc<PruningPredicate>>,
}

impl Pruning {
    fn of(predicate: &Arc<dyn PhysicalExpr>, schema: &SchemaRef) -> Self {
        // Before, so that what comes meanwhile is looked at again.
        let generation = snapshot_generation(predicate);
        let pruning = PruningPredicateBuilder::new().with_file_schema(Arc::clone(schema));
        Self { generation, predicate: pruning.build(Arc::clone(predicate)) }
    }
}

/// Of a predicate what each of some columns of a scan is asked by itself, if it is text.
fn of_texts(scan: &StreamScan, predicate: &Arc<dyn PhysicalExpr>) -> Result<Vec<ScanFilter>> {
    let mut asked: BTreeMap<usize, Vec<Arc<dyn PhysicalExpr>>> = BTreeMap::new();
    for condition in split_conjunction(predicate) {
        let columns = collect_columns(condition);
        if let (Some(column), 1) = (columns.iter().next(), columns.len()) {
            asked.entry(column.index()).or_default().push(Arc::clone(condition));
        }
    }
    let schema = scan.schema();
    let is_text = |column: usize| {
        schema.fields().get(column).is_some_and(|field| field.data_type() == &DataType::Utf8View)
    };
    asked.retain(|column, _| is_text(*column));
    let filters = asked.into_values().map(|conditions| {
        Ok(Arc::new(ScanCondition::of(scan, conjunction(conditions), Vec::new())?).for_scan())
    });
    filters.collect()
}

impl ScanCondition {
    /// Of a predicate over the columns of a scan.
    pub(super) fn new(scan: &StreamScan, predicate: Arc<dyn PhysicalExpr>) -> Result<Self> {
        let of_texts = of_texts(scan, &predicate)?;
        Self::of(scan, predicate, of_texts)
    }

    fn of(
        scan: &StreamScan,
        predicate: Arc<dyn PhysicalExpr>,
        of_texts: Vec<ScanFilter>,
    ) -> Result<Self> {
        let text = predicate.to_string();
        let mut of = Looked::default();
        let predicate = of.moved(scan, predicate)?;
        Self::made(of, predicate, of_texts, text)
    }

    /// The same, and another predicate over the columns of a scan.
    pub(super) fn and(&self, scan: &StreamScan, other: &Arc<dyn PhysicalExpr>) -> Result<Self> {
        let text = format!("{} AND {other}", self.text);
        let mut of = Looked {
            columns: self.columns.clone(),
            fields: self.schema.fields().iter().map(Arc::clone).collect(),
        };
        let other = of.moved(scan, Arc::clone(other))?;
        let both = conjunction([Arc::clone(&self.given), other]);
        Self::made(of, both, self.of_texts.clone(), text)
    }

    fn made(
        of: Looked,
        given: Arc<dyn PhysicalExpr>,
        of_texts: Vec<ScanFilter>,
        text: String,
    ) -> Result<Self> {
        let schema = Arc::new(Schema::new(of.fields));
        Ok(Self {
            pruning: Mutex::new(Pruning::of(&given, &schema)),
            number_ranges: number_ranges(&given, of.columns.len()),
            predicate: Arc::clone(&given).transform_up(compared).data()?,
            columns: of.columns,
            schema,
            given,
            of_texts,
            text,
        })
    }

    /// Whether it says more the longer the query runs.
    pub(super) fn is_watching(&self) -> bool {
        DynamicFilterTracking::classify(&self.given).contains_dynamic_filter()
    }

    /// Over the columns that it looks at.
    pub(super) fn given(&self) -> &Arc<dyn PhysicalExpr> {
        &self.given
    }

    /// What it says of the bounds of many rows now.
    fn pruning(&self) -> Option<Arc<PruningPredicate>> {
        let mut pruning = self.pruning.lock();
        if snapshot_generation(&self.predicate) != pruning.generation {
            *pruning = Pruning::of(&self.predicate, &self.schema);
        }
        pruning.predicate.clone()
    }

    /// As it stands in the plan.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// For a scan of the engine.
    pub(super) fn for_scan(self: &Arc<Self>) -> ScanFilter {
        ScanFilter::new(Shown(Arc::clone(self)))
    }

    fn evaluate(&self, rows: &RecordBatch) -> Result<BooleanArray> {
        let rows = rows.clone().with_schema(Arc::clone(&self.schema))?;
        let passes = self.predicate.evaluate(&rows)?.into_array(rows.num_rows())?;
        let passes = passes.as_boolean_opt().cloned();
        passes.ok_or_else(|| internal_datafusion_err!("the condition of a scan is no condition"))
    }
}

/// A condition that the plan holds too.
#[derive(Debug)]
struct Shown(Arc<ScanCondition>);

impl RowFilter for Shown {
    fn columns(&self) -> &[usize] {
        &self.0.columns
    }

    fn passes(&self, rows: &RecordBatch) -> timestrata_engine::Result<BooleanArray> {
        self.0.evaluate(rows).map_err(from_datafusion)
    }

    fn of_single_columns(&self) -> &[ScanFilter] {
        &self.0.of_texts
    }

    fn number_ranges(&self) -> &[NumberRange] {
        &self.0.number_ranges
    }

    fn may_pass(&self, pages: &[ColumnBounds]) -> timestrata_engine::Result<Option<BooleanArray>> {
        let Some(pruning) = self.0.pruning() else { return Ok(None) };
        let bounds = PageBounds { schema: &self.0.schema, pages };
        let may_pass = pruning.prune(&bounds).map_err(from_datafusion)?;
        Ok(Some(may_pass.into()))
    }
}

/// The bounds of several pages, as DataFusion asks for them.
struct PageBounds<'a> {
    schema: &'a SchemaRef,
    pages: &'a [ColumnBounds],
}

impl PageBounds<'_> {
    fn of(&self, column: &LogicalColumn) -> Option<&ColumnBounds> {
        self.pages.get(self.schema.index_of(&column.name).ok()?)
    }
}

impl PruningStatistics for PageBounds<'_> {
    fn min_values(&self, column: &LogicalColumn) -> Option<ArrayRef> {
        self.of(column).map(|bounds| Arc::clone(&bounds.min))
    }

    fn max_values(&self, column: &LogicalColumn) -> Option<ArrayRef> {
        self.of(column).map(|bounds| Arc::clone(&bounds.max))
    }

    fn num_containers(&self) -> usize {
        self.pages.first().map_or(0, |bounds| bounds.rows.len())
    }

    fn null_counts(&self, column: &LogicalColumn) -> Option<ArrayRef> {
        self.of(column).map(|bounds| Arc::new(bounds.nulls.clone()) as _)
    }

    fn row_counts(&self) -> Option<ArrayRef> {
        self.pages.first().map(|bounds| Arc::new(bounds.rows.clone()) as _)
    }

    fn contained(&self, _: &LogicalColumn, _: &HashSet<ScalarValue>) -> Option<BooleanArray> {
        None
    }
}

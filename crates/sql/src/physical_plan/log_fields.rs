//! A rule of the optimizer: where one field of a log's entries is read (`fields ->> 'a'`), the column of that field is read, or
//! what has none, and no JSON is made of all the others.
//!
//! DataFusion moves such calls towards the scan, so that they stand in a projection over the one that makes the columns of the
//! log.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{Field, FieldRef, Schema};
use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::expressions::{Column, Literal};
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use timestrata_logs::{FieldValue, Scalar};

use super::made_columns::{MadeColumn, Maker, evaluated};
use super::scan::StreamScan;
use crate::functions::{Document, JsonFunction, JsonRead, PathStep, ReadValues, step_of};

/// Reads single fields of logs where they are.
pub(crate) fn read_log_fields(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    plan.transform_up(|plan| {
        let read = match plan.downcast_ref::<ProjectionExec>() {
            Some(projection) => of_projection(projection)?,
            None => None,
        };
        Ok(read.map_or_else(|| Transformed::no(plan), Transformed::yes))
    })
    .data()
}

/// A projection over a scan, or over another one of a scan, as one that reads single fields; `None` if it has none.
fn of_projection(projection: &ProjectionExec) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let below = projection.input().downcast_ref::<ProjectionExec>();
    let input = below.map_or(projection.input(), |below| below.input());
    let Some(scan) = input.downcast_ref::<StreamScan>() else { return Ok(None) };
    let mut reads_fields = false;
    let mut expressions = Vec::with_capacity(projection.expr().len());
    for each in projection.expr() {
        let expr = match below {
            Some(below) => over_input_of(below, &each.expr)?,
            None => Arc::clone(&each.expr),
        };
        let read = expr.transform_up(|expr| {
            Ok(field_of(&expr).map_or_else(|| Transformed::no(expr), Transformed::yes))
        })?;
        reads_fields |= read.transformed;
        expressions.push(ProjectionExpr { expr: read.data, alias: each.alias.clone() });
    }
    if !reads_fields {
        return Ok(None);
    }
    let mut used: Vec<usize> = expressions
        .iter()
        .flat_map(|each| collect_columns(&each.expr))
        .map(|column| column.index())
        .collect();
    used.sort_unstable();
    used.dedup();
    for each in &mut expressions {
        let moved = Arc::clone(&each.expr).transform_up(|expr| {
            Ok(match expr.downcast_ref::<Column>() {
                Some(column) => {
                    let place = used.binary_search(&column.index()).unwrap_or_default();
                    Transformed::yes(Arc::new(Column::new(column.name(), place)) as _)
                }
                None => Transformed::no(expr),
            })
        });
        each.expr = moved.data()?;
    }
    let scan: Arc<dyn ExecutionPlan> = Arc::new(scan.projected(&used)?);
    Ok(Some(Arc::new(ProjectionExec::try_new(expressions, scan)?)))
}

/// An expression over what a projection gives as one over what it is given.
fn over_input_of(
    projection: &ProjectionExec,
    expr: &Arc<dyn PhysicalExpr>,
) -> Result<Arc<dyn PhysicalExpr>> {
    let over_input = Arc::clone(expr).transform_down(|expr| {
        let column = expr.downcast_ref::<Column>();
        let made = column.and_then(|column| projection.expr().get(column.index()));
        Ok(match made {
            // What it was made of isn't looked at again.
            Some(made) => Transformed::new(Arc::clone(&made.expr), true, TreeNodeRecursion::Jump),
            None => Transformed::no(expr),
        })
    });
    over_input.data()
}

/// A call that reads one field, as what reads it where it lies.
fn field_of(expr: &Arc<dyn PhysicalExpr>) -> Option<Arc<dyn PhysicalExpr>> {
    let call = expr.downcast_ref::<ScalarFunctionExpr>()?;
    let function = call.fun().inner().downcast_ref::<JsonFunction>()?;
    let (document, path) = call.args().split_first()?;
    let made = document.downcast_ref::<MadeColumn>()?;
    let maker = Arc::clone(made.log_of_fields()?);
    let steps = path.iter().map(|step| step_of(step.downcast_ref::<Literal>()?.value()));
    let steps = steps.collect::<Option<Vec<PathStep>>>()?;
    let Some((PathStep::Key(name), rest)) = steps.split_first() else { return None };
    let Maker::Log(log) = maker.as_ref() else { return None };
    let schema = log.schema();
    // The same columns of the scan that all fields are made of.
    let of_field = log.field_sources(name).into_iter().map(|column| {
        let stored = schema.field(column).name();
        let is_it = |source: &Column| source.name() == stored;
        let mut sources = made.sources().iter();
        sources.find(|source| source.downcast_ref().is_some_and(is_it)).map(Arc::clone)
    });
    let sources = of_field.collect::<Option<Vec<_>>>()?;
    let read = function.read;
    let field = Arc::new(Field::new(call.name(), read.data_type(), true));
    let (name, path) = (name.clone(), rest.to_vec());
    Some(Arc::new(LogField { maker, name, path, read, field, sources }))
}

/// The value of one field of each entry, or what lies in it.
#[derive(Debug, Clone)]
struct LogField {
    maker: Arc<Maker>,
    name: String,
    path: Vec<PathStep>,
    read: JsonRead,
    field: FieldRef,
    sources: Vec<Arc<dyn PhysicalExpr>>,
}

impl PartialEq for LogField {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.maker, &other.maker)
            && (&self.name, &self.path, self.read) == (&other.name, &other.path, other.read)
            && self.sources == other.sources
    }
}

impl Eq for LogField {}

impl Hash for LogField {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.name, &self.path, self.read).hash(state);
        self.sources.hash(state);
    }
}

impl fmt::Display for LogField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "field({}", self.name)?;
        for step in &self.path {
            match step {
                PathStep::Key(name) => write!(f, ", {name}")?,
                PathStep::Index(index) => write!(f, ", {index}")?,
            }
        }
        f.write_str(")")
    }
}

impl LogField {
    fn append(&self, values: &mut ReadValues, value: FieldValue<'_>) {
        match value {
            FieldValue::Item(item) => values.append(Document::Cbor(item).at(&self.path)),
            // Nothing lies in what is no list and no object.
            FieldValue::Scalar(_) if !self.path.is_empty() => values.append_absent(),
            FieldValue::Scalar(Scalar::Text(text)) => values.append_plain(text),
            scalar => {
                let mut json = String::new();
                scalar.write_json(&mut json);
                values.append_json(&json);
            }
        }
    }
}

impl PhysicalExpr for LogField {
    fn return_field(&self, _: &Schema) -> Result<FieldRef> {
        Ok(Arc::clone(&self.field))
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let sources = evaluated(&self.sources, batch)?;
        let mut values = ReadValues::new(self.read, batch.num_rows());
        if let Maker::Log(log) = self.maker.as_ref() {
            log.each_value(&self.name, &sources, |value| match value {
                Some(value) => self.append(&mut values, value),
                None => values.append_absent(),
            });
        }
        Ok(ColumnarValue::Array(values.finish()))
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        self.sources.iter().collect()
    }

    fn with_new_children(
        self: Arc<Self>,
        sources: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        Ok(Arc::new(Self { sources, ..Self::clone(&self) }))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

//! A rule of the optimizer: what is to give a few rows of a few series is read by one thread.
//!
//! To hand out partitions wakes threads, and puts operators between that share rows out and bring them together
//! again. For the hour of one host that costs more than to read it.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{BinaryExpr, Column, InListExpr, Literal};
use datafusion::physical_expr::{PhysicalExpr, split_conjunction};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::{ExecutionPlan, replace_children_if_necessary};
use timestrata_engine::KeyRange;

use super::scan::StreamScan;
use crate::error::carried;

/// Rows that so many more have to be looked at for are better looked at by all threads.
const LOOKED_AT_MAX: u64 = 1 << 20;
/// Rows that one thread reads alone.
const ALONE_MAX: u64 = 4 << 10;

/// A plan whose scans have one partition, where a filter over them leaves a few rows.
pub(crate) fn narrow_scans(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    if let Some(filter) = plan.downcast_ref::<FilterExec>()
        && let Some(scan) = filter.input().downcast_ref::<StreamScan>()
    {
        return match rows_left(scan, filter.predicate())? {
            Some(rows) if rows <= ALONE_MAX => {
                let scan = Arc::new(scan.in_one_part(rows));
                replace_children_if_necessary(plan, vec![scan])
            }
            _ => Ok(plan),
        };
    }
    let children: Vec<_> = plan.children().into_iter().map(Arc::clone).collect();
    let narrowed: Result<Vec<_>> = children.iter().cloned().map(narrow_scans).collect();
    let narrowed = narrowed?;
    match narrowed.iter().zip(&children).all(|(new, old)| Arc::ptr_eq(new, old)) {
        true => Ok(plan),
        false => replace_children_if_necessary(plan, narrowed),
    }
}

/// About how many rows of a scan a condition leaves, if it asks for some of many values of a column; `None`: unknown.
fn rows_left(scan: &StreamScan, condition: &Arc<dyn PhysicalExpr>) -> Result<Option<u64>> {
    let Some(first) = scan.ranges.hull().lo else { return Ok(None) };
    if scan.estimate.rows_max > LOOKED_AT_MAX {
        return Ok(None);
    }
    for condition in split_conjunction(condition) {
        let Some((column, wanted)) = values_wanted(condition) else { continue };
        let Some(column) = scan.columns.get(column) else { continue };
        let (stream, at_first) = (scan.table.stream.id(), KeyRange::point(first));
        let values = scan.snapshot.values(stream, &at_first, *column).map_err(carried)?;
        let counts = values.iter().flat_map(|values| &values.columns).map(|values| values.len());
        if let Some(count) = counts.max().filter(|count| *count > wanted) {
            let each = scan.estimate.rows_max / count as u64;
            return Ok(Some(each.saturating_mul(wanted as u64)));
        }
    }
    Ok(None)
}

/// The column that a condition compares with values, and with how many.
fn values_wanted(condition: &Arc<dyn PhysicalExpr>) -> Option<(usize, usize)> {
    if let Some(list) = condition.downcast_ref::<InListExpr>() {
        let column = list.expr().downcast_ref::<Column>()?;
        return (!list.negated()).then_some((column.index(), list.list().len()));
    }
    let binary = condition.downcast_ref::<BinaryExpr>()?;
    match binary.op() {
        Operator::Eq if binary.right().is::<Literal>() => {
            Some((binary.left().downcast_ref::<Column>()?.index(), 1))
        }
        // What a short list is made.
        Operator::Or => {
            let (one, other) = (values_wanted(binary.left())?, values_wanted(binary.right())?);
            (one.0 == other.0).then_some((one.0, one.1 + other.1))
        }
        _ => None,
    }
}

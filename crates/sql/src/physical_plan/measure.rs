//! What is known of a scan before it runs. Where metadata tells it exactly, `count(*)`,
//! `min(time)` and `max(time)` need no scan.
//!
//! Exact figures are worked out for those aggregates only, which [`measure_scans`] looks for: they
//! may read the edges of a range, and a filter above the scan would draw conclusions from the ends
//! that do not hold for casts that round.

use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{ColumnStatistics, Result, ScalarValue, Statistics};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::projection::ProjectionExec;
use timestrata_engine::{KeyRange, LeadKey};

use super::scan::{StreamScan, replace_scan};
use crate::error::carried;
use crate::instant::timestamp;

/// Statistics of all partitions; worked out at the first call.
pub(super) fn whole(scan: &StreamScan) -> Result<Arc<Statistics>> {
    if let Some(known) = scan.statistics.get() {
        return Ok(Arc::clone(known));
    }
    let found = Arc::new(measure(scan)?);
    Ok(Arc::clone(scan.statistics.get_or_init(|| found)))
}

/// A rule of the optimizer, for the one that answers aggregates from statistics.
pub(crate) fn measure_scans(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    plan.transform_down(|plan| {
        let aggregate = plan.downcast_ref::<AggregateExec>();
        let is_total = aggregate.is_some_and(|aggregate| aggregate.group_expr().is_empty());
        let measured = if is_total { measure_below(&plan)? } else { None };
        Ok(measured.map_or_else(|| Transformed::no(plan), Transformed::yes))
    })
    .data()
}

/// The plan with its scan measured, where only aggregates and projections are between.
fn measure_below(plan: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    replace_scan(
        plan,
        |plan| plan.is::<AggregateExec>() || plan.is::<ProjectionExec>(),
        StreamScan::measured,
    )
}

/// A rough share of one partition.
pub(super) fn share(scan: &StreamScan, partitions: usize) -> Statistics {
    let mut statistics = Statistics::new_unknown(&scan.schema());
    let rows = usize::try_from(scan.estimate.rows_max).unwrap_or(usize::MAX) / partitions;
    statistics.num_rows = Precision::Inexact(rows.min(scan.limit.unwrap_or(usize::MAX)));
    statistics
}

fn measure(scan: &StreamScan) -> Result<Statistics> {
    let schema = scan.schema();
    let mut statistics = Statistics::new_unknown(&schema);
    let stream = scan.table.stream.id();
    let all_rows = match scan.is_measured && scan.estimate.counts_cheaply {
        true => {
            let counts = scan.ranges.as_slice().iter();
            let counts = counts.map(|range| scan.snapshot.count(stream, range));
            let rows = counts.sum::<timestrata_engine::Result<u64>>().map_err(carried)?;
            Precision::Exact(usize::try_from(rows).unwrap_or(usize::MAX))
        }
        false => Precision::Inexact(usize::try_from(scan.estimate.rows_max).unwrap_or(usize::MAX)),
    };
    let is_cut = scan.limit.is_some_and(|limit| all_rows.get_value().is_none_or(|n| limit < *n));
    statistics.num_rows = match scan.limit.filter(|_| is_cut) {
        Some(limit) => all_rows.map(|rows| rows.min(limit)),
        None => all_rows,
    };
    for (column, field) in statistics.column_statistics.iter_mut().zip(schema.fields()) {
        if !field.is_nullable() {
            column.null_count = Precision::Exact(0);
        }
    }
    let lead = scan.columns.iter().position(|column| *column == scan.table.stream.lead_column());
    if let Some(lead) = lead.filter(|_| scan.is_measured && !is_cut)
        && let Some(column) = statistics.column_statistics.get_mut(lead)
    {
        ends(scan, schema.field(lead).data_type(), column)?;
    }
    Ok(statistics)
}

/// The first key and the last.
fn ends(scan: &StreamScan, data_type: &DataType, column: &mut ColumnStatistics) -> Result<()> {
    let stream = scan.table.stream.id();
    let least = |range: &KeyRange| scan.snapshot.min_key(stream, range).transpose();
    let greatest = |range: &KeyRange| scan.snapshot.max_key(stream, range).transpose();
    let ranges = scan.ranges.as_slice();
    let min = ranges.iter().find_map(least).transpose().map_err(carried)?;
    let max = ranges.iter().rev().find_map(greatest).transpose().map_err(carried)?;
    let known = |key: Option<LeadKey>| match key.and_then(|key| literal(key, data_type)) {
        Some(value) => Precision::Exact(value),
        None => Precision::Absent,
    };
    (column.min_value, column.max_value) = (known(min), known(max));
    Ok(())
}

/// A key as a value of the column that it is from.
fn literal(key: LeadKey, data_type: &DataType) -> Option<ScalarValue> {
    Some(match (key, data_type) {
        (LeadKey::Time(time), DataType::Timestamp(unit, zone)) => {
            timestamp(time, *unit, zone.clone())
        }
        (LeadKey::Time(time), DataType::Int64) => ScalarValue::Int64(Some(time)),
        (LeadKey::Offset(offset), DataType::UInt64) => ScalarValue::UInt64(Some(offset)),
        (LeadKey::Id16(id), _) => ScalarValue::FixedSizeBinary(16, Some(id.to_vec())),
        (LeadKey::Id32(id), _) => ScalarValue::FixedSizeBinary(32, Some(id.to_vec())),
        _ => return None,
    })
}

//! A stream as a table: which filters become ranges, and the scan that reads them.

mod filter;
mod literal;
mod logs;
mod ranges;
mod topic;

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use timestrata_engine::Snapshot;

pub(crate) use self::filter::{Lead, Narrowed, narrow_all};
pub(crate) use self::logs::{LogsTable, logs_schema};
pub(crate) use self::ranges::Ranges;
pub(crate) use self::topic::{TopicTable, topic_schema};
use crate::physical_plan::StreamScan;
use crate::schema::SqlTable;

/// A table of one query: a stream at the snapshot that the whole query sees.
#[derive(Debug)]
pub(crate) struct StreamTable {
    table: Arc<SqlTable>,
    snapshot: Snapshot,
}

impl StreamTable {
    pub(crate) fn new(table: Arc<SqlTable>, snapshot: Snapshot) -> Self {
        Self { table, snapshot }
    }
}

/// The leading key of a table, as its filters name it; `None` where it isn't shown.
pub(crate) fn lead_of(table: &SqlTable) -> Option<Lead> {
    let lead = table.stream.lead_column();
    let shown = table.columns.iter().position(|column| *column == lead)?;
    Some(Lead::of(&table.schema, shown))
}

/// What some filters leave of a table's keys.
pub(crate) fn narrow_table(table: &SqlTable, filters: &[Expr]) -> Narrowed {
    match lead_of(table) {
        Some(lead) => narrow_all(&lead, filters),
        None => Narrowed { ranges: Ranges::all(), is_exact: filters.is_empty() },
    }
}

#[async_trait]
impl TableProvider for StreamTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.table.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let Narrowed { ranges, .. } = narrow_table(&self.table, filters);
        let shown: Vec<usize> = match projection {
            Some(projection) => projection.clone(),
            None => (0..self.table.columns.len()).collect(),
        };
        let parts = state.config().target_partitions();
        let scan = StreamScan::new(&self.table, &self.snapshot, &shown, ranges, limit, parts)?;
        Ok(Arc::new(scan))
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        Ok(judge_filters(lead_of(&self.table).as_ref(), filters))
    }
}

/// What of some filters becomes ranges of the leading key.
fn judge_filters(lead: Option<&Lead>, filters: &[&Expr]) -> Vec<TableProviderFilterPushDown> {
    let judge = |filter: &&Expr| match lead.and_then(|lead| filter::narrow(lead, filter)) {
        Some(narrowed) if narrowed.is_exact => TableProviderFilterPushDown::Exact,
        Some(narrowed) if !narrowed.ranges.is_all() => TableProviderFilterPushDown::Inexact,
        _ => TableProviderFilterPushDown::Unsupported,
    };
    filters.iter().map(judge).collect()
}

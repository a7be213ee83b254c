//! Streams as tables: which filters become ranges, and the scans that read them.

mod derived;
mod few_rows;
mod filter;
mod literal;
mod named;
mod search;
mod topic;
mod words;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::{Field, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use timestrata_engine::{RunningQuery, Snapshot, Store};

use self::filter::{narrow, narrow_all};
use self::topic::TopicPartitions;
use crate::physical_plan::StreamScan;
use crate::ranges::Ranges;
use crate::schema::SqlTable;

use self::derived::DerivedTable;
pub(crate) use self::few_rows::reads_few_rows;
pub(crate) use self::filter::FilterRanges;
pub(crate) use self::named::{GraphTable, TopicTable, search_table};

/// What the tables of one query are read from.
#[derive(Debug, Clone)]
pub(crate) struct ReadFrom {
    /// The snapshot that the whole query sees.
    pub(crate) snapshot: Snapshot,
    /// The store that it is of.
    pub(crate) store: Store,
    pub(crate) query: Option<RunningQuery>,
}

/// A table, as DataFusion reads it at a snapshot.
pub(crate) fn provider(table: SqlTable, read: &ReadFrom) -> Arc<dyn TableProvider> {
    let read = read.clone();
    if let Some(source) = TopicPartitions::of(&table.stream, &read.snapshot) {
        return Arc::new(SnapshotTable { source, read });
    }
    match DerivedTable::of(&table.stream) {
        Some(source) => Arc::new(SnapshotTable { source, read }),
        None => Arc::new(SnapshotTable { source: Arc::new(table), read }),
    }
}

/// What the rows of a table are made of.
trait TableSource: fmt::Debug + Send + Sync + 'static {
    /// All columns.
    fn schema(&self) -> &SchemaRef;

    /// A plan that gives some of the columns, by their places.
    fn scan(&self, columns: &[usize], request: &ScanRequest<'_>) -> Result<Arc<dyn ExecutionPlan>>;

    /// What the plan does of each filter.
    fn pushed_down(&self, filters: &[&Expr]) -> Vec<TableProviderFilterPushDown>;
}

/// Which rows are request.
struct ScanRequest<'a> {
    snapshot: &'a Snapshot,
    filters: &'a [Expr],
    limit: Option<usize>,
    partitions: usize,
}

impl ScanRequest<'_> {
    /// The scan of some columns of a table that is a stream.
    fn scan(&self, table: &Arc<SqlTable>, columns: &[usize]) -> Result<StreamScan> {
        let FilterRanges { ranges, .. } = narrow_table(table, self.filters);
        StreamScan::new(table, self.snapshot, columns, ranges, self.limit, self.partitions)
    }
}

/// A table of one query, at the snapshot that the whole query sees.
#[derive(Debug)]
struct SnapshotTable<S> {
    source: S,
    read: ReadFrom,
}

#[async_trait]
impl<S: TableSource> TableProvider for SnapshotTable<S> {
    fn schema(&self) -> SchemaRef {
        Arc::clone(self.source.schema())
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
        let all = || (0..self.source.schema().fields().len()).collect();
        let columns: Vec<usize> = projection.cloned().unwrap_or_else(all);
        let partitions = state.config().target_partitions();
        let request = ScanRequest { snapshot: &self.read.snapshot, filters, limit, partitions };
        self.source.scan(&columns, &request)
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        Ok(self.source.pushed_down(filters))
    }
}

impl TableSource for Arc<SqlTable> {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn scan(&self, columns: &[usize], request: &ScanRequest<'_>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(request.scan(self, columns)?))
    }

    /// What of filters becomes ranges of the leading key.
    fn pushed_down(&self, filters: &[&Expr]) -> Vec<TableProviderFilterPushDown> {
        let lead = lead_of(self);
        let judge = |filter: &&Expr| match lead.and_then(|lead| narrow(lead, filter)) {
            Some(narrowed) if narrowed.is_exact => TableProviderFilterPushDown::Exact,
            Some(narrowed) if !narrowed.ranges.is_all() => TableProviderFilterPushDown::Inexact,
            _ => TableProviderFilterPushDown::Unsupported,
        };
        filters.iter().map(judge).collect()
    }
}

/// The leading key of a table, as its filters name it; `None` where it isn't shown.
fn lead_of(table: &SqlTable) -> Option<&Field> {
    let lead = table.stream.lead_column();
    let shown = table.columns.iter().position(|column| *column == lead)?;
    Some(table.schema.field(shown))
}

/// What some filters leave of a table's keys.
pub(crate) fn narrow_table(table: &SqlTable, filters: &[Expr]) -> FilterRanges {
    match lead_of(table) {
        Some(lead) => narrow_all(lead, filters),
        None => FilterRanges { ranges: Ranges::all(), is_exact: filters.is_empty() },
    }
}

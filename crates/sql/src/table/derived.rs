//! Tables whose columns are made of those of a stream: a log's entries with levels by name and each field in its column,
//! wherever its value is kept; a time log's values as JSON.

use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use timestrata_engine::Stream;
use timestrata_logs::filter::Expr as SearchedFor;
use timestrata_logs::{EntryFilter, ShownColumns};
use timestrata_timelog::codec_of;

use super::search::Searched;
use super::words::words_asked;
use super::{ScanRequest, TableSource};
use crate::physical_plan::{MadeColumn, Maker};
use crate::schema::{SqlTable, logs_schema, values_schema};

/// The table of one stream whose columns are made.
#[derive(Debug)]
pub(crate) struct DerivedTable {
    /// The stream as it is.
    stored: Arc<SqlTable>,
    maker: Arc<Maker>,
    schema: SchemaRef,
    /// Which entries of a log are looked for.
    search: Option<Arc<EntryFilter>>,
}

impl DerivedTable {
    /// That of a log, or of a time log of documents; `None` if the stream is something else.
    pub(super) fn of(stream: &Arc<Stream>) -> Option<Self> {
        let (maker, schema) = match logs_schema(stream) {
            Some(schema) => (Maker::Log(ShownColumns::of(stream).ok()?), schema),
            None => (Maker::Values(codec_of(stream)?), values_schema(stream)?),
        };
        let stored = Arc::new(SqlTable::whole(stream));
        Some(Self { stored, maker: Arc::new(maker), schema, search: None })
    }

    /// The same log, of which only those entries are looked for that a filter lets through.
    pub(super) fn searched(&self, filter: EntryFilter) -> Self {
        let is_any = *filter.filter().root() == SearchedFor::All;
        Self {
            stored: Arc::clone(&self.stored),
            maker: Arc::clone(&self.maker),
            schema: Arc::clone(&self.schema),
            search: (!is_any).then(|| Arc::new(filter)),
        }
    }

    /// The stream, if it is a log.
    pub(super) fn log(&self) -> Option<&Arc<Stream>> {
        matches!(*self.maker, Maker::Log(_)).then_some(&self.stored.stream)
    }

    /// A column, made of what a scan of the columns `read` gives.
    fn column(&self, column: usize, read: &[usize]) -> ProjectionExpr {
        let source = |column: &usize| -> Arc<dyn PhysicalExpr> {
            let place = read.binary_search(column).unwrap_or_default();
            Arc::new(Column::new(self.stored.schema.field(*column).name(), place))
        };
        let field = self.schema.field(column);
        let sources = self.maker.sources(column);
        let is_same = self.stored.schema.field(column) == field && sources.len() == 1;
        let expr = match is_same {
            true => source(&column),
            false => Arc::new(MadeColumn::new(
                Arc::clone(&self.maker),
                column,
                Arc::new(field.clone().with_nullable(true)),
                sources.iter().map(source).collect(),
            )),
        };
        ProjectionExpr { expr, alias: field.name().clone() }
    }
}

impl TableSource for DerivedTable {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn scan(&self, columns: &[usize], request: &ScanRequest<'_>) -> Result<Arc<dyn ExecutionPlan>> {
        let looked_at = self.search.iter().flat_map(|search| search.columns().iter().copied());
        let sources = columns.iter().flat_map(|column| self.maker.sources(*column));
        let mut read: Vec<usize> = looked_at.chain(sources).collect();
        read.sort_unstable();
        read.dedup();
        let mut scan = request.scan(&self.stored, &read)?;
        let mut prune =
            self.search.as_ref().map(|search| search.prune_filter()).unwrap_or_default();
        if let Maker::Log(shown) = self.maker.as_ref() {
            for any_of in request.filters.iter().flat_map(|filter| words_asked(shown, filter)) {
                prune = prune.with_any_word(any_of.iter().map(String::as_str));
            }
        }
        if let Some(search) = &self.search {
            let place = |column: &usize| read.binary_search(column).unwrap_or_default();
            let columns = search.columns().iter().map(|column| {
                let name = self.stored.schema.field(*column).name();
                Arc::new(Column::new(name, place(column))) as Arc<dyn PhysicalExpr>
            });
            let searched = Searched::new(Arc::clone(search), columns.collect());
            scan = scan.searched(Arc::new(searched))?;
        }
        let expressions = columns.iter().map(|column| self.column(*column, &read));
        let expressions: Vec<_> = expressions.collect();
        Ok(Arc::new(ProjectionExec::try_new(expressions, Arc::new(scan.pruned(prune)))?))
    }

    fn pushed_down(&self, filters: &[&Expr]) -> Vec<TableProviderFilterPushDown> {
        let mut done = self.stored.pushed_down(filters);
        if let Maker::Log(shown) = self.maker.as_ref() {
            for (done, filter) in done.iter_mut().zip(filters) {
                let is_nothing = matches!(done, TableProviderFilterPushDown::Unsupported);
                if is_nothing && !words_asked(shown, filter).is_empty() {
                    *done = TableProviderFilterPushDown::Inexact;
                }
            }
        }
        done
    }
}

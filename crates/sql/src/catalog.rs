//! One catalog over all streams of a store, as one query sees it: every table at the same
//! snapshot.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::catalog::information_schema::{INFORMATION_SCHEMA, InformationSchemaProvider};
use datafusion::catalog::{
    CatalogProvider, CatalogProviderList, MemoryCatalogProvider, MemoryCatalogProviderList,
    SchemaProvider, TableProvider,
};
use datafusion::common::config::ConfigOptions;
use datafusion::common::{Result, TableReference};
use datafusion::datasource::cte_worktable::CteWorkTable;
use datafusion::datasource::empty::EmptyTable;
use datafusion::datasource::provider_as_source;
use datafusion::logical_expr::planner::{ContextProvider, ExprPlanner, RelationPlanner};
use datafusion::logical_expr::{
    AggregateUDF, Expr, HigherOrderUDF, ScalarUDF, TableSource, WindowUDF,
};
use futures::FutureExt;
use timestrata_engine::{Error, ErrorKind, Snapshot};

use crate::error::{carried, refused};
use crate::planning_states::PlanningState;
use crate::schema::{PlainStreams, Shown, SqlModel, SqlTable, plain_schema};
use crate::table::provider;

/// The name of the catalog, and of its one schema.
pub(crate) const CATALOG: &str = "store";
pub(crate) const SCHEMA: &str = "public";
/// Names of tables that an error gives.
const NAMES_MAX: usize = 20;

/// The tables of one snapshot.
#[derive(Debug, Clone)]
pub(crate) struct Catalog {
    snapshot: Snapshot,
    models: Arc<[Arc<dyn SqlModel>]>,
}

impl Catalog {
    pub(crate) fn new(snapshot: Snapshot, models: Arc<[Arc<dyn SqlModel>]>) -> Self {
        Self { snapshot, models }
    }

    /// All tables, by name.
    pub(crate) fn tables(&self) -> Vec<SqlTable> {
        let mut tables: Vec<_> =
            self.snapshot.streams().filter_map(|stream| self.show(stream)).collect();
        tables.sort_by(|a, b| a.name.cmp(&b.name));
        tables
    }

    /// Their names.
    pub(crate) fn table_names(&self) -> Vec<String> {
        self.tables().into_iter().map(|table| table.name).collect()
    }

    fn show(&self, stream: &Arc<timestrata_engine::Stream>) -> Option<SqlTable> {
        let mut said = self.models.iter().map(|model| model.show(stream));
        let said = said.find(|shown| !matches!(shown, Shown::NotMine));
        match said.unwrap_or_else(|| PlainStreams.show(stream)) {
            Shown::Table(table) => Some(table),
            _ => None,
        }
    }

    /// A table by its name; or, if none has that, by the only one that differs in case alone.
    pub(crate) fn table(&self, name: &str) -> Option<SqlTable> {
        let same = self.snapshot.streams().find(|stream| stream.name() == name);
        if let Some(table) = same.and_then(|stream| self.show(stream))
            && table.name == name
        {
            return Some(table);
        }
        let mut tables = self.tables();
        if let Some(index) = tables.iter().position(|table| table.name == name) {
            return Some(tables.swap_remove(index));
        }
        tables.retain(|table| table.name.to_lowercase() == name.to_lowercase());
        if tables.len() == 1 { tables.pop() } else { None }
    }

    /// As [`table`](Self::table), of one that has to be there.
    pub(crate) fn require(&self, name: &str) -> timestrata_engine::Result<SqlTable> {
        self.table(name).ok_or_else(|| self.no_table(name))
    }

    /// A table as DataFusion reads it.
    pub(crate) fn provider(&self, name: &str) -> Option<Arc<dyn TableProvider>> {
        Some(provider(self.table(name)?, &self.snapshot))
    }

    /// The error for a table that isn't there.
    pub(crate) fn no_table(&self, name: &str) -> Error {
        let shown: String = name.chars().take(80).collect();
        let names = self.table_names();
        let there = match names.len() {
            0 => "the store has none".to_owned(),
            count if count > NAMES_MAX => format!(
                "among the {count} that there are: {}",
                names.get(..NAMES_MAX).unwrap_or_default().join(", ")
            ),
            _ => format!("there are: {}", names.join(", ")),
        };
        Error::new(ErrorKind::NotFound, format!("there is no table '{shown}'; {there}"))
    }

    fn information(&self, table: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        let (all, catalog) = (MemoryCatalogProviderList::new(), MemoryCatalogProvider::new());
        catalog.register_schema(SCHEMA, Arc::new(self.clone()))?;
        all.register_catalog(CATALOG.to_owned(), Arc::new(catalog));
        let all = InformationSchemaProvider::new(Arc::new(all));
        // It only builds a list: there is nothing to wait for.
        all.table(table).now_or_never().unwrap_or(Ok(None))
    }
}

#[async_trait]
impl SchemaProvider for Catalog {
    fn table_names(&self) -> Vec<String> {
        Self::table_names(self)
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        // For those who list columns: they are listed as they are handed out.
        let listed = Catalog::table(self, name).map(|table| plain_schema(&table.schema));
        Ok(listed.map(|schema| Arc::new(EmptyTable::new(schema)) as Arc<dyn TableProvider>))
    }

    fn table_exist(&self, name: &str) -> bool {
        Catalog::table(self, name).is_some()
    }
}

/// What the planner of SQL asks: tables of the snapshot, functions of the session.
pub(crate) struct Planning {
    pub(crate) state: PlanningState,
    pub(crate) catalog: Catalog,
}

impl ContextProvider for Planning {
    fn get_table_source(&self, name: TableReference) -> Result<Arc<dyn TableSource>> {
        let provider = match name.schema() {
            Some(INFORMATION_SCHEMA) => self.catalog.information(name.table())?,
            None | Some(SCHEMA) => self.catalog.provider(name.table()),
            Some(_) => None,
        };
        match provider {
            Some(provider) => Ok(provider_as_source(provider)),
            None => Err(carried(self.catalog.no_table(&name.to_string()))),
        }
    }

    fn get_table_function_source(
        &self,
        name: &str,
        args: Vec<Expr>,
    ) -> Result<Arc<dyn TableSource>> {
        let Some(function) = self.state.table_functions().get(name) else {
            return Err(refused(format!("there is no table function '{name}'")));
        };
        let args = datafusion::catalog::TableFunctionArgs::new(&args, &*self.state);
        Ok(provider_as_source(function.create_table_provider_with_args(args)?))
    }

    fn create_cte_work_table(&self, name: &str, schema: SchemaRef) -> Result<Arc<dyn TableSource>> {
        Ok(provider_as_source(Arc::new(CteWorkTable::new(name, schema))))
    }

    fn get_expr_planners(&self) -> &[Arc<dyn ExprPlanner>] {
        self.state.expr_planners()
    }

    fn get_relation_planners(&self) -> &[Arc<dyn RelationPlanner>] {
        self.state.relation_planners()
    }

    fn get_function_meta(&self, name: &str) -> Option<Arc<ScalarUDF>> {
        self.state.scalar_functions().get(name).cloned()
    }

    fn get_higher_order_meta(&self, name: &str) -> Option<Arc<HigherOrderUDF>> {
        self.state.higher_order_functions().get(name).cloned()
    }

    fn get_aggregate_meta(&self, name: &str) -> Option<Arc<AggregateUDF>> {
        self.state.aggregate_functions().get(name).cloned()
    }

    fn get_window_meta(&self, name: &str) -> Option<Arc<WindowUDF>> {
        self.state.window_functions().get(name).cloned()
    }

    fn get_variable_type(&self, _: &[String]) -> Option<DataType> {
        None
    }

    fn options(&self) -> &ConfigOptions {
        self.state.config_options()
    }

    fn udf_names(&self) -> Vec<String> {
        self.state.scalar_functions().keys().cloned().collect()
    }

    fn higher_order_function_names(&self) -> Vec<String> {
        self.state.higher_order_functions().keys().cloned().collect()
    }

    fn udaf_names(&self) -> Vec<String> {
        self.state.aggregate_functions().keys().cloned().collect()
    }

    fn udwf_names(&self) -> Vec<String> {
        self.state.window_functions().keys().cloned().collect()
    }
}

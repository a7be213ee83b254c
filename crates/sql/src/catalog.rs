//! One catalog over all streams of a store, as one query sees it: every table at the same
//! snapshot.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::information_schema::{INFORMATION_SCHEMA, InformationSchemaProvider};
use datafusion::catalog::{
    CatalogProvider, CatalogProviderList, MemoryCatalogProvider, MemoryCatalogProviderList,
    SchemaProvider, TableProvider,
};
use datafusion::common::{Result, TableReference};
use datafusion::datasource::empty::EmptyTable;
use futures::FutureExt;
use timestrata_engine::{Error, ErrorKind};

use crate::error::carried;
use crate::planner_context::NamedTables;
use crate::planning_states::PlanningState;
use crate::schema::{PlainStreams, Shown, SqlModel, SqlTable, plain_schema};
use crate::table::{ReadFrom, provider};

/// The name of the catalog, and of its one schema.
pub(crate) const CATALOG: &str = "store";
pub(crate) const SCHEMA: &str = "public";
/// Names of tables that an error gives.
const NAMES_MAX: usize = 20;

/// The tables of one snapshot.
#[derive(Debug, Clone)]
pub(crate) struct Catalog {
    read: ReadFrom,
    models: Arc<[Arc<dyn SqlModel>]>,
}

impl Catalog {
    pub(crate) fn new(read: ReadFrom, models: Arc<[Arc<dyn SqlModel>]>) -> Self {
        Self { read, models }
    }

    /// All tables, by name.
    pub(crate) fn tables(&self) -> Vec<SqlTable> {
        let mut tables: Vec<_> =
            self.read.snapshot.streams().filter_map(|stream| self.show(stream)).collect();
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
        let same = self.read.snapshot.streams().find(|stream| stream.name() == name);
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
        Some(provider(self.table(name)?, &self.read))
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

impl NamedTables for Catalog {
    fn named(&self, name: &TableReference) -> Result<Arc<dyn TableProvider>> {
        let provider = match name.schema() {
            Some(INFORMATION_SCHEMA) => self.information(name.table())?,
            None | Some(SCHEMA) => self.provider(name.table()),
            Some(_) => None,
        };
        provider.ok_or_else(|| carried(self.no_table(&name.to_string())))
    }
}

/// What a query is planned with: a session, and the tables of a snapshot.
pub(crate) struct Planning {
    pub(crate) state: PlanningState,
    pub(crate) catalog: Catalog,
}

//! One catalog over all streams of a store, as one query sees it: every table at the same
//! snapshot.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::catalog::information_schema::{INFORMATION_SCHEMA, InformationSchemaProvider};
use datafusion::catalog::{
    CatalogProvider, CatalogProviderList, MemoryCatalogProvider, MemoryCatalogProviderList,
    SchemaProvider, TableProvider,
};
use datafusion::common::{Result, TableReference, ToDFSchema};
use datafusion::datasource::ViewTable;
use datafusion::datasource::empty::EmptyTable;
use datafusion::logical_expr::{EmptyRelation, LogicalPlan, TableType};
use futures::FutureExt;
use timestrata_engine::{Error, ErrorKind, Stream};
use timestrata_table::{is_view, view_query};

use crate::error::{carried, from_datafusion, invalid, refused};
use crate::local::{LocalTable, check_names};
use crate::planner_context::{NamedTables, first_time_column};
use crate::planning_states::{PlanningState, PlanningStates};
use crate::schema::{PlainStreams, Shown, SqlModel, SqlTable, plain_schema};
use crate::table::{ReadFrom, provider};

/// The name of the catalog, and of its one schema.
pub(crate) const CATALOG: &str = "store";
pub(crate) const SCHEMA: &str = "public";
/// Views that read each other.
const VIEWS_DEEP_MAX: usize = 16;
/// Names of tables that an error gives.
const NAMES_MAX: usize = 20;

/// Makes plans of the queries of views.
pub(crate) trait PlansViews: std::fmt::Debug + Send + Sync {
    /// The plan of a view, whose query is that.
    fn plan(&self, catalog: Catalog, view: &Arc<Stream>, query: &str) -> Result<LogicalPlan>;
}

/// The tables of one snapshot.
#[derive(Debug, Clone)]
pub(crate) struct Catalog {
    read: ReadFrom,
    models: Arc<[Arc<dyn SqlModel>]>,
    /// What the queries of views are planned in.
    states: Arc<PlanningStates>,
    views: &'static dyn PlansViews,
    /// How many views are around what is planned.
    depth: usize,
    /// Tables of this query alone.
    local: Arc<[LocalTable]>,
}

impl Catalog {
    pub(crate) fn new(
        read: ReadFrom,
        models: Arc<[Arc<dyn SqlModel>]>,
        states: Arc<PlanningStates>,
        views: &'static dyn PlansViews,
    ) -> Self {
        Self { read, models, states, views, depth: 0, local: Arc::new([]) }
    }

    /// The same, with tables of one query.
    ///
    /// # Errors
    /// `InvalidArgument` for names that the store has, and for two that are the same.
    pub(crate) fn with_local(self, local: &Arc<[LocalTable]>) -> timestrata_engine::Result<Self> {
        check_names(local)?;
        for table in local.iter() {
            if let Some(known) = self.find(&table.name) {
                return Err(invalid(format!(
                    "the store has '{}': give the rows that the query brings another name than '{}'",
                    known.name, table.name
                )));
            }
        }
        Ok(Self { local: Arc::clone(local), ..self })
    }

    /// A session to plan in.
    pub(crate) fn planning_state(&self) -> PlanningState {
        self.states.begin()
    }

    /// What its tables are read from.
    pub(crate) fn read_from(&self) -> &ReadFrom {
        &self.read
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

    /// A table or a view by its name; or, if none has that, by the only one that differs in case alone.
    pub(crate) fn find(&self, name: &str) -> Option<SqlTable> {
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

    /// A table, and no view, that has to be there.
    pub(crate) fn require(&self, name: &str) -> timestrata_engine::Result<SqlTable> {
        match self.find(name) {
            Some(found) if is_view(&found.stream) => Err(invalid(format!(
                "'{}' is a view, of which SELECT reads: what changes rows takes the table behind it",
                found.name
            ))),
            found => found.ok_or_else(|| self.no_table(name)),
        }
    }

    /// A table or a view as DataFusion reads it.
    fn provider(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        let Some(table) = self.find(name) else {
            let wanted = name.to_lowercase();
            let mut local = self.local.iter();
            let found = local.find(|table| table.name.to_lowercase() == wanted);
            return Ok(found.map(LocalTable::provider));
        };
        Ok(Some(match view_query(&table.stream) {
            Some(query) => Arc::new(self.view(&table, query)?),
            None => provider(table, &self.read),
        }))
    }

    /// A view as the query that it is, planned.
    #[recursive::recursive]
    fn view(&self, view: &SqlTable, query: &str) -> Result<ViewTable> {
        let name = &view.name;
        if self.depth >= VIEWS_DEEP_MAX {
            return Err(refused(format!(
                "view '{name}' is read by {VIEWS_DEEP_MAX} views in each other, or reads itself: drop one of them"
            )));
        }
        let catalog = Self { depth: self.depth + 1, local: Arc::new([]), ..self.clone() };
        let plan = self.views.plan(catalog, &view.stream, query).map_err(|error| {
            let error = from_datafusion(error);
            let message = format!("view '{name}': {}", error.message());
            carried(Error::new(error.kind(), message).caused_by(error))
        })?;
        Ok(ViewTable::new(plan, Some(query.to_owned())))
    }

    /// The error for a table that isn't there.
    pub(crate) fn no_table(&self, name: &str) -> Error {
        let shown: String = name.chars().take(80).collect();
        let mut names = self.table_names();
        names.extend(self.local.iter().map(|table| table.name.clone()));
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

    /// A view for those who list it: without columns where its query can't be planned, as its table has gone.
    fn listed_view(&self, view: &SqlTable, query: &str) -> Result<ViewTable> {
        let schema = match self.view(view, query) {
            Ok(view) => plain_schema(&view.schema()),
            Err(_) => Arc::new(Schema::empty()),
        };
        let schema = schema.to_dfschema_ref()?;
        let plan = LogicalPlan::EmptyRelation(EmptyRelation { produce_one_row: false, schema });
        Ok(ViewTable::new(plan, Some(query.to_owned())))
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
        let Some(table) = self.find(name) else { return Ok(None) };
        Ok(Some(match view_query(&table.stream) {
            Some(query) => Arc::new(self.listed_view(&table, query)?),
            None => Arc::new(EmptyTable::new(plain_schema(&table.schema))),
        }))
    }

    async fn table_type(&self, name: &str) -> Result<Option<TableType>> {
        let type_of = |table: SqlTable| match is_view(&table.stream) {
            true => TableType::View,
            false => TableType::Base,
        };
        Ok(self.find(name).map(type_of))
    }

    fn table_exist(&self, name: &str) -> bool {
        self.find(name).is_some()
    }
}

impl NamedTables for Catalog {
    fn named(&self, name: &TableReference) -> Result<Arc<dyn TableProvider>> {
        let provider = match name.schema() {
            Some(INFORMATION_SCHEMA) => self.information(name.table())?,
            None | Some(SCHEMA) => self.provider(name.table())?,
            Some(_) => None,
        };
        provider.ok_or_else(|| carried(self.no_table(&name.to_string())))
    }

    fn time_column(&self, name: &str) -> Result<String> {
        let table = self.find(name).filter(|table| !is_view(&table.stream));
        let lead = table.and_then(|table| {
            let lead = table.stream.schema().field(table.stream.lead_column()).clone();
            let shown = table.schema.field_with_name(lead.name()).is_ok();
            (shown && matches!(lead.data_type(), DataType::Timestamp(_, _)))
                .then(|| lead.name().clone())
        });
        match lead {
            Some(lead) => Ok(lead),
            None => first_time_column(&self.named(&TableReference::bare(name))?.schema(), name),
        }
    }
}

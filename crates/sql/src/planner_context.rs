//! What the planner of SQL asks for: tables, functions, options.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::datatypes::{DataType, Field, SchemaRef};
use datafusion::catalog::{TableFunctionArgs, TableProvider};
use datafusion::common::config::ConfigOptions;
use datafusion::common::{Result, TableReference};
use datafusion::datasource::cte_worktable::CteWorkTable;
use datafusion::datasource::provider_as_source;
use datafusion::execution::SessionState;
use datafusion::logical_expr::planner::{ContextProvider, ExprPlanner, RelationPlanner};
use datafusion::logical_expr::{
    AggregateUDF, Expr, HigherOrderUDF, ScalarUDF, TableSource, WindowUDF,
};

use crate::error::refused;
use crate::functions::{AsofJoins, Pivots, TableFunctions};
use crate::model_functions::ModelFunctions;

/// Tables that queries know by name.
pub(crate) trait NamedTables {
    /// A table.
    ///
    /// # Errors
    /// That there is none of this name.
    fn named(&self, name: &TableReference) -> Result<Arc<dyn TableProvider>>;

    /// The column that a table has its times in.
    ///
    /// # Errors
    /// That there is no such table, and that it has no times.
    fn time_column(&self, name: &str) -> Result<String> {
        first_time_column(&self.named(&TableReference::bare(name))?.schema(), name)
    }
}

/// The first column of times of a table.
///
/// # Errors
/// That it has none.
pub(crate) fn first_time_column(schema: &SchemaRef, name: &str) -> Result<String> {
    let is_time = |field: &&Arc<Field>| matches!(field.data_type(), DataType::Timestamp(_, _));
    let found = schema.fields().iter().find(is_time);
    found.map(|field| field.name().clone()).ok_or_else(|| {
        refused(format!("'{name}' has no column of times, by which its rows could be sampled"))
    })
}

/// The functions and options of a session, over tables. The planner is generic, and long: there is one such type, for
/// it to be compiled once.
pub(crate) struct PlannerContext<'a> {
    pub(crate) state: &'a SessionState,
    pub(crate) tables: &'a dyn NamedTables,
}

impl ContextProvider for PlannerContext<'_> {
    fn get_table_source(&self, name: TableReference) -> Result<Arc<dyn TableSource>> {
        Ok(provider_as_source(self.tables.named(&name)?))
    }

    fn get_table_function_source(
        &self,
        name: &str,
        args: Vec<Expr>,
    ) -> Result<Arc<dyn TableSource>> {
        let Some(function) = self.state.table_functions().get(name) else {
            return Err(refused(format!("there is no table function '{name}'")));
        };
        let args = TableFunctionArgs::new(&args, self.state);
        Ok(provider_as_source(function.create_table_provider_with_args(args)?))
    }

    fn create_cte_work_table(&self, name: &str, schema: SchemaRef) -> Result<Arc<dyn TableSource>> {
        Ok(provider_as_source(Arc::new(CteWorkTable::new(name, schema))))
    }

    fn get_expr_planners(&self) -> &[Arc<dyn ExprPlanner>] {
        self.state.expr_planners()
    }

    fn get_relation_planners(&self) -> &[Arc<dyn RelationPlanner>] {
        static PLANNERS: LazyLock<[Arc<dyn RelationPlanner>; 4]> = LazyLock::new(|| {
            [
                Arc::new(TableFunctions),
                Arc::new(ModelFunctions),
                Arc::new(Pivots),
                Arc::new(AsofJoins),
            ]
        });
        &*PLANNERS
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

//! SQL over all streams of a store: DataFusion, with scans that read only what a query needs, and
//! functions for time.
//!
//! A query sees every table at one snapshot, taken when it is planned. What is asked of the
//! leading key becomes ranges; columns, limits and order go down to the runs; counts and ends are
//! answered from metadata where that is exact. SQL reaches no file and changes no setting; it
//! writes through [`SqlWriter`] only.
//!
//! Invariant: a filter counts as done only where the ranges are it exactly.
#![forbid(unsafe_code)]

mod alter;
mod catalog;
mod change;
mod dialect;
mod error;
mod execution;
mod expressions;
mod folding;
mod functions;
mod governed;
mod instant;
mod joined_columns;
mod local;
mod materialized;
mod model_functions;
mod names;
mod optimizer;
mod options;
mod params;
mod physical_plan;
mod planner_context;
mod planning;
mod planning_states;
mod predicate;
mod query_forms;
mod ranges;
mod result;
mod rewrite;
mod rules;
mod sample_by;
mod sample_tokens;
mod schema;
mod selection;
mod session;
mod shared;
mod spellings;
mod sql;
mod statement;
mod statement_forms;
mod table;
mod tables;
mod time_types;
mod token_forms;
mod tokens;
mod update;
mod views;
mod writer;

pub use datafusion::common::ScalarValue;
pub use execution::Input;
pub use functions::{AsofOptions, Direction, Fill, GapFillOptions, Tolerance};
pub use local::LocalTable;
pub use names::quoted;
pub use options::SqlOptions;
pub use params::Params;
pub use result::{BlockingResult, QueryResult};
pub use schema::{Shown, SqlModel, SqlTable};
pub use selection::Selection;
pub use sql::Sql;
pub use statement::is_query;
pub use tables::delete_rows;
pub use writer::{Predicate, RowChange, SqlWriter, TableChange, TableDefinition, ViewDefinition};

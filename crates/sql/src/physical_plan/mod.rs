//! Physical operators (the scan of a stream, and those of the table functions), and the rules that physical plans
//! go through besides DataFusion's.

mod asof_join;
mod compare;
mod computed;
mod conditions;
mod filter_projections;
mod filtered_scan;
mod forget_order;
mod gap_fill;
mod latest_on;
mod log_fields;
mod made_columns;
mod measure;
mod number_ranges;
mod numbered;
mod operator;
mod pieces;
mod plain_text;
mod planner;
mod restore_order;
mod reverse;
mod rounding_casts;
mod runtime_filters;
mod scan;
mod wrapped_expr;

pub(crate) use self::compare::compare_numbers;
pub(crate) use self::computed::{Computation, ComputedTable};
pub(crate) use self::filter_projections::split_filter_projections;
pub(crate) use self::filtered_scan::filter_scans;
pub(crate) use self::forget_order::{answer_in_any_order, forget_order};
pub(crate) use self::log_fields::read_log_fields;
pub(crate) use self::made_columns::{MadeColumn, Maker, evaluated};
pub(crate) use self::measure::measure_scans;
pub(crate) use self::numbered::NumberGroups;
pub(crate) use self::operator::{Inputs, Operator, OperatorExec};
pub(crate) use self::plain_text::plain_text;
pub(crate) use self::planner::TableFunctionPlanner;
pub(crate) use self::restore_order::restore_order;
pub(crate) use self::reverse::read_backwards;
pub(crate) use self::rounding_casts::hide_rounding_casts;
pub(crate) use self::runtime_filters::RuntimeFilters;
pub(crate) use self::scan::StreamScan;
pub(crate) use self::wrapped_expr::{Evaluation, WrappedExpr};

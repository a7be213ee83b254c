//! Physical operators: the scan of a stream, and those of the table functions.

mod asof_join;
mod compare;
mod conditions;
mod filter_projections;
mod forget_order;
mod gap_fill;
mod latest_on;
mod measure;
mod numbered;
mod pieces;
mod restore_order;
mod reverse;
mod rounding_casts;
mod scan;

pub(crate) use self::asof_join::{AsofJoinExec, AsofJoinOn};
pub(crate) use self::compare::CompareNumbers;
pub(crate) use self::filter_projections::UnfoldFilters;
pub(crate) use self::forget_order::ForgetOrder;
pub use self::gap_fill::Fill;
pub(crate) use self::gap_fill::{GapFillExec, GapFillSpec};
pub(crate) use self::latest_on::LatestOnExec;
pub(crate) use self::measure::MeasureScans;
pub(crate) use self::numbered::NumberGroups;
pub(crate) use self::restore_order::RestoreOrder;
pub(crate) use self::reverse::ReadBackwards;
pub(crate) use self::rounding_casts::HideRoundingCasts;
pub(crate) use self::scan::StreamScan;

//! Physical operators: the scan of a stream, and those of the table functions.

mod asof_join;
mod compare;
mod conditions;
mod gap_fill;
mod latest_on;
mod measure;
mod numbered;
mod opaque;
mod pieces;
mod restored;
mod reverse;
mod scan;
mod unfolded;
mod unordered;

pub(crate) use self::asof_join::{AsofJoinExec, AsofJoinOn};
pub(crate) use self::compare::CompareNumbers;
pub use self::gap_fill::Fill;
pub(crate) use self::gap_fill::{GapFillExec, GapFillSpec};
pub(crate) use self::latest_on::LatestOnExec;
pub(crate) use self::measure::MeasureScans;
pub(crate) use self::numbered::NumberGroups;
pub(crate) use self::opaque::HideRoundingCasts;
pub(crate) use self::restored::RestoreOrder;
pub(crate) use self::reverse::ReadBackwards;
pub(crate) use self::scan::StreamScan;
pub(crate) use self::unfolded::UnfoldFilters;
pub(crate) use self::unordered::ForgetOrder;

//! The as-of join as a node of the logical plan: for each row of the left side the last row of
//! the right one that is not later, or the next one, or the nearest.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use datafusion::arrow::array::types::IntervalMonthDayNano;
use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::{DFSchema, DFSchemaRef, DataFusionError, Result};
use datafusion::logical_expr::LogicalPlan;

use super::node::{FunctionNode, FunctionTerms, called, renamed, unqualified};
use super::step::width;
use crate::error::refused;
use crate::instant::{DAY_NS, nanoseconds};

/// Which row of the right side belongs to one of the left.
///
/// ```
/// use timestrata_sql::Direction;
///
/// assert_eq!("forward".parse::<Direction>().ok(), Some(Direction::Forward));
/// assert_eq!(Direction::default(), Direction::Backward);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Default)]
pub enum Direction {
    /// The last one that is not later.
    #[default]
    Backward,
    /// The first one that is not earlier.
    Forward,
    /// The one of both that is nearer; the earlier one of two that are as near.
    Nearest,
}

impl FromStr for Direction {
    type Err = DataFusionError;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "backward" => Ok(Self::Backward),
            "forward" => Ok(Self::Forward),
            "nearest" => Ok(Self::Nearest),
            other => Err(refused(format!(
                "direction is 'backward', 'forward' or 'nearest', not '{other}'"
            ))),
        }
    }
}

/// How far apart two rows may be.
///
/// ```
/// use timestrata_sql::Tolerance;
///
/// let most = Tolerance::parse("5 minutes");
/// assert!(matches!(most, Ok(Tolerance::Interval(time)) if time.nanoseconds == 300_000_000_000));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tolerance {
    /// A time.
    Interval(IntervalMonthDayNano),
    /// A difference of numbers, where the rows are ordered by numbers.
    Units(i64),
}

impl Tolerance {
    /// From a text like '5 minutes'.
    ///
    /// # Errors
    /// `InvalidArgument`.
    pub fn parse(text: &str) -> timestrata_engine::Result<Self> {
        let interval = super::step::parse_interval(text).map_err(crate::error::from_datafusion)?;
        Ok(Self::Interval(interval))
    }
}

/// How two tables are joined as of each other's times.
///
/// ```
/// use timestrata_sql::{AsofOptions, Direction};
///
/// let mut options = AsofOptions::on("time");
/// options.by = vec!["symbol".to_owned()];
/// assert_eq!((options.direction, options.suffix.as_str()), (Direction::Backward, "_right"));
/// ```
#[derive(Debug, Clone)]
pub struct AsofOptions {
    /// The time column of the left side, and of the right one if [`right_on`](Self::right_on)
    /// doesn't say otherwise.
    pub on: String,
    /// The time column of the right side.
    pub right_on: Option<String>,
    /// Columns that must be equal, of the left side. Null is equal to nothing.
    pub by: Vec<String>,
    /// Those of the right side, as many; default the same names.
    pub right_by: Option<Vec<String>>,
    /// Rows that are further apart don't belong together. Default: any distance will do.
    pub tolerance: Option<Tolerance>,
    /// Default: backward.
    pub direction: Direction,
    /// Whether rows of the same time belong together. Default true.
    pub allow_exact: bool,
    /// What is put behind the names of columns of the right side that the left one has too.
    /// Default `_right`.
    pub suffix: String,
}

impl AsofOptions {
    /// On one column that both sides have.
    pub fn on(on: impl Into<String>) -> Self {
        Self {
            on: on.into(),
            right_on: None,
            by: Vec::new(),
            right_by: None,
            tolerance: None,
            direction: Direction::Backward,
            allow_exact: true,
            suffix: "_right".to_owned(),
        }
    }
}

/// The names of the columns that a join needs, as its inputs have them, and its terms.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd)]
pub(crate) struct AsofTerms {
    pub(crate) on: (String, String),
    pub(crate) by: Vec<(String, String)>,
    /// What one unit of the left time, and of the right one, is in a common unit.
    pub(crate) scales: (i128, i128),
    /// In that unit.
    pub(crate) tolerance: Option<i128>,
    pub(crate) direction: Direction,
    pub(crate) allow_exact: bool,
    /// Columns of the right side that are given.
    shown: Vec<String>,
}

/// Joins two plans.
///
/// # Errors
/// `InvalidArgument` for columns that aren't there or don't go together.
pub(crate) fn asof_join(
    left: LogicalPlan,
    right: LogicalPlan,
    options: &AsofOptions,
) -> Result<LogicalPlan> {
    let right_on = options.right_on.as_ref().unwrap_or(&options.on);
    let right_by = options.right_by.as_ref().unwrap_or(&options.by);
    if right_by.len() != options.by.len() {
        return Err(refused("by and right_by must name as many columns"));
    }
    let (left_on, left_type) = called(left.schema(), &options.on, "left")?;
    let (right_on, right_type) = called(right.schema(), right_on, "right")?;
    let (scales, is_time) = scales(&left_type, &right_type)?;
    let tolerance = tolerance(options.tolerance, is_time)?;
    let (mut casts, mut by) = (Vec::new(), Vec::new());
    for (ours, theirs) in options.by.iter().zip(right_by) {
        let (ours, data_type) = called(left.schema(), ours, "left")?;
        let (theirs, _) = called(right.schema(), theirs, "right")?;
        casts.push((theirs.clone(), data_type));
        by.push((ours, theirs));
    }
    let names = left.schema().fields().iter().map(|field| field.name().clone());
    let names: Vec<String> = names.collect();
    let new_name = |name: &str| match names.iter().any(|known| known == name) {
        true => format!("{name}{}", options.suffix),
        false => name.to_owned(),
    };
    // What is equal to a column of the left side of the same name is not given twice.
    let is_shown = |name: &str| !by.iter().any(|(a, b)| a == b && b == name);
    let right_names = right.schema().fields().iter().map(|field| field.name().clone());
    let shown = right_names.filter(|name| is_shown(name)).map(|name| new_name(&name)).collect();
    let terms = AsofTerms {
        on: (left_on, new_name(&right_on)),
        by: by.iter().map(|(ours, theirs)| (ours.clone(), new_name(theirs))).collect(),
        scales,
        tolerance,
        direction: options.direction,
        allow_exact: options.allow_exact,
        shown,
    };
    let inputs = [unqualified(left)?, renamed(right, &new_name, &casts)?];
    Ok(FunctionNode::new(inputs, terms)?.into_plan())
}

/// What one unit of either column is, in a common one; and whether they are times.
fn scales(left: &DataType, right: &DataType) -> Result<((i128, i128), bool)> {
    let time = |data_type: &DataType| match data_type {
        DataType::Timestamp(unit, _) => Some(nanoseconds(*unit)),
        DataType::Date32 => Some(DAY_NS),
        _ => None,
    };
    match (time(left), time(right)) {
        (Some(left), Some(right)) => Ok(((left, right), true)),
        (None, None) if left.is_integer() && right.is_integer() => Ok(((1, 1), false)),
        _ => Err(refused(format!(
            "an as-of join is on two times, or on two whole numbers, and not on {left} and {right}"
        ))),
    }
}

fn tolerance(given: Option<Tolerance>, is_time: bool) -> Result<Option<i128>> {
    let tolerance = match (given, is_time) {
        (None, _) => return Ok(None),
        (Some(Tolerance::Interval(interval)), true) => {
            i128::from(width(interval, TimeUnit::Nanosecond)?)
        }
        (Some(Tolerance::Units(units)), false) => i128::from(units),
        (Some(_), true) => return Err(refused("the tolerance of times is an interval")),
        (Some(_), false) => return Err(refused("the tolerance of numbers is a number")),
    };
    match tolerance < 0 {
        true => Err(refused("a tolerance is not less than nothing")),
        false => Ok(Some(tolerance)),
    }
}

impl AsofTerms {
    /// Which columns of the right side are given, by their places in it.
    pub(crate) fn shown(&self, right: &LogicalPlan) -> Vec<usize> {
        let fields = right.schema().fields().iter().enumerate();
        let shown = fields.filter(|(_, field)| self.shown.contains(field.name()));
        shown.map(|(index, _)| index).collect()
    }
}

impl FunctionTerms<2> for AsofTerms {
    const NAME: &'static str = "AsofJoin";

    fn schema(&self, [left, right]: &[LogicalPlan; 2]) -> Result<DFSchemaRef> {
        let mut fields: Vec<_> =
            left.schema().iter().map(|(name, field)| (name.cloned(), Arc::clone(field))).collect();
        for field in self.shown(right).into_iter().map(|index| right.schema().field(index)) {
            fields.push((None, Arc::new(field.as_ref().clone().with_nullable(true))));
        }
        DFSchema::new_with_metadata(fields, left.schema().metadata().clone()).map(Arc::new)
    }

    fn columns(&self) -> [Vec<&String>; 2] {
        let pairs = || self.by.iter().chain([&self.on]);
        [pairs().map(|(left, _)| left).collect(), pairs().map(|(_, right)| right).collect()]
    }

    fn sources(&self, [left, right]: &[LogicalPlan; 2], output: &[usize]) -> [Vec<usize>; 2] {
        let left_len = left.schema().fields().len();
        let shown = self.shown(right);
        let behind = output.iter().filter_map(|index| index.checked_sub(left_len));
        [
            output.iter().copied().filter(|index| *index < left_len).collect(),
            behind.filter_map(|index| shown.get(index).copied()).collect(),
        ]
    }

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ": on={} = {}", self.on.0, self.on.1)?;
        self.by.iter().try_for_each(|(left, right)| write!(f, ", by={left} = {right}"))
    }
}

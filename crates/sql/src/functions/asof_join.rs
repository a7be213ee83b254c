//! The as-of join as a node of the logical plan: for each row of the left side the last row of
//! the right one that is not later.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use datafusion::arrow::array::types::IntervalMonthDayNano;
use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::{Column, DFSchema, DFSchemaRef, DataFusionError, Result};
use datafusion::logical_expr::{
    Cast, Expr, Extension, LogicalPlan, LogicalPlanBuilder, UserDefinedLogicalNodeCore,
};

use super::step::{unit_ns, width};
use crate::error::refused;

/// Nanoseconds of a day.
const DAY_NS: i64 = 86_400_000_000_000;

/// Which row of the right side belongs to one of the left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Default)]
pub enum Direction {
    /// The last one that is not later.
    #[default]
    Backward,
    /// The first one that is not earlier.
    Forward,
}

impl FromStr for Direction {
    type Err = DataFusionError;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "backward" => Ok(Self::Backward),
            "forward" => Ok(Self::Forward),
            other => Err(refused(format!("direction is 'backward' or 'forward', not '{other}'"))),
        }
    }
}

/// How far apart two rows may be.
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
pub(super) struct AsofTerms {
    pub(super) on: (String, String),
    pub(super) by: Vec<(String, String)>,
    /// What one unit of the left time, and of the right one, is in a common unit.
    pub(super) scales: (i64, i64),
    /// In that unit.
    pub(super) tolerance: Option<i128>,
    pub(super) direction: Direction,
    pub(super) allow_exact: bool,
    /// Columns of the right side that are given.
    pub(super) shown: Vec<String>,
}

/// The node.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct AsofJoin {
    pub(super) left: LogicalPlan,
    pub(super) right: LogicalPlan,
    pub(super) terms: AsofTerms,
    pub(super) schema: DFSchemaRef,
}

impl PartialOrd for AsofJoin {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        let ours = (&self.left, &self.right, &self.terms);
        ours.partial_cmp(&(&other.left, &other.right, &other.terms))
    }
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
    let left_on = find(left.schema(), &options.on, "left")?.1;
    let right_on_type = find(right.schema(), right_on, "right")?.1;
    let (scales, is_time) = scales(&left_on, &right_on_type)?;
    let tolerance = tolerance(options.tolerance, is_time)?;
    let mut casts = Vec::new();
    for (ours, theirs) in options.by.iter().zip(right_by) {
        casts.push((theirs.clone(), find(left.schema(), ours, "left")?.1));
        find(right.schema(), theirs, "right")?;
    }
    let names = left.schema().fields().iter().map(|field| field.name().clone());
    let names: Vec<String> = names.collect();
    let renamed = |name: &str| match names.iter().any(|known| known == name) {
        true => format!("{name}{}", options.suffix),
        false => name.to_owned(),
    };
    // What is equal to a column of the left side of the same name is not given twice.
    let is_shown = |name: &str| !options.by.iter().zip(right_by).any(|(a, b)| a == b && b == name);
    let right_names = right.schema().fields().iter().map(|field| field.name().clone());
    let shown = right_names.filter(|name| is_shown(name)).map(|name| renamed(&name)).collect();
    let terms = AsofTerms {
        on: (options.on.clone(), renamed(right_on)),
        by: options.by.iter().cloned().zip(right_by.iter().map(|name| renamed(name))).collect(),
        scales,
        tolerance,
        direction: options.direction,
        allow_exact: options.allow_exact,
        shown,
    };
    let left = renamed_plan(left, &|name| name.to_owned(), &[])?;
    let right = renamed_plan(right, &renamed, &casts)?;
    let node = AsofJoin::new(left, right, terms)?;
    Ok(LogicalPlan::Extension(Extension { node: Arc::new(node) }))
}

/// A column by its name: where it is, and its type.
pub(super) fn find(schema: &DFSchema, name: &str, side: &str) -> Result<(usize, DataType)> {
    let found = schema.fields().iter().position(|field| field.name() == name);
    match found {
        Some(index) => Ok((index, schema.field(index).data_type().clone())),
        None => {
            let names: Vec<&str> =
                schema.fields().iter().map(|field| field.name().as_str()).collect();
            let there = names.join(", ");
            Err(refused(format!("the {side} side has no column '{name}'; it has {there}")))
        }
    }
}

/// The plan with its columns under plain names of their own, some of them in other types.
pub(super) fn renamed_plan(
    plan: LogicalPlan,
    renamed: &dyn Fn(&str) -> String,
    casts: &[(String, DataType)],
) -> Result<LogicalPlan> {
    let mut columns = Vec::with_capacity(plan.schema().fields().len());
    for (qualifier, field) in plan.schema().iter() {
        let column = Expr::Column(Column::new(qualifier.cloned(), field.name()));
        let wanted = casts.iter().find(|(name, _)| name == field.name());
        let column = match wanted.filter(|(_, wanted)| wanted != field.data_type()) {
            Some((_, wanted)) => Expr::Cast(Cast::new(Box::new(column), wanted.clone())),
            None => column,
        };
        columns.push(column.alias(renamed(field.name())));
    }
    LogicalPlanBuilder::from(plan).project(columns)?.build()
}

/// What one unit of either column is, in a common one; and whether they are times.
fn scales(left: &DataType, right: &DataType) -> Result<((i64, i64), bool)> {
    let time = |data_type: &DataType| match data_type {
        DataType::Timestamp(unit, _) => Some(unit_ns(*unit)),
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

impl AsofJoin {
    pub(super) fn new(left: LogicalPlan, right: LogicalPlan, terms: AsofTerms) -> Result<Self> {
        let is_shown = |name: &str| terms.shown.iter().any(|shown| shown == name);
        let mut fields: Vec<_> =
            left.schema().iter().map(|(name, field)| (name.cloned(), Arc::clone(field))).collect();
        for field in right.schema().fields().iter().filter(|field| is_shown(field.name())) {
            fields.push((None, Arc::new(field.as_ref().clone().with_nullable(true))));
        }
        let schema = DFSchema::new_with_metadata(fields, left.schema().metadata().clone())?;
        Ok(Self { left, right, terms, schema: Arc::new(schema) })
    }

    /// Which columns of the right side are given, by their places in it.
    pub(super) fn shown(&self) -> Vec<usize> {
        let fields = self.right.schema().fields().iter().enumerate();
        fields
            .filter(|(_, field)| self.terms.shown.contains(field.name()))
            .map(|(index, _)| index)
            .collect()
    }
}

impl UserDefinedLogicalNodeCore for AsofJoin {
    fn name(&self) -> &str {
        "AsofJoin"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.left, &self.right]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AsofJoin: on={} = {}", self.terms.on.0, self.terms.on.1)?;
        self.terms.by.iter().try_for_each(|(left, right)| write!(f, ", by={left} = {right}"))
    }

    fn with_exprs_and_inputs(&self, _: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Self> {
        match <[LogicalPlan; 2]>::try_from(inputs) {
            Ok([left, right]) => Self::new(left, right, self.terms.clone()),
            Err(_) => Err(refused("an as-of join has two inputs")),
        }
    }

    fn necessary_children_exprs(&self, output: &[usize]) -> Option<Vec<Vec<usize>>> {
        let left_len = self.left.schema().fields().len();
        let shown = self.shown();
        let mut left: Vec<usize> = output.iter().copied().filter(|i| *i < left_len).collect();
        let behind = output.iter().filter_map(|index| index.checked_sub(left_len));
        let mut right: Vec<usize> = behind.filter_map(|index| shown.get(index).copied()).collect();
        let place = |plan: &LogicalPlan, name: &str| find(plan.schema(), name, "").ok();
        left.extend(place(&self.left, &self.terms.on.0).map(|(index, _)| index));
        right.extend(place(&self.right, &self.terms.on.1).map(|(index, _)| index));
        for (ours, theirs) in &self.terms.by {
            left.extend(place(&self.left, ours).map(|(index, _)| index));
            right.extend(place(&self.right, theirs).map(|(index, _)| index));
        }
        for side in [&mut left, &mut right] {
            side.sort_unstable();
            side.dedup();
        }
        Some(vec![left, right])
    }
}

//! Gap filling as a node of the logical plan: rows for the steps of time that have none.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use datafusion::arrow::array::types::IntervalMonthDayNano;
use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::{DFSchema, DFSchemaRef, DataFusionError, Result, ScalarValue};
use datafusion::logical_expr::LogicalPlan;

use super::Step;
use super::buckets::Buckets;
use super::node::{FunctionNode, FunctionTerms, called, unqualified};
use crate::error::refused;
use crate::instant::{instant, nanoseconds};

/// What rows that fill a gap hold, besides their time and what tells the series apart.
///
/// ```
/// use timestrata_sql::Fill;
///
/// assert_eq!("linear".parse::<Fill>().ok(), Some(Fill::Linear));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Default)]
pub enum Fill {
    /// Nothing.
    #[default]
    Null,
    /// What the row before the gap holds.
    Previous,
    /// Numbers on the line from the row before to the row behind, rounded where they are whole
    /// ones; nothing in columns that hold no numbers, and where either row has none.
    Linear,
}

impl FromStr for Fill {
    type Err = DataFusionError;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "null" => Ok(Self::Null),
            "previous" => Ok(Self::Previous),
            "linear" => Ok(Self::Linear),
            other => Err(refused(format!("fill is 'null', 'previous' or 'linear', not '{other}'"))),
        }
    }
}

/// How gaps are filled.
///
/// ```
/// use timestrata_sql::{Fill, GapFillOptions};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// let mut options = GapFillOptions::parse("minute", "1 minute")?;
/// options.fill = Fill::Previous;
/// assert_eq!((options.time.as_str(), options.every.nanoseconds), ("minute", 60_000_000_000));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct GapFillOptions {
    /// The column of times, which are buckets as `time_bucket` gives them.
    pub time: String,
    /// How far it is from one bucket to the next.
    pub every: IntervalMonthDayNano,
    /// What the rows that are added hold. Default: nulls.
    pub fill: Fill,
    /// Columns that tell series apart, each of which is filled for itself, from its first row to
    /// its last.
    pub by: Vec<String>,
    /// A time from which on there are rows, if the first one is later. No row is taken away.
    pub start: Option<ScalarValue>,
    /// A time up to which there are rows, itself excluded, if the last one is earlier.
    pub end: Option<ScalarValue>,
    /// The zone whose clock the buckets go by. Default: UTC.
    pub zone: Option<String>,
}

impl GapFillOptions {
    /// One series, filled with nulls.
    pub fn new(time: impl Into<String>, every: IntervalMonthDayNano) -> Self {
        Self {
            time: time.into(),
            every,
            fill: Fill::Null,
            by: Vec::new(),
            start: None,
            end: None,
            zone: None,
        }
    }

    /// The same, with an interval like '5 minutes'.
    ///
    /// # Errors
    /// `InvalidArgument`.
    pub fn parse(time: impl Into<String>, every: &str) -> timestrata_engine::Result<Self> {
        let every = super::step::parse_interval(every).map_err(crate::error::from_datafusion)?;
        Ok(Self::new(time, every))
    }
}

/// Columns by name, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd)]
pub(crate) struct GapFillTerms {
    pub(crate) time: String,
    pub(crate) step: Step,
    pub(crate) fill: Fill,
    pub(crate) by: Vec<String>,
    /// In units of the column.
    pub(crate) start: Option<i64>,
    pub(crate) end: Option<i64>,
    pub(crate) zone: Option<String>,
}

/// Fills the gaps of a plan.
///
/// # Errors
/// `InvalidArgument` for columns that aren't there, and for an interval that isn't one.
pub(crate) fn gap_fill(input: LogicalPlan, options: &GapFillOptions) -> Result<LogicalPlan> {
    let (time, unit) = match called(input.schema(), &options.time, "input")? {
        (time, DataType::Timestamp(unit, _)) => (time, unit),
        (_, other) => {
            return Err(refused(format!("gaps are filled between times, and not {other}")));
        }
    };
    let named = |name: &String| Ok(called(input.schema(), name, "input")?.0);
    let (start, end) = (bound("start", &options.start, unit)?, bound("end", &options.end, unit)?);
    if let (Some(start), Some(end)) = (start, end)
        && start > end
    {
        return Err(refused("gap_fill: the start is later than the end"));
    }
    let step = Step::new(options.every, unit)?;
    if let Some(zone) = &options.zone {
        // Whether there is such a zone.
        Buckets::local(step, zone, unit)?;
    }
    let terms = GapFillTerms {
        time,
        step,
        start,
        end,
        zone: options.zone.clone(),
        fill: options.fill,
        by: options.by.iter().map(named).collect::<Result<Vec<_>>>()?,
    };
    Ok(FunctionNode::new([unqualified(input)?], terms)?.into_plan())
}

/// A start or an end in a column's unit: the first such time that is not earlier.
fn bound(name: &str, given: &Option<ScalarValue>, unit: TimeUnit) -> Result<Option<i64>> {
    let Some(given) = given.as_ref().filter(|given| !given.is_null()) else { return Ok(None) };
    let wrong = |why: &str| refused(format!("gap_fill: the {name}, {given}, {why}"));
    let instant = instant(given).ok_or_else(|| wrong("is no time"))?;
    let step = nanoseconds(unit);
    let units = -((-instant).div_euclid(step));
    i64::try_from(units).map(Some).map_err(|_| wrong("is further away than the times reach"))
}

impl GapFillTerms {
    /// The buckets that rows are for, in units of the column of times.
    pub(crate) fn buckets(&self, unit: TimeUnit) -> Result<Buckets> {
        match &self.zone {
            Some(zone) => Buckets::local(self.step, zone, unit),
            None => Ok(Buckets::Plain { step: self.step, origin: self.step.origin(unit) }),
        }
    }
}

impl FunctionTerms<1> for GapFillTerms {
    const NAME: &'static str = "GapFill";

    fn schema(&self, [input]: &[LogicalPlan; 1]) -> Result<DFSchemaRef> {
        let is_kept = |name: &str| self.time == name || self.by.iter().any(|by| by == name);
        let fields = input.schema().iter().map(|(qualifier, field)| {
            let nullable = field.is_nullable() || !is_kept(field.name());
            (qualifier.cloned(), Arc::new(field.as_ref().clone().with_nullable(nullable)))
        });
        let metadata = input.schema().metadata().clone();
        DFSchema::new_with_metadata(fields.collect(), metadata).map(Arc::new)
    }

    fn columns(&self) -> [Vec<&String>; 1] {
        [self.by.iter().chain([&self.time]).collect()]
    }

    /// One on what tells series apart may; one on anything else would make gaps.
    fn may_filter_first(&self, column: &str) -> bool {
        self.by.iter().any(|by| by == column)
    }

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ": time={}, fill={:?}", self.time, self.fill)?;
        self.start.iter().try_for_each(|start| write!(f, ", start={start}"))?;
        self.end.iter().try_for_each(|end| write!(f, ", end={end}"))?;
        self.zone.iter().try_for_each(|zone| write!(f, ", zone={zone}"))?;
        self.by.iter().try_for_each(|by| write!(f, ", by={by}"))
    }
}

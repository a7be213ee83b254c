//! `time_bucket(interval, time [, origin])`: the start of the bucket that a time is in; and `date_bin`, which
//! is the same with buckets that count from 1970-01-01 where no origin is given. `time_bucket(interval, time, zone)`
//! has buckets of the clock of a zone, and shows their starts in it.
//!
//! Works in the column's own unit and else keeps its zone (DataFusion's `date_bin` makes nanoseconds of it); days
//! and months are those of UTC. Times before 1970 fall into the bucket that they are in, not into the one
//! after it. Without an origin buckets of `time_bucket` count from Monday, 2000-01-03, and those of months
//! from 2000-01-01.

use std::fmt::{self, Write};
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int64Array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType, Field, FieldRef, Int64Type, IntervalMonthDayNano, IntervalUnit, TimeUnit,
};
use datafusion::common::{DataFusionError, Result, ScalarValue};
use datafusion::logical_expr::interval_arithmetic::Interval;
use datafusion::logical_expr::preimage::PreimageResult;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

use super::buckets::Buckets;
use super::clock::Clock;
use super::step::{Step, interval_of};
use super::{as_time, field_of, map_values};
use crate::error::refused;
use crate::instant::{instant, nanoseconds, timestamp, units_of};

/// Times that are looked at together.
const TIMES_AT_ONCE: usize = 16;

/// Where buckets count from, if nothing else is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum DefaultOrigin {
    /// A Monday, or the first of a year.
    Calendar,
    Epoch,
}

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct TimeBucket {
    name: &'static str,
    start: DefaultOrigin,
    signature: Signature,
}

impl TimeBucket {
    /// `time_bucket`.
    pub(super) fn new() -> Self {
        let signature = Signature::user_defined(Volatility::Immutable);
        Self { name: "time_bucket", start: DefaultOrigin::Calendar, signature }
    }

    /// `date_bin`.
    pub(super) fn from_epoch() -> Self {
        Self { name: "date_bin", start: DefaultOrigin::Epoch, ..Self::new() }
    }

    /// Where buckets begin to count, in the column's unit; `None` if it is null.
    ///
    /// # Errors
    /// For what is no time, and for one that the column's unit has no room for: no bucket could begin there.
    fn origin(
        &self,
        given: Option<&ScalarValue>,
        step: Step,
        unit: TimeUnit,
    ) -> Result<Option<i64>> {
        let Some(given) = given else {
            return Ok(Some(match self.start {
                DefaultOrigin::Calendar => step.origin(unit),
                DefaultOrigin::Epoch => 0,
            }));
        };
        if given.is_null() {
            return Ok(None);
        }
        let wrong = |why: &str| refused(format!("the origin of {}, {given}, {why}", self.name));
        let origin = instant(given).ok_or_else(|| wrong("is no time"))?;
        let step = nanoseconds(unit);
        if origin.rem_euclid(step) != 0 {
            return Err(wrong("is finer than the times are: cast them to a finer unit first"));
        }
        let origin = i64::try_from(origin.div_euclid(step));
        origin.map(Some).map_err(|_| wrong("is further away than the times reach"))
    }

    /// The buckets of a call, by what stands behind the time; `None` if that is null.
    fn buckets(
        &self,
        given: Option<&ScalarValue>,
        step: Step,
        unit: TimeUnit,
    ) -> Result<Option<Buckets>> {
        if let Some(zone) = self.zone(given) {
            return Buckets::local(step, zone, unit).map(Some);
        }
        let origin = self.origin(given, step, unit)?;
        Ok(origin.map(|origin| Buckets::Plain { step, origin }))
    }

    /// The zone that stands behind the time, if what does is one.
    fn zone<'a>(&self, given: Option<&'a ScalarValue>) -> Option<&'a str> {
        let text = given?.try_as_str()??;
        let is_calendar = self.start == DefaultOrigin::Calendar;
        // Text that is a time is an origin, and so an error where it is none.
        (is_calendar && instant(&ScalarValue::from(text)).is_none()).then_some(text)
    }

    fn wrong_count(&self) -> DataFusionError {
        let zone = match self.start {
            DefaultOrigin::Calendar => ", or a time zone",
            DefaultOrigin::Epoch => "",
        };
        refused(format!("{} takes an interval, a time and maybe an origin{zone}", self.name))
    }

    fn not_constant(&self, what: &str) -> DataFusionError {
        refused(format!("the {what} of {} must be the same for all rows", self.name))
    }
}

/// Writes the parts that an interval has, so that no two are written the same.
fn write_interval(name: &mut String, interval: IntervalMonthDayNano) -> fmt::Result {
    let IntervalMonthDayNano { months, days, nanoseconds } = interval;
    let parts = [(months.into(), "mons"), (days.into(), "days"), (nanoseconds, "ns")];
    let mut is_first = true;
    for (count, unit) in parts.into_iter().filter(|(count, _)| *count != 0) {
        write!(name, "{}{count} {unit}", if is_first { "" } else { " " })?;
        is_first = false;
    }
    if is_first { name.write_str("0 ns") } else { Ok(()) }
}

/// What a column of times is.
fn unit_of(data_type: &DataType) -> Result<TimeUnit> {
    match data_type {
        DataType::Timestamp(unit, _) => Ok(*unit),
        other => Err(refused(format!("a bucket of times takes a time, and not {other}"))),
    }
}

impl ScalarUDFImpl for TimeBucket {
    fn name(&self) -> &str {
        self.name
    }

    /// As others are named, but for the interval: plans are full of names, and its own way of writing one takes long.
    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let mut name = format!("{}(", self.name);
        for (index, arg) in args.iter().enumerate() {
            name.push_str(if index > 0 { "," } else { "" });
            match arg {
                Expr::Literal(ScalarValue::IntervalMonthDayNano(Some(interval)), _) => {
                    write_interval(&mut name, *interval)?;
                }
                other => write!(name, "{}", other.schema_name())?,
            }
        }
        name.push(')');
        Ok(name)
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, given: &[DataType]) -> Result<Vec<DataType>> {
        let time = given.get(1).ok_or_else(|| self.wrong_count())?;
        let time = as_time(time, (TimeUnit::Second, TimeUnit::Nanosecond))
            .ok_or_else(|| refused(format!("{} takes a time, and not {time}", self.name)))?;
        let interval = DataType::Interval(IntervalUnit::MonthDayNano);
        match given {
            [_, _] => Ok(vec![interval, time]),
            // Cast to the column's unit it would lose what the unit has no room for.
            [_, _, origin] => Ok(vec![interval, time, origin.clone()]),
            _ => Err(self.wrong_count()),
        }
    }

    fn return_type(&self, given: &[DataType]) -> Result<DataType> {
        given.get(1).cloned().ok_or_else(|| self.wrong_count())
    }

    /// Null where the time is, or for all rows, if the interval or the origin is.
    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let field = field_of(self, &args)?;
        let behind = args.scalar_arguments.get(2).copied().flatten();
        match (field.data_type(), self.zone(behind)) {
            (DataType::Timestamp(unit, _), Some(zone)) => {
                Clock::named(zone, *unit)?;
                let shown = DataType::Timestamp(*unit, Some(zone.into()));
                Ok(Arc::new(Field::clone(&field).with_data_type(shown)))
            }
            _ => Ok(field),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [ColumnarValue::Scalar(interval), time, rest @ ..] = args.args.as_slice() else {
            return Err(self.not_constant("interval"));
        };
        let shown = args.return_field.data_type();
        let unit = unit_of(shown)?;
        if interval.is_null() {
            return Ok(ColumnarValue::Scalar(ScalarValue::try_from(shown)?));
        }
        let step = Step::new(interval_of(interval)?, unit)?;
        let buckets = match rest {
            [] => self.buckets(None, step, unit)?,
            [ColumnarValue::Scalar(behind), ..] => self.buckets(Some(behind), step, unit)?,
            _ => return Err(self.not_constant("origin")),
        };
        let Some(buckets) = buckets else {
            return Ok(ColumnarValue::Scalar(ScalarValue::try_from(shown)?));
        };
        map_values(time, |times| {
            let starts = bucket(times, &buckets)?;
            match starts.data_type() == shown {
                true => Ok(starts),
                // The same instants under a zone: by way of numbers, for a time without one is no clock's reading here.
                false => Ok(cast(&cast(&starts, &DataType::Int64)?, shown)?),
            }
        })
    }

    fn output_ordering(&self, inputs: &[ExprProperties]) -> Result<SortProperties> {
        let is_constant = |input: Option<&ExprProperties>| {
            input.is_none_or(|input| input.sort_properties == SortProperties::Singleton)
        };
        match inputs {
            [interval, time, rest @ ..]
                if is_constant(Some(interval)) && is_constant(rest.first()) =>
            {
                Ok(time.sort_properties)
            }
            _ => Ok(SortProperties::Unordered),
        }
    }

    /// A bucket as a range of times, so that a filter on buckets reads those only.
    fn preimage(
        &self,
        args: &[Expr],
        literal: &Expr,
        info: &SimplifyContext,
    ) -> Result<PreimageResult> {
        let range = || {
            let [Expr::Literal(interval, _), time, rest @ ..] = args else { return None };
            let Expr::Literal(start, _) = literal else { return None };
            let data_type = info.get_data_type(time).ok()?;
            let unit = unit_of(&data_type).ok()?;
            let step = Step::new(interval_of(interval).ok()?, unit).ok()?;
            let buckets = match rest {
                [] => self.buckets(None, step, unit).ok()??,
                [Expr::Literal(behind, _)] => self.buckets(Some(behind), step, unit).ok()??,
                _ => return None,
            };
            // Whatever the zone that either is shown in, they are instants.
            if unit_of(&start.data_type()).ok()? != unit {
                return None;
            }
            let (DataType::Timestamp(_, zone), start) = (&data_type, units_of(start)?) else {
                return None;
            };
            let (_, end) = buckets.at(start).filter(|(first, _)| *first == start)?;
            let end = timestamp(end?, unit, zone.clone());
            let interval = Interval::try_new(timestamp(start, unit, zone.clone()), end).ok()?;
            Some((time.clone(), interval))
        };
        Ok(match range() {
            Some((expr, interval)) => PreimageResult::Range { expr, interval: Box::new(interval) },
            None => PreimageResult::None,
        })
    }
}

/// The start of the bucket that each of some times is in, in their own type.
pub(super) fn bucket(times: &ArrayRef, buckets: &Buckets) -> Result<ArrayRef> {
    let units = cast(times, &DataType::Int64)?;
    let units = units.as_primitive::<Int64Type>();
    let mut starts = Vec::with_capacity(units.len());
    match units.nulls() {
        None => starts_of(units.values(), buckets, &mut starts)?,
        Some(valid) => {
            for (from, to) in valid.valid_slices() {
                // Zeros where there are nulls.
                starts.resize(from, 0);
                starts_of(&units.values()[from..to], buckets, &mut starts)?;
            }
            starts.resize(units.len(), 0);
        }
    }
    let starts = Int64Array::new(starts.into(), units.nulls().cloned());
    Ok(cast(&starts, times.data_type())?)
}

/// Neighbours are mostly in one bucket, whose start is calculated once for all of them; or else in the next one, which
/// begins where it ends.
fn starts_of(mut times: &[i64], buckets: &Buckets, starts: &mut Vec<i64>) -> Result<()> {
    let mut before = None;
    while let Some(time) = times.first() {
        let next = before
            .and_then(|end| buckets.from(end))
            .filter(|(start, end)| *start <= *time && end.is_none_or(|end| *time < end));
        let (start, end) = next
            .or_else(|| buckets.at(*time))
            .ok_or_else(|| refused("a bucket begins before all times that there are"))?;
        let alike = alike(times, start, end.map_or(i64::MAX, |end| end - 1));
        starts.resize(starts.len() + alike, start);
        times = &times[alike..];
        before = end;
    }
    Ok(())
}

/// How many of the first times lie between two, both included.
fn alike(times: &[i64], first: i64, last: i64) -> usize {
    let is_elsewhere = |time: &i64| *time < first || *time > last;
    // Without a branch for each of them.
    let all_alike = |times: &&[i64; TIMES_AT_ONCE]| {
        !times.iter().fold(false, |elsewhere, time| elsewhere | is_elsewhere(time))
    };
    let (at_once, _) = times.as_chunks();
    let alike = at_once.iter().take_while(all_alike).count() * TIMES_AT_ONCE;
    let rest = times.get(alike..).unwrap_or_default();
    alike + rest.iter().position(is_elsewhere).unwrap_or(rest.len())
}

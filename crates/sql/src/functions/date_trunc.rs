//! `date_trunc`, as DataFusion has it, but for times that nanoseconds don't reach: it goes by way of them.
//!
//! Without a zone, and in UTC, the beginning of a day, a month and so on is that of a bucket. In other zones it is
//! that of a bucket of what a clock there reads; parts of an hour are those of UTC.

use std::sync::Arc;

use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::array::types::IntervalMonthDayNano;
use datafusion::arrow::datatypes::{DataType, FieldRef, TimeUnit};
use datafusion::common::Result;
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{
    ColumnarValue, Documentation, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature, Volatility,
};

use super::buckets::Buckets;
use super::clock::Clock;
use super::step::Step;
use super::time_bucket::bucket;
use super::{as_time, map_units, map_values};
use crate::error::refused;
use crate::instant::is_utc;

const SECOND_NS: i64 = 1_000_000_000;
const HOUR_NS: i64 = 3_600 * SECOND_NS;

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct DateTrunc {
    plain: Arc<ScalarUDF>,
    signature: Signature,
}

impl DateTrunc {
    pub(super) fn new(plain: Arc<ScalarUDF>) -> Self {
        Self { plain, signature: Signature::user_defined(Volatility::Immutable) }
    }
}

/// What is cut off, as an interval; weeks begin on Mondays, as buckets of them do.
fn interval(granularity: &str) -> Option<IntervalMonthDayNano> {
    let (months, days, ns) = match granularity.to_lowercase().as_str() {
        "microsecond" => (0, 0, 1_000),
        "millisecond" => (0, 0, 1_000_000),
        "second" => (0, 0, SECOND_NS),
        "minute" => (0, 0, 60 * SECOND_NS),
        "hour" => (0, 0, 3_600 * SECOND_NS),
        "day" => (0, 1, 0),
        "week" => (0, 7, 0),
        "month" => (1, 0, 0),
        "quarter" => (3, 0, 0),
        "year" => (12, 0, 0),
        _ => return None,
    };
    Some(IntervalMonthDayNano::new(months, days, ns))
}

/// What a call does to times of a unit: the step between its results, and the zone whose clock they are of.
struct Truncation {
    step: Step,
    unit: TimeUnit,
    clock: Option<Clock>,
}

impl Truncation {
    /// `None` for what is DataFusion's: times of a day, what is finer than the unit, and what is wrong.
    fn of(args: &[ColumnarValue]) -> Option<Self> {
        let [ColumnarValue::Scalar(granularity), time] = args else { return None };
        let DataType::Timestamp(unit, zone) = time.data_type() else { return None };
        let interval = interval(granularity.try_as_str()??)?;
        let has_clock =
            interval.months != 0 || interval.days != 0 || interval.nanoseconds >= HOUR_NS;
        let clock = match zone.as_deref() {
            Some(zone) if !is_utc(zone) => Some(Clock::new(zone.parse().ok()?, unit)),
            _ => None,
        };
        let step = Step::new(interval, unit).ok()?;
        Some(Self { step, unit, clock: clock.filter(|_| has_clock) })
    }

    fn all(&self, times: &ArrayRef) -> Result<ArrayRef> {
        let Some(clock) = self.clock else {
            let origin = self.step.origin(self.unit);
            return bucket(times, &Buckets::Plain { step: self.step, origin });
        };
        let beyond = || refused("date_trunc gives a time beyond those that there are");
        map_units(times, |time| self.by_clock(time, clock).ok_or_else(beyond))
    }

    fn by_clock(&self, time: i64, clock: Clock) -> Option<i64> {
        let ahead = clock.ahead(time)?;
        let (start, _) = self.step.bucket(time.checked_add(ahead)?, self.step.origin(self.unit))?;
        // Of two times at which it read so that which the time itself is in.
        clock.when(start, Some(ahead))
    }
}

impl ScalarUDFImpl for DateTrunc {
    fn name(&self) -> &str {
        self.plain.name()
    }

    fn aliases(&self) -> &[String] {
        self.plain.aliases()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, given: &[DataType]) -> Result<Vec<DataType>> {
        let [part, time] = given else {
            return Err(refused("date_trunc takes a part of a time, as 'day', and a time"));
        };
        let part = match part {
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => part.clone(),
            DataType::Null => DataType::Utf8,
            other => {
                return Err(refused(format!("date_trunc takes a part as 'day', and not {other}")));
            }
        };
        let time = match time {
            DataType::Time32(_) | DataType::Time64(_) => Some(time.clone()),
            _ => as_time(time, (TimeUnit::Microsecond, TimeUnit::Nanosecond)),
        }
        .ok_or_else(|| refused(format!("date_trunc takes a time, and not {time}")))?;
        Ok(vec![part, time])
    }

    fn return_type(&self, given: &[DataType]) -> Result<DataType> {
        self.plain.return_type(given)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        self.plain.return_field_from_args(args)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let Some(truncation) = Truncation::of(&args.args) else {
            return self.plain.invoke_with_args(args);
        };
        match args.args.get(1) {
            Some(times) => map_values(times, |times| truncation.all(times)),
            None => self.plain.invoke_with_args(args),
        }
    }

    fn output_ordering(&self, inputs: &[ExprProperties]) -> Result<SortProperties> {
        self.plain.inner().output_ordering(inputs)
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.plain.documentation()
    }
}

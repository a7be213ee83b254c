//! `date_trunc`, as DataFusion has it, but for times that nanoseconds don't reach: it goes by way of them.
//!
//! Without a zone, and in UTC, the beginning of a day, a month and so on is that of a bucket. In other zones it is
//! DataFusion's.

use std::sync::Arc;

use datafusion::arrow::array::types::IntervalMonthDayNano;
use datafusion::arrow::datatypes::{DataType, FieldRef, TimeUnit};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{
    ColumnarValue, Documentation, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature,
};

use super::step::Step;
use super::time_bucket::bucket;

const SECOND_NS: i64 = 1_000_000_000;

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct DateTrunc {
    plain: Arc<ScalarUDF>,
}

impl DateTrunc {
    pub(super) fn new(plain: Arc<ScalarUDF>) -> Self {
        Self { plain }
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

/// The step of a call that is one of buckets.
fn step_of(args: &[ColumnarValue]) -> Option<(Step, TimeUnit)> {
    let [ColumnarValue::Scalar(granularity), time] = args else { return None };
    let DataType::Timestamp(unit, zone) = time.data_type() else { return None };
    let is_utc = matches!(zone.as_deref(), None | Some("UTC" | "+00:00" | "Z" | "utc"));
    let interval = interval(granularity.try_as_str()??).filter(|_| is_utc)?;
    // What is finer than the unit cuts nothing off.
    Some((Step::new(interval, unit).ok()?, unit))
}

impl ScalarUDFImpl for DateTrunc {
    fn name(&self) -> &str {
        self.plain.name()
    }

    fn aliases(&self) -> &[String] {
        self.plain.aliases()
    }

    fn signature(&self) -> &Signature {
        self.plain.signature()
    }

    fn return_type(&self, given: &[DataType]) -> Result<DataType> {
        self.plain.return_type(given)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        self.plain.return_field_from_args(args)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let Some((step, unit)) = step_of(&args.args) else {
            return self.plain.invoke_with_args(args);
        };
        match args.args.get(1) {
            Some(ColumnarValue::Array(times)) => {
                Ok(ColumnarValue::Array(bucket(times, step, step.origin(unit))?))
            }
            Some(ColumnarValue::Scalar(time)) => {
                let array = bucket(&time.to_array()?, step, step.origin(unit))?;
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&array, 0)?))
            }
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

//! Functions whose results are far larger than what they are given, with a bound: DataFusion counts what
//! sorts, groups and joins take, and not what a function gives.

use datafusion::arrow::array::cast::AsArray;
use datafusion::arrow::array::{Array, ArrayRef};
use datafusion::arrow::compute::kernels::length::length;
use datafusion::arrow::compute::{CastOptions, cast_with_options};
use datafusion::arrow::datatypes::{DataType, Int64Type, IntervalMonthDayNanoType};
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::SessionState;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs};

use super::refusing::{ArgumentCheck, check_first};
use crate::instant::{DAY_NS, nanoseconds};

/// Bytes of one element of a list, of an integer or a time.
const ELEMENT_BYTES: i128 = 8;
/// Bytes of one character, at most.
const CHARACTER_BYTES: i128 = 4;
const MONTH_DAYS: i128 = 28;

/// How large a function's results are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum ResultSize {
    /// A value so many times.
    Repeat,
    /// As long as a number says.
    Pad,
    /// A text in place of each occurrence of another.
    Replace,
    /// A text in place of each match of an expression.
    ReplaceMatches,
    /// From a start to an end by steps.
    Range,
    /// All of its arguments.
    Join,
}

const FUNCTIONS: [(ResultSize, &[&str]); 6] = [
    (ResultSize::Repeat, &["repeat", "array_repeat"]),
    (ResultSize::Pad, &["lpad", "rpad", "array_resize"]),
    (ResultSize::Replace, &["replace"]),
    (ResultSize::ReplaceMatches, &["regexp_replace"]),
    (ResultSize::Range, &["range", "generate_series"]),
    (ResultSize::Join, &["concat", "concat_ws", "array_concat"]),
];

/// Puts the bound on all of them.
pub(super) fn bound(state: &mut SessionState, bytes_max: usize) -> Result<()> {
    for (size, names) in FUNCTIONS {
        for name in names {
            check_first(state, name, SizeLimit { size, bytes_max })?;
        }
    }
    Ok(())
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct SizeLimit {
    size: ResultSize,
    bytes_max: usize,
}

impl ArgumentCheck for SizeLimit {
    fn check(&self, name: &str, args: &ScalarFunctionArgs) -> Result<()> {
        let bytes = self.size.bytes(&args.args, args.number_rows)?;
        if bytes > self.bytes_max as i128 {
            return Err(DataFusionError::ResourcesExhausted(format!(
                "{name}() would give {bytes} bytes at once, and {} are a function's share",
                self.bytes_max
            )));
        }
        Ok(())
    }
}

/// A number for each row, or one for all.
enum Numbers {
    One(i128),
    Each(Vec<i128>),
}

impl Numbers {
    fn of(
        value: Option<&ColumnarValue>,
        numbers: impl Fn(&ArrayRef) -> Result<Vec<i128>>,
    ) -> Result<Self> {
        Ok(match value {
            Some(ColumnarValue::Array(array)) => Self::Each(numbers(array)?),
            Some(ColumnarValue::Scalar(scalar)) => {
                Self::One(numbers(&scalar.to_array()?)?.first().copied().unwrap_or(0))
            }
            None => Self::One(0),
        })
    }

    fn at(&self, row: usize) -> i128 {
        match self {
            Self::One(number) => *number,
            Self::Each(numbers) => numbers.get(row).copied().unwrap_or(0),
        }
    }
}

/// Whole numbers, 0 for null.
fn whole(array: &ArrayRef) -> Result<Vec<i128>> {
    let as_null = CastOptions { safe: true, ..CastOptions::default() };
    let numbers = cast_with_options(array, &DataType::Int64, &as_null)?;
    let numbers = numbers.as_primitive::<Int64Type>();
    Ok(numbers.iter().map(|number| i128::from(number.unwrap_or(0))).collect())
}

/// The values of an argument of whole numbers.
fn values(value: Option<&ColumnarValue>) -> Result<Numbers> {
    Numbers::of(value, whole)
}

/// The bytes that each value of an argument has.
fn sizes(value: Option<&ColumnarValue>) -> Result<Numbers> {
    Numbers::of(value, |array| {
        let each = match array.data_type() {
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
                return whole(&length(array)?);
            }
            // The same for each: how long its elements are isn't looked at.
            DataType::List(_) | DataType::LargeList(_) => {
                (array.get_array_memory_size() / array.len().max(1)) as i128
            }
            _ => ELEMENT_BYTES,
        };
        Ok(vec![each; array.len()])
    })
}

impl ResultSize {
    /// The bytes that a call gives, or somewhat more. What isn't one for all rows is counted row by row.
    fn bytes(self, args: &[ColumnarValue], rows: usize) -> Result<i128> {
        let arg = |index: usize| args.get(index);
        let are_scalars = args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if are_scalars { 1 } else { rows };
        let total = |size: &dyn Fn(usize) -> i128| {
            (0..rows).fold(0_i128, |sum, row| sum.saturating_add(size(row).max(0)))
        };
        Ok(match self {
            Self::Repeat => {
                let (value, times) = (sizes(arg(0))?, values(arg(1))?);
                total(&|row| value.at(row).max(1).saturating_mul(times.at(row)))
            }
            Self::Pad => {
                let (value, length) = (sizes(arg(0))?, values(arg(1))?);
                let unit = match args.first().map(ColumnarValue::data_type) {
                    Some(DataType::List(_) | DataType::LargeList(_)) => ELEMENT_BYTES,
                    _ => CHARACTER_BYTES,
                };
                total(&|row| value.at(row).max(length.at(row).saturating_mul(unit)))
            }
            Self::Replace => {
                let (value, from, to) = (sizes(arg(0))?, sizes(arg(1))?, sizes(arg(2))?);
                total(&|row| {
                    let found = value.at(row) / from.at(row).max(1);
                    value.at(row).saturating_add(found.saturating_mul(to.at(row)))
                })
            }
            Self::ReplaceMatches => {
                let (value, to, flags) = (sizes(arg(0))?, sizes(arg(2))?, sizes(arg(3))?);
                total(&|row| {
                    let found = if flags.at(row) > 0 { value.at(row) + 1 } else { 1 };
                    value.at(row).saturating_add(found.saturating_mul(to.at(row)))
                })
            }
            Self::Range => {
                let steps = Steps::of(args)?;
                total(&|row| steps.at(row).saturating_mul(ELEMENT_BYTES))
            }
            Self::Join => {
                let parts = args.iter().map(|arg| sizes(Some(arg))).collect::<Result<Vec<_>>>()?;
                total(&|row| parts.iter().fold(0, |sum, part| part.at(row).saturating_add(sum)))
            }
        })
    }
}

/// How many steps there are from a start to an end.
struct Steps {
    start: Numbers,
    end: Numbers,
    step: Numbers,
    /// What one of the start and the end is, in what the step counts.
    unit: i128,
}

impl Steps {
    fn of(args: &[ColumnarValue]) -> Result<Self> {
        let unit = match args.first().map(ColumnarValue::data_type) {
            Some(DataType::Date32) => DAY_NS,
            Some(DataType::Timestamp(unit, _)) => nanoseconds(unit),
            _ => 1,
        };
        let step = match args.get(2) {
            None => Numbers::One(1),
            Some(step) if matches!(step.data_type(), DataType::Interval(_)) => {
                Numbers::of(Some(step), intervals)?
            }
            step => values(step)?,
        };
        let (start, end) = match args {
            [end] => (Numbers::One(0), values(Some(end))?),
            _ => (values(args.first())?, values(args.get(1))?),
        };
        Ok(Self { start, end, step, unit })
    }

    fn at(&self, row: usize) -> i128 {
        let span = (self.end.at(row) - self.start.at(row)).saturating_mul(self.unit);
        let step = self.step.at(row);
        // Against the step's direction there is nothing.
        if step == 0 || (span < 0) != (step < 0) { 1 } else { span / step + 1 }
    }
}

/// Intervals in nanoseconds, a month as short as it may be.
fn intervals(array: &ArrayRef) -> Result<Vec<i128>> {
    let Some(array) = array.as_primitive_opt::<IntervalMonthDayNanoType>() else {
        return Ok(vec![1; array.len()]);
    };
    let length = |months: i32, days: i32, ns: i64| {
        (i128::from(months) * MONTH_DAYS + i128::from(days)) * DAY_NS + i128::from(ns)
    };
    let steps = array.iter();
    Ok(steps.map(|step| step.map_or(0, |s| length(s.months, s.days, s.nanoseconds))).collect())
}

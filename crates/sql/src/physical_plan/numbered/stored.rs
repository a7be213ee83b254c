//! Aggregates that compacted runs keep beside their rows: a first stage is told what the rows of whole blocks come to, and
//! reads the others.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Int64Array, UInt64Array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, internal_datafusion_err};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::expressions::{CastExpr, Column, Literal};
use datafusion::physical_plan::aggregates::AggregateExec;
use timestrata_engine::{Aggregates, NumberAggregates, SeriesAggregates};

use super::super::scan::StreamScan;

/// What an aggregate asks of them.
#[derive(Debug)]
pub(super) struct Stored {
    /// Columns of the stream that tell its series apart, by which rows are grouped.
    by: Vec<usize>,
    /// Columns of numbers that the functions are of.
    of: Vec<usize>,
    functions: Vec<Function>,
}

/// A function, and of what: a place among the columns of numbers.
#[derive(Debug, Clone, PartialEq)]
enum Function {
    CountRows,
    Count(usize),
    /// As a number of this type.
    Sum(usize, DataType),
    /// Of floats.
    Average(usize),
    /// The least or greatest of a column of this type.
    End(End, Of, DataType),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Least,
    Greatest,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    Keys,
    Numbers(usize),
}

impl Stored {
    /// What of an aggregate over a scan may be kept; `None` where some of it isn't.
    pub(super) fn of(plain: &AggregateExec) -> Option<Self> {
        let scan = plain.input().downcast_ref::<StreamScan>()?;
        let series = scan.series_columns_of_whole_blocks()?;
        if plain.filter_expr().iter().any(Option::is_some) {
            return None;
        }
        let by = plain.group_expr().input_exprs();
        let by = by.iter().map(|expr| column_of(scan, expr).filter(|by| series.contains(by)));
        let mut stored =
            Self { by: by.collect::<Option<_>>()?, of: Vec::new(), functions: Vec::new() };
        for function in plain.aggr_expr() {
            let function = stored.function(scan, function)?;
            stored.functions.push(function);
        }
        Some(stored)
    }

    fn function(
        &mut self,
        scan: &StreamScan,
        function: &AggregateFunctionExpr,
    ) -> Option<Function> {
        if function.is_distinct() || function.ignore_nulls() || !function.order_bys().is_empty() {
            return None;
        }
        let name = function.fun().name().to_owned();
        let states = function.state_fields().ok()?;
        let states: Vec<&DataType> = states.iter().map(|field| field.data_type()).collect();
        let arguments = function.expressions();
        let [argument] = arguments.as_slice() else { return None };
        match (name.as_str(), states.as_slice()) {
            ("count", [DataType::Int64]) => match argument.downcast_ref::<Literal>() {
                Some(literal) => (!literal.value().is_null()).then_some(Function::CountRows),
                None if column_of(scan, argument)? == scan.lead_column() => {
                    Some(Function::CountRows)
                }
                None => Some(Function::Count(self.number(scan, argument)?)),
            },
            ("sum", [DataType::Int64 | DataType::UInt64 | DataType::Float64]) => {
                let sum = self.number(scan, widened(argument))?;
                Some(Function::Sum(sum, states[0].clone()))
            }
            ("avg", [DataType::UInt64, DataType::Float64]) => {
                Some(Function::Average(self.number(scan, widened(argument))?))
            }
            ("min" | "max", [data_type]) => {
                let end = if name == "min" { End::Least } else { End::Greatest };
                let of = match column_of(scan, argument)? == scan.lead_column() {
                    true => Of::Keys,
                    false => Of::Numbers(self.number(scan, argument)?),
                };
                Some(Function::End(end, of, DataType::clone(data_type)))
            }
            _ => None,
        }
    }

    /// The place of a column of numbers among those that are asked for.
    fn number(&mut self, scan: &StreamScan, expr: &Arc<dyn PhysicalExpr>) -> Option<usize> {
        let column = column_of(scan, expr)?;
        let field = scan.stream_field(column)?;
        let is_number = field.data_type().is_integer()
            || matches!(field.data_type(), DataType::Float32 | DataType::Float64);
        let known = self.of.iter().position(|other| *other == column);
        is_number.then(|| {
            known.unwrap_or_else(|| {
                self.of.push(column);
                self.of.len() - 1
            })
        })
    }

    /// What is kept of the rows of a scan.
    ///
    /// # Errors
    /// Those of the store.
    pub(super) fn find(&self, scan: &StreamScan) -> Result<Aggregates> {
        scan.aggregates(&self.by, &self.of)
    }

    /// The states of each function, a row a series.
    ///
    /// # Errors
    /// Arrow's, of what is not of the types that were asked for.
    pub(super) fn states(&self, told: &SeriesAggregates) -> Result<Vec<Vec<ArrayRef>>> {
        self.functions.iter().map(|function| function.states(told)).collect()
    }
}

impl Function {
    fn states(&self, told: &SeriesAggregates) -> Result<Vec<ArrayRef>> {
        let numbers = |place: &usize| -> Result<&NumberAggregates> {
            told.numbers.get(*place).ok_or_else(|| internal_datafusion_err!("numbers are missing"))
        };
        Ok(match self {
            Self::CountRows => vec![Arc::new(told.rows.clone())],
            Self::Count(place) => vec![Arc::new(numbers(place)?.count.clone())],
            Self::Sum(place, data_type) => vec![cast(&numbers(place)?.sum, data_type)?],
            Self::Average(place) => {
                let NumberAggregates { count, sum, .. } = numbers(place)?;
                vec![Arc::new(of_mean(count)), cast(sum, &DataType::Float64)?]
            }
            Self::End(end, of, data_type) => {
                let values = match (of, end) {
                    (Of::Keys, End::Least) => &told.first,
                    (Of::Keys, End::Greatest) => &told.last,
                    (Of::Numbers(place), End::Least) => &numbers(place)?.min,
                    (Of::Numbers(place), End::Greatest) => &numbers(place)?.max,
                };
                vec![cast(values, data_type)?]
            }
        })
    }
}

/// Counts as a mean's state has them: none of no value, as there is no sum.
fn of_mean(counts: &Int64Array) -> UInt64Array {
    let counts = counts.values().iter().map(|count| u64::try_from(*count).ok());
    counts.map(|count| count.filter(|count| *count > 0)).collect()
}

/// The column of the stream that an expression is.
fn column_of(scan: &StreamScan, expr: &Arc<dyn PhysicalExpr>) -> Option<usize> {
    scan.columns.get(expr.downcast_ref::<Column>()?.index()).copied()
}

/// What a cast to a wider number is of: sums are made of such.
fn widened(expr: &Arc<dyn PhysicalExpr>) -> &Arc<dyn PhysicalExpr> {
    let cast = expr.downcast_ref::<CastExpr>().filter(|cast| {
        matches!(cast.cast_type(), DataType::Int64 | DataType::UInt64 | DataType::Float64)
    });
    cast.map_or(expr, CastExpr::expr)
}

//! `to_timestamp`, as DataFusion has it, but for floats that its nanoseconds have no room for: it makes the
//! nearest time of those, and 1970 of what is no number.

use std::sync::Arc;

use datafusion::arrow::array::AsArray;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, FieldRef, Float64Type};
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::logical_expr::{
    ColumnarValue, Documentation, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature,
};

use crate::error::refused;

/// Seconds before and after 1970 that nanoseconds reach.
const SECONDS_MAX: f64 = i64::MAX as f64 / 1e9;

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct ToTimestamp {
    plain: Arc<ScalarUDF>,
}

impl ToTimestamp {
    pub(super) fn new(plain: Arc<ScalarUDF>) -> Self {
        Self { plain }
    }
}

/// An error for seconds of which no time can be made.
fn check(seconds: &ColumnarValue) -> Result<()> {
    if !seconds.data_type().is_floating() {
        return Ok(());
    }
    let seconds = match seconds {
        ColumnarValue::Array(array) => Arc::clone(array),
        ColumnarValue::Scalar(scalar) => scalar.to_array()?,
    };
    let seconds = cast(&seconds, &DataType::Float64)?;
    // What is no number is in no range.
    let reach = -SECONDS_MAX..SECONDS_MAX;
    match seconds.as_primitive::<Float64Type>().iter().flatten().find(|s| !reach.contains(s)) {
        Some(far) => Err(refused(format!(
            "to_timestamp({far}) is no time in nanoseconds, which begin in 1677 and end in 2262: to_timestamp_seconds \
             takes whole seconds of all years"
        ))),
        None => Ok(()),
    }
}

impl ScalarUDFImpl for ToTimestamp {
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

    fn with_updated_config(&self, config: &ConfigOptions) -> Option<ScalarUDF> {
        let plain = self.plain.inner().with_updated_config(config)?;
        Some(ScalarUDF::new_from_impl(Self::new(Arc::new(plain))))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        args.args.first().map_or(Ok(()), check)?;
        self.plain.invoke_with_args(args)
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.plain.documentation()
    }
}

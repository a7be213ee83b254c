//! What `time AT TIME ZONE zone` means: a time with a zone is the same instant, shown in another; a time
//! without one is the reading of a clock there.

use std::sync::Arc;

use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, TimeUnit};
use datafusion::common::{Result, internal_datafusion_err};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

use super::{as_time, map_values};
use crate::dialect::AT_TIME_ZONE;
use crate::error::refused;

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct AtTimeZone {
    signature: Signature,
}

impl AtTimeZone {
    pub(super) fn new() -> Self {
        Self { signature: Signature::user_defined(Volatility::Immutable) }
    }
}

fn wrong() -> datafusion::common::DataFusionError {
    refused("AT TIME ZONE takes a time, and a time zone in quotes, as 'Europe/Berlin' or '+02:00'")
}

impl ScalarUDFImpl for AtTimeZone {
    fn name(&self) -> &str {
        AT_TIME_ZONE
    }

    /// The call as the operator that it stands for.
    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let parts = args.iter().map(|arg| match arg {
            Expr::Literal(zone, _) => format!("'{zone}'"),
            other => other.schema_name().to_string(),
        });
        Ok(parts.collect::<Vec<_>>().join(" AT TIME ZONE "))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, given: &[DataType]) -> Result<Vec<DataType>> {
        let units = (TimeUnit::Second, TimeUnit::Microsecond);
        let time = given.first().and_then(|time| as_time(time, units));
        Ok(vec![time.ok_or_else(wrong)?, DataType::Utf8])
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Err(internal_datafusion_err!("the type of AT TIME ZONE is told by its arguments"))
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let (Some(time), Some(Some(zone))) =
            (args.arg_fields.first(), args.scalar_arguments.get(1))
        else {
            return Err(wrong());
        };
        let (DataType::Timestamp(unit, _), Some(Some(zone))) =
            (time.data_type(), zone.try_as_str())
        else {
            return Err(wrong());
        };
        zone.parse::<datafusion::arrow::array::timezone::Tz>()
            .map_err(|_| refused(format!("there is no time zone '{zone}'")))?;
        let shown = DataType::Timestamp(*unit, Some(zone.into()));
        Ok(Arc::new(Field::new(AT_TIME_ZONE, shown, time.is_nullable())))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let shown = args.return_field.data_type();
        // Arrow reads a time without a zone as a clock of the zone that it is cast to.
        let times = args.args.first().ok_or_else(wrong)?;
        map_values(times, |times| Ok(cast(times, shown)?))
    }
}

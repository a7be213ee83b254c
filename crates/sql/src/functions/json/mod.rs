//! What lies in JSON text and CBOR: `->`, `->>`, subscripts (`fields['a']['b']`), and functions that read a value as text, a
//! number or a truth value. A value that isn't there, isn't of that kind, or lies in what is no document is null: none of them
//! fails.
//!
//! Ours, and not those of `datafusion-functions-json`: these read text only, and give a union of types, which can be neither
//! compared nor grouped.

mod arguments;
mod cbor_to_json;
mod operators;
mod path;
mod read;

use std::sync::{Arc, LazyLock};

use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::execution::SessionState;
use datafusion::execution::registry::FunctionRegistry;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExpressionPlacement, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature, Volatility,
};

pub(crate) use self::arguments::step_of;
use self::arguments::{Documents, PathArgument};
pub(crate) use self::cbor_to_json::json_texts;
pub(super) use self::operators::JsonOperators;
pub(crate) use self::path::{Document, PathStep};
pub(crate) use self::read::{JsonRead, ReadValues};
use crate::error::refused;

static FUNCTIONS: LazyLock<Vec<Arc<ScalarUDF>>> = LazyLock::new(|| {
    let made = JsonRead::ALL.map(|read| {
        let signature = Signature::variadic_any(Volatility::Immutable);
        Arc::new(ScalarUDF::new_from_impl(JsonFunction { read, signature }))
    });
    made.to_vec()
});

/// Makes all of them known.
pub(super) fn register(state: &mut SessionState) -> Result<()> {
    for function in FUNCTIONS.iter() {
        state.register_udf(Arc::clone(function))?;
    }
    state.register_udf(Arc::new(cbor_to_json::function()))?;
    Ok(())
}

/// Whether columns of a type may hold documents.
fn may_hold_documents(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => may_hold_documents(values),
        DataType::Null => true,
        other => other.is_string() || other.is_binary(),
    }
}

/// Reads a value that lies in a document.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct JsonFunction {
    pub(crate) read: JsonRead,
    signature: Signature,
}

impl JsonFunction {
    /// A call, of a document and a path into it.
    fn call(read: JsonRead, args: Vec<Expr>) -> Option<Expr> {
        let function = FUNCTIONS.iter().find(|function| Self::is_it(function, read))?;
        Some(function.call(args))
    }

    fn is_it(function: &ScalarUDF, read: JsonRead) -> bool {
        function.inner().downcast_ref::<Self>().is_some_and(|function| function.read == read)
    }

    /// As what an expression reads which value, if it is such a call whose path is plain to see.
    pub(crate) fn of_expr(expr: &Expr) -> Option<(JsonRead, &Expr, Vec<PathStep>)> {
        let Expr::ScalarFunction(ScalarFunction { func, args }) = expr else { return None };
        let function = func.inner().downcast_ref::<Self>()?;
        let (document, path) = args.split_first()?;
        let steps = path.iter().map(|step| match step {
            Expr::Literal(value, _) => arguments::step_of(value),
            _ => None,
        });
        Some((function.read, document, steps.collect::<Option<_>>()?))
    }
}

impl ScalarUDFImpl for JsonFunction {
    fn name(&self) -> &str {
        self.read.function()
    }

    /// As it is mostly written: `app.fields -> 'a' ->> 'b'`.
    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let arrow = match self.read {
            JsonRead::Text => "->>",
            JsonRead::Json => "->",
            _ => "",
        };
        let names: Vec<String> = args.iter().map(operators::written).collect();
        let Some(((document, steps), true)) =
            names.split_first().map(|parts| (parts, !arrow.is_empty()))
        else {
            return Ok(format!("{}({})", self.name(), names.join(", ")));
        };
        Ok(match steps.split_last() {
            Some((last, before)) => {
                let before: String = before.iter().map(|step| format!(" -> {step}")).collect();
                format!("{document}{before} {arrow} {last}")
            }
            None => format!("{}({document})", self.name()),
        })
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, given: &[DataType]) -> Result<DataType> {
        let name = self.name();
        let Some((document, path)) = given.split_first() else {
            return Err(refused(format!("{name} needs JSON or CBOR, and a path into it")));
        };
        if !may_hold_documents(document) {
            return Err(refused(format!("{name} reads JSON text and CBOR, and not {document}")));
        }
        for step in path {
            if !(step.is_string() || step.is_integer() || step.is_null()) {
                let why = "a step of a path is the name of a member or the place of an element";
                return Err(refused(format!("{name}: {why}, and not {step}")));
            }
        }
        Ok(self.read.data_type())
    }

    fn placement(&self, args: &[ExpressionPlacement]) -> ExpressionPlacement {
        // Below an outer join it would be null where there is no row; above, it is false.
        if self.read == JsonRead::Contains {
            return ExpressionPlacement::KeepInPlace;
        }
        match args.split_first() {
            Some((ExpressionPlacement::Column, path))
                if path.iter().all(|step| matches!(step, ExpressionPlacement::Literal)) =>
            {
                ExpressionPlacement::MoveTowardsLeafNodes
            }
            _ => ExpressionPlacement::KeepInPlace,
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let Some((document, path)) = args.args.split_first() else {
            return internal_err!("{} is called without a document", self.name());
        };
        let is_one = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if is_one { 1 } else { args.number_rows };
        let documents = Documents::of(document.to_array(rows)?)?;
        let path = path.iter().map(PathArgument::of).collect::<Result<Vec<_>>>()?;
        let plain: Option<Vec<PathStep>> = path.iter().map(PathArgument::plain).collect();
        let mut values = ReadValues::new(self.read, rows);
        for row in 0..rows {
            let document = documents.get(row);
            match &plain {
                Some(steps) => values.append(document.and_then(|document| document.at(steps))),
                None => {
                    let steps: Option<Vec<PathStep>> =
                        path.iter().map(|step| step.at(row)).collect();
                    values.append(
                        document.zip(steps).and_then(|(document, steps)| document.at(&steps)),
                    );
                }
            }
        }
        let values = values.finish();
        match is_one {
            true => ScalarValue::try_from_array(&values, 0).map(ColumnarValue::Scalar),
            false => Ok(ColumnarValue::Array(values)),
        }
    }
}

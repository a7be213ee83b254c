//! DataFusion's functions with a check of their arguments: it may refuse a call, which else the function answers.

use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::execution::SessionState;
use datafusion::execution::registry::FunctionRegistry;
use datafusion::logical_expr::{
    ColumnarValue, Documentation, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature,
};

/// What a function is not to be called with.
pub(super) trait ArgumentCheck: Debug + Clone + Eq + Hash + Send + Sync + 'static {
    /// An error for what the function `name` must not be given.
    ///
    /// # Errors
    /// What is told instead of an answer.
    fn check(&self, name: &str, args: &ScalarFunctionArgs) -> Result<()>;
}

/// Has a check made before each call of the function `name`, if there is one.
pub(super) fn check_first(
    state: &mut SessionState,
    name: &str,
    check: impl ArgumentCheck,
) -> Result<()> {
    if let Some(plain) = state.scalar_functions().get(name).cloned() {
        state.register_udf(Arc::new(ScalarUDF::new_from_impl(CheckedFunction { plain, check })))?;
    }
    Ok(())
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct CheckedFunction<L> {
    plain: Arc<ScalarUDF>,
    check: L,
}

impl<L: ArgumentCheck> ScalarUDFImpl for CheckedFunction<L> {
    fn name(&self) -> &str {
        self.plain.name()
    }

    fn aliases(&self) -> &[String] {
        self.plain.aliases()
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        self.plain.schema_name(args)
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

    fn coerce_types(&self, given: &[DataType]) -> Result<Vec<DataType>> {
        self.plain.coerce_types(given)
    }

    fn with_updated_config(&self, config: &ConfigOptions) -> Option<ScalarUDF> {
        let plain = Arc::new(self.plain.inner().with_updated_config(config)?);
        Some(ScalarUDF::new_from_impl(Self { plain, check: self.check.clone() }))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        self.check.check(self.name(), &args)?;
        self.plain.invoke_with_args(args)
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.plain.documentation()
    }
}

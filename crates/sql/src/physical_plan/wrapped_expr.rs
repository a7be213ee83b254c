//! Expressions that stand for another one: they are that in all that is asked of them, but evaluated in a way
//! of their own, and nothing is concluded from them.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{FieldRef, Schema};
use datafusion::common::{Result, internal_datafusion_err};
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;

/// How a wrapped expression is evaluated.
pub(crate) trait Evaluation: fmt::Debug + Clone + PartialEq + Send + Sync + 'static {
    /// The values of `inner` over a batch.
    fn evaluate(&self, inner: &dyn PhysicalExpr, batch: &RecordBatch) -> Result<ColumnarValue>;

    /// Another expression, as it has to be evaluated.
    fn wrap(&self, inner: Arc<dyn PhysicalExpr>) -> Result<Arc<dyn PhysicalExpr>> {
        Ok(Arc::new(WrappedExpr { inner, evaluation: self.clone() }))
    }
}

/// An expression that is evaluated as `evaluation` says.
#[derive(Debug)]
pub(crate) struct WrappedExpr<E> {
    pub(crate) inner: Arc<dyn PhysicalExpr>,
    pub(crate) evaluation: E,
}

impl<E: Evaluation> PartialEq for WrappedExpr<E> {
    fn eq(&self, other: &Self) -> bool {
        self.inner.eq(&other.inner) && self.evaluation == other.evaluation
    }
}

impl<E: Evaluation> Eq for WrappedExpr<E> {}

impl<E> Hash for WrappedExpr<E> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.inner.hash(state);
    }
}

impl<E> fmt::Display for WrappedExpr<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl<E: Evaluation> PhysicalExpr for WrappedExpr<E> {
    fn return_field(&self, schema: &Schema) -> Result<FieldRef> {
        self.inner.return_field(schema)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        self.evaluation.evaluate(self.inner.as_ref(), batch)
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.inner]
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        let inner =
            children.pop().ok_or_else(|| internal_datafusion_err!("{self} has no child"))?;
        self.evaluation.wrap(inner)
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt_sql(f)
    }
}

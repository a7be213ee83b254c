//! `->`, `->>` and subscripts of documents, as calls of functions. Steps that follow each other are one path, so that nothing
//! is made of what lies between.

use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::planner::{
    ExprPlanner, PlannerResult, RawBinaryExpr, RawFieldAccessExpr,
};
use datafusion::logical_expr::{Expr, ExprSchemable, GetFieldAccess, lit};
use sqlparser::ast::BinaryOperator;

use super::{JsonFunction, JsonRead, may_hold_documents};

/// Plans them. To be asked before those who know subscripts of lists and structures only.
#[derive(Debug)]
pub(in crate::functions) struct JsonOperators;

impl ExprPlanner for JsonOperators {
    fn plan_binary_op(
        &self,
        expr: RawBinaryExpr,
        _: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        let read = match expr.op {
            BinaryOperator::Arrow => JsonRead::Json,
            BinaryOperator::LongArrow => JsonRead::Text,
            _ => return Ok(PlannerResult::Original(expr)),
        };
        let mut args = unless_ended(&expr.left, JsonRead::Json);
        args.push(expr.right.clone());
        Ok(match JsonFunction::call(read, args) {
            Some(call) => PlannerResult::Planned(call),
            None => PlannerResult::Original(expr),
        })
    }

    fn plan_field_access(
        &self,
        access: RawFieldAccessExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawFieldAccessExpr>> {
        let step = match &access.field_access {
            GetFieldAccess::NamedStructField { name } => lit(name.clone()),
            GetFieldAccess::ListIndex { key } => key.as_ref().clone(),
            GetFieldAccess::ListRange { .. } => return Ok(PlannerResult::Original(access)),
        };
        if !may_hold_documents(&access.expr.get_type(schema)?) {
            return Ok(PlannerResult::Original(access));
        }
        let mut args = unless_ended(&access.expr, JsonRead::Text);
        args.push(step);
        Ok(match JsonFunction::call(JsonRead::Text, args) {
            Some(call) => PlannerResult::Planned(call),
            None => PlannerResult::Original(access),
        })
    }
}

/// The document of an expression and the path so far, where it is a call that reads so: the path goes on. Else the expression.
fn unless_ended(expr: &Expr, read: JsonRead) -> Vec<Expr> {
    match (JsonFunction::of_expr(expr), expr) {
        (Some((found, _, path)), Expr::ScalarFunction(ScalarFunction { args, .. }))
            if found == read && !path.is_empty() =>
        {
            args.clone()
        }
        _ => vec![expr.clone()],
    }
}

/// An expression as it is mostly written.
pub(super) fn written(expr: &Expr) -> String {
    match expr {
        Expr::Literal(
            ScalarValue::Utf8(Some(text))
            | ScalarValue::Utf8View(Some(text))
            | ScalarValue::LargeUtf8(Some(text)),
            _,
        ) => format!("'{}'", text.replace('\'', "''")),
        Expr::Literal(value, _) => value.to_string(),
        other => other.schema_name().to_string(),
    }
}

//! CallArguments of table functions, by place or by name (`by => 'symbol'`).

use std::collections::VecDeque;

use datafusion::arrow::array::types::IntervalMonthDayNano;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::planner::RelationPlannerContext;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use sqlparser::ast::{self, FunctionArg, FunctionArgExpr, TableFactor, Value};

use super::step::interval_of;
use crate::error::{carried, refused};
use crate::names::quoted;
use crate::statement::parse_relation;

/// The arguments of one call, taken one by one.
pub(crate) struct CallArguments {
    function: String,
    placed: VecDeque<ast::Expr>,
    named: Vec<(String, ast::Expr)>,
}

impl CallArguments {
    pub(crate) fn new(function: &str, given: Vec<FunctionArg>) -> Result<Self> {
        let mut arguments =
            Self { function: function.to_owned(), placed: VecDeque::new(), named: Vec::new() };
        for argument in given {
            let (name, value) = match argument {
                FunctionArg::Unnamed(value) => (None, value),
                FunctionArg::Named { name, arg, .. } => (Some(name.value.to_lowercase()), arg),
                FunctionArg::ExprNamed { name, arg, .. } => {
                    (Some(name.to_string().to_lowercase()), arg)
                }
            };
            let FunctionArgExpr::Expr(value) = value else {
                return Err(refused(format!("{function} takes values, and not {value}")));
            };
            match name {
                Some(name) => arguments.named.push((name, value)),
                None if arguments.named.is_empty() => arguments.placed.push_back(value),
                None => {
                    let message = "arguments without a name come before those with one";
                    return Err(refused(format!("{function}: {message}")));
                }
            }
        }
        Ok(arguments)
    }

    /// The argument of that name, or the next one that has none.
    pub(crate) fn take(&mut self, name: &str) -> Option<ast::Expr> {
        self.named(name).or_else(|| self.placed.pop_front())
    }

    /// The argument of that name only.
    pub(crate) fn named(&mut self, name: &str) -> Option<ast::Expr> {
        let index = self.named.iter().position(|(known, _)| known == name)?;
        Some(self.named.swap_remove(index).1)
    }

    pub(crate) fn need(&mut self, name: &str) -> Result<ast::Expr> {
        let function = self.function.clone();
        self.take(name).ok_or_else(|| refused(format!("{function} needs its argument '{name}'")))
    }

    /// A table, by its name or as text, or a query, in parentheses or as text.
    pub(crate) fn input(
        &mut self,
        name: &str,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<LogicalPlan> {
        let relation = match self.need(name)? {
            // As it is, so that its words are known by their places.
            ast::Expr::Subquery(subquery) => {
                Ok(TableFactor::Derived { lateral: false, subquery, alias: None, sample: None })
            }
            table @ (ast::Expr::Identifier(_) | ast::Expr::CompoundIdentifier(_)) => {
                parse_relation(&table.to_string())
            }
            value => match text(&value) {
                Some(text) if is_query(&text) => parse_relation(&format!("({text}\n)")),
                Some(table) => parse_relation(&quoted(&table)),
                None => Err(crate::error::invalid(format!(
                    "{}: '{name}' is a table or a query, and not {value}",
                    self.function
                ))),
            },
        };
        let relation: TableFactor = relation.map_err(carried)?;
        context.plan(relation)
    }

    /// Nothing may be left.
    pub(crate) fn finish(self) -> Result<()> {
        let what = match (self.placed.front(), self.named.first()) {
            (None, None) => return Ok(()),
            (Some(value), _) => format!("for {value}"),
            (None, Some((name, _))) => format!("'{name}'"),
        };
        Err(refused(format!("{} has no argument {what}", self.function)))
    }
}

fn is_query(text: &str) -> bool {
    let start = text.trim_start();
    let word: String = start.chars().take_while(|char| char.is_ascii_alphabetic()).collect();
    let follows = start.get(word.len()..).unwrap_or_default();
    let is_word = ["SELECT", "WITH", "VALUES"].iter().any(|known| word.eq_ignore_ascii_case(known));
    start.starts_with('(')
        || (is_word && follows.starts_with(|c: char| c.is_whitespace() || c == '('))
}

/// A text literal.
pub(crate) fn text(value: &ast::Expr) -> Option<String> {
    match value {
        ast::Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text)
            | Value::DollarQuotedString(ast::DollarQuotedString { value: text, .. }) => {
                Some(text.clone())
            }
            _ => None,
        },
        _ => None,
    }
}

/// Names of columns: one, or several in a text with commas, a list or an array.
pub(crate) fn columns(
    value: &ast::Expr,
    context: &dyn RelationPlannerContext,
) -> Result<Vec<String>> {
    match value {
        ast::Expr::Identifier(name) => Ok(vec![context.normalize_ident(name.clone())]),
        ast::Expr::Tuple(values) => all_columns(values, context),
        ast::Expr::Array(array) => all_columns(&array.elem, context),
        ast::Expr::Nested(inner) => columns(inner, context),
        value => match text(value) {
            Some(text) => Ok(text
                .split(',')
                .map(|name| name.trim().to_owned())
                .filter(|name| !name.is_empty())
                .collect()),
            None => Err(refused(format!("{value} is no name of a column"))),
        },
    }
}

fn all_columns(values: &[ast::Expr], context: &dyn RelationPlannerContext) -> Result<Vec<String>> {
    let names = values.iter().map(|value| columns(value, context)).collect::<Result<Vec<_>>>()?;
    Ok(names.concat())
}

/// The name of one column.
pub(crate) fn column(value: &ast::Expr, context: &dyn RelationPlannerContext) -> Result<String> {
    let mut names = columns(value, context)?;
    match (names.pop(), names.is_empty()) {
        (Some(name), true) => Ok(name),
        _ => Err(refused(format!("{value} is not the name of one column"))),
    }
}

/// A literal of any type.
pub(crate) fn literal(
    value: ast::Expr,
    context: &mut dyn RelationPlannerContext,
) -> Result<ScalarValue> {
    let shown = value.to_string();
    let expr = context.sql_to_expr(value, &DFSchema::empty())?;
    let is_constant = !expr.any_column_refs() && !expr.is_volatile();
    // `TIMESTAMP '...'` and the like have to be reckoned first.
    let expr = match expr {
        literal @ Expr::Literal(..) => literal,
        expr if is_constant => ExprSimplifier::new(SimplifyContext::default()).simplify(expr)?,
        expr => expr,
    };
    match expr {
        Expr::Literal(value, _) => Ok(value),
        _ => Err(refused(format!("{shown} is no plain value"))),
    }
}

/// `INTERVAL '5 minutes'`, or just the text.
pub(crate) fn interval(
    value: ast::Expr,
    context: &mut dyn RelationPlannerContext,
) -> Result<IntervalMonthDayNano> {
    interval_of(&literal(value, context)?)
}

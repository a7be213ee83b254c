//! Table functions as nodes of the logical plan: a [`FunctionTerms`] says what one of them is, and
//! [`FunctionNode`] is all that DataFusion asks besides.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Column, DFSchema, DFSchemaRef, Result, internal_datafusion_err};
use datafusion::logical_expr::{
    Cast, Expr, Extension, LogicalPlan, LogicalPlanBuilder, UserDefinedLogicalNodeCore,
};

use crate::error::refused;
use crate::names::column_in;

/// What one call of a table function over `N` inputs was asked for, by the names of columns.
pub(crate) trait FunctionTerms<const N: usize>:
    fmt::Debug + Clone + Eq + Hash + PartialOrd + Send + Sync + 'static
{
    /// Its name in plans.
    const NAME: &'static str;

    /// The columns that are given.
    fn schema(&self, inputs: &[LogicalPlan; N]) -> Result<DFSchemaRef>;

    /// The columns of each input that it reads itself.
    fn columns(&self) -> [Vec<&String>; N];

    /// The columns of each input that make some of those given, by their places: the same ones, unless it
    /// says otherwise.
    fn sources(&self, _: &[LogicalPlan; N], output: &[usize]) -> [Vec<usize>; N] {
        std::array::from_fn(|_| output.to_vec())
    }

    /// Whether a condition on a column given may be met by the inputs before.
    fn may_filter_first(&self, _: &str) -> bool {
        false
    }

    /// What plans show behind its name.
    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;
}

/// A table function in a plan.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct FunctionNode<T, const N: usize> {
    pub(crate) inputs: [LogicalPlan; N],
    pub(crate) terms: T,
    pub(crate) schema: DFSchemaRef,
}

impl<T: FunctionTerms<N>, const N: usize> FunctionNode<T, N> {
    pub(super) fn new(inputs: [LogicalPlan; N], terms: T) -> Result<Self> {
        Ok(Self { schema: terms.schema(&inputs)?, inputs, terms })
    }

    /// The plan that ends with it.
    pub(super) fn into_plan(self) -> LogicalPlan {
        LogicalPlan::Extension(Extension { node: Arc::new(self) })
    }
}

impl<T: PartialOrd, const N: usize> PartialOrd for FunctionNode<T, N>
where
    Self: PartialEq,
{
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (&self.inputs, &self.terms).partial_cmp(&(&other.inputs, &other.terms))
    }
}

impl<T: FunctionTerms<N>, const N: usize> UserDefinedLogicalNodeCore for FunctionNode<T, N> {
    fn name(&self) -> &str {
        T::NAME
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        self.inputs.iter().collect()
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    fn prevent_predicate_push_down_columns(&self) -> HashSet<String> {
        let names = self.schema.fields().iter().map(|field| field.name().clone());
        names.filter(|name| !self.terms.may_filter_first(name)).collect()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::NAME)?;
        self.terms.describe(f)
    }

    fn with_exprs_and_inputs(&self, _: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Self> {
        let inputs = <[LogicalPlan; N]>::try_from(inputs)
            .map_err(|_| internal_datafusion_err!("{} has {N} inputs", T::NAME))?;
        Self::new(inputs, self.terms.clone())
    }

    fn necessary_children_exprs(&self, output: &[usize]) -> Option<Vec<Vec<usize>>> {
        let mut needed = self.terms.sources(&self.inputs, output);
        let read = self.terms.columns();
        for ((needed, input), names) in needed.iter_mut().zip(&self.inputs).zip(read) {
            let places = names.into_iter().map(|name| find(input.schema(), name, ""));
            needed.extend(places.filter_map(|found| found.ok().map(|(index, _)| index)));
            needed.sort_unstable();
            needed.dedup();
        }
        Some(needed.into())
    }
}

/// A column by its name: where it is, and its type.
pub(crate) fn find(schema: &DFSchema, name: &str, side: &str) -> Result<(usize, DataType)> {
    let names = schema.fields().iter().map(|field| field.name().as_str());
    let index = column_in(names.clone(), name, || {
        let there = names.clone().collect::<Vec<_>>().join(", ");
        refused(format!("the {side} side has no column '{name}'; it has {there}"))
    })?;
    Ok((index, schema.field(index).data_type().clone()))
}

/// A column as it is called, by a name that may differ in case, and its type.
pub(crate) fn called(schema: &DFSchema, name: &str, side: &str) -> Result<(String, DataType)> {
    let (index, data_type) = find(schema, name, side)?;
    Ok((schema.field(index).name().clone(), data_type))
}

/// The plan with its columns under plain names.
pub(super) fn unqualified(plan: LogicalPlan) -> Result<LogicalPlan> {
    renamed(plan, &|name| name.to_owned(), &[])
}

/// The plan with its columns under plain names of their own, some of them in other types.
pub(super) fn renamed(
    plan: LogicalPlan,
    new_name: &dyn Fn(&str) -> String,
    casts: &[(String, DataType)],
) -> Result<LogicalPlan> {
    let mut columns = Vec::with_capacity(plan.schema().fields().len());
    for (qualifier, field) in plan.schema().iter() {
        let column = Expr::Column(Column::new(qualifier.cloned(), field.name()));
        let wanted = casts.iter().find(|(name, _)| name == field.name());
        let column = match wanted.filter(|(_, wanted)| wanted != field.data_type()) {
            Some((_, wanted)) => Expr::Cast(Cast::new(Box::new(column), wanted.clone())),
            None => column,
        };
        columns.push(column.alias(new_name(field.name())));
    }
    LogicalPlanBuilder::from(plan).project(columns)?.build()
}

//! The newest row of each key as a node of the logical plan.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use datafusion::common::{DFSchemaRef, Result};
use datafusion::logical_expr::{Expr, Extension, LogicalPlan, UserDefinedLogicalNodeCore};

use super::asof_join::{find, renamed_plan};
use crate::error::refused;

/// The node.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct LatestOn {
    pub(super) input: LogicalPlan,
    pub(super) time: String,
    pub(super) by: Vec<String>,
}

impl PartialOrd for LatestOn {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (&self.input, &self.time, &self.by).partial_cmp(&(&other.input, &other.time, &other.by))
    }
}

/// The newest row of a plan for each value of some columns.
///
/// # Errors
/// `InvalidArgument` for columns that aren't there.
pub(crate) fn latest_on(input: LogicalPlan, time: String, by: Vec<String>) -> Result<LogicalPlan> {
    if by.is_empty() {
        return Err(refused("latest_on needs the columns of which each value is wanted"));
    }
    for name in by.iter().chain([&time]) {
        find(input.schema(), name, "input")?;
    }
    let input = renamed_plan(input, &|name| name.to_owned(), &[])?;
    Ok(LogicalPlan::Extension(Extension { node: Arc::new(LatestOn { input, time, by }) }))
}

impl UserDefinedLogicalNodeCore for LatestOn {
    fn name(&self) -> &str {
        "LatestOn"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        self.input.schema()
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    /// A condition on the key may go first: it takes whole keys.
    fn prevent_predicate_push_down_columns(&self) -> HashSet<String> {
        let names = self.schema().fields().iter().map(|field| field.name().clone());
        names.filter(|name| !self.by.contains(name)).collect()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LatestOn: time={}, by={}", self.time, self.by.join(", "))
    }

    fn with_exprs_and_inputs(&self, _: Vec<Expr>, mut inputs: Vec<LogicalPlan>) -> Result<Self> {
        match (inputs.pop(), inputs.is_empty()) {
            (Some(input), true) => Ok(Self { input, time: self.time.clone(), by: self.by.clone() }),
            _ => Err(refused("latest_on has one input")),
        }
    }

    fn necessary_children_exprs(&self, output: &[usize]) -> Option<Vec<Vec<usize>>> {
        let mut needed = output.to_vec();
        for name in self.by.iter().chain([&self.time]) {
            needed.extend(find(self.input.schema(), name, "").ok().map(|(index, _)| index));
        }
        needed.sort_unstable();
        needed.dedup();
        Some(vec![needed])
    }
}

//! The newest row of each key as a node of the logical plan.

use std::fmt;
use std::sync::Arc;

use datafusion::common::{DFSchemaRef, Result};
use datafusion::logical_expr::LogicalPlan;

use super::node::{FunctionNode, FunctionTerms, called, unqualified};
use crate::error::refused;

/// Columns by name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd)]
pub(crate) struct LatestOnTerms {
    pub(crate) time: String,
    pub(crate) by: Vec<String>,
}

/// The newest row of a plan for each value of some columns.
///
/// # Errors
/// `InvalidArgument` for columns that aren't there.
pub(crate) fn latest_on(input: LogicalPlan, time: String, by: Vec<String>) -> Result<LogicalPlan> {
    if by.is_empty() {
        return Err(refused("latest_on needs the columns of which each value is wanted"));
    }
    let named = |name: &String| Ok(called(input.schema(), name, "input")?.0);
    let by = by.iter().map(named).collect::<Result<Vec<_>>>()?;
    let time = named(&time)?;
    Ok(FunctionNode::new([unqualified(input)?], LatestOnTerms { time, by })?.into_plan())
}

impl FunctionTerms<1> for LatestOnTerms {
    const NAME: &'static str = "LatestOn";

    fn schema(&self, [input]: &[LogicalPlan; 1]) -> Result<DFSchemaRef> {
        Ok(Arc::clone(input.schema()))
    }

    fn columns(&self) -> [Vec<&String>; 1] {
        [self.by.iter().chain([&self.time]).collect()]
    }

    /// One on the key may: it takes whole keys.
    fn may_filter_first(&self, column: &str) -> bool {
        self.by.iter().any(|by| by == column)
    }

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ": time={}, by={}", self.time, self.by.join(", "))
    }
}

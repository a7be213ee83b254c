//! Gap filling as a node of the logical plan: rows for the steps of time that have none.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::types::IntervalMonthDayNano;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DFSchema, DFSchemaRef, Result};
use datafusion::logical_expr::{Expr, Extension, LogicalPlan, UserDefinedLogicalNodeCore};
use std::collections::HashSet;

use super::Step;
use super::asof_join::{find, renamed_plan};
use crate::error::refused;
use crate::physical_plan::Fill;

/// How gaps are filled.
#[derive(Debug, Clone)]
pub struct GapFillOptions {
    /// The column of times, which are buckets as `time_bucket` gives them.
    pub time: String,
    /// How far it is from one bucket to the next.
    pub every: IntervalMonthDayNano,
    /// What the rows that are added hold. Default: nulls.
    pub fill: Fill,
    /// Columns that tell series apart, each of which is filled for itself, from its first row to
    /// its last.
    pub by: Vec<String>,
}

impl GapFillOptions {
    /// One series, filled with nulls.
    pub fn new(time: impl Into<String>, every: IntervalMonthDayNano) -> Self {
        Self { time: time.into(), every, fill: Fill::Null, by: Vec::new() }
    }

    /// The same, with an interval like '5 minutes'.
    ///
    /// # Errors
    /// `InvalidArgument`.
    pub fn parse(time: impl Into<String>, every: &str) -> timestrata_engine::Result<Self> {
        let every = super::step::parse_interval(every).map_err(crate::error::from_datafusion)?;
        Ok(Self::new(time, every))
    }
}

/// Columns by name, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd)]
pub(super) struct GapFillTerms {
    pub(super) time: String,
    pub(super) step: Step,
    pub(super) fill: Fill,
    pub(super) by: Vec<String>,
}

/// The node.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct GapFill {
    pub(super) input: LogicalPlan,
    pub(super) terms: GapFillTerms,
    schema: DFSchemaRef,
}

impl PartialOrd for GapFill {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (&self.input, &self.terms).partial_cmp(&(&other.input, &other.terms))
    }
}

/// Fills the gaps of a plan.
///
/// # Errors
/// `InvalidArgument` for columns that aren't there, and for an interval that isn't one.
pub(crate) fn gap_fill(input: LogicalPlan, options: &GapFillOptions) -> Result<LogicalPlan> {
    let unit = match find(input.schema(), &options.time, "input")?.1 {
        DataType::Timestamp(unit, _) => unit,
        other => return Err(refused(format!("gaps are filled between times, and not {other}"))),
    };
    for by in &options.by {
        find(input.schema(), by, "input")?;
    }
    let terms = GapFillTerms {
        time: options.time.clone(),
        step: Step::new(options.every, unit)?,
        fill: options.fill,
        by: options.by.clone(),
    };
    let input = renamed_plan(input, &|name| name.to_owned(), &[])?;
    let node = GapFill::new(input, terms)?;
    Ok(LogicalPlan::Extension(Extension { node: Arc::new(node) }))
}

impl GapFill {
    fn new(input: LogicalPlan, terms: GapFillTerms) -> Result<Self> {
        let is_kept = |name: &str| terms.time == name || terms.by.iter().any(|by| by == name);
        let fields = input.schema().iter().map(|(qualifier, field)| {
            let nullable = field.is_nullable() || !is_kept(field.name());
            (qualifier.cloned(), Arc::new(field.as_ref().clone().with_nullable(nullable)))
        });
        let metadata = input.schema().metadata().clone();
        let schema = DFSchema::new_with_metadata(fields.collect(), metadata)?;
        Ok(Self { schema: Arc::new(schema), input, terms })
    }
}

impl UserDefinedLogicalNodeCore for GapFill {
    fn name(&self) -> &str {
        "GapFill"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    /// A condition on what tells series apart may go first; one on anything else would make gaps.
    fn prevent_predicate_push_down_columns(&self) -> HashSet<String> {
        let names = self.schema.fields().iter().map(|field| field.name().clone());
        names.filter(|name| !self.terms.by.contains(name)).collect()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GapFill: time={}, fill={:?}", self.terms.time, self.terms.fill)?;
        self.terms.by.iter().try_for_each(|by| write!(f, ", by={by}"))
    }

    fn with_exprs_and_inputs(&self, _: Vec<Expr>, mut inputs: Vec<LogicalPlan>) -> Result<Self> {
        match (inputs.pop(), inputs.is_empty()) {
            (Some(input), true) => Self::new(input, self.terms.clone()),
            _ => Err(refused("gap filling has one input")),
        }
    }

    fn necessary_children_exprs(&self, output: &[usize]) -> Option<Vec<Vec<usize>>> {
        let mut needed = output.to_vec();
        for name in self.terms.by.iter().chain([&self.terms.time]) {
            needed.extend(find(self.input.schema(), name, "").ok().map(|(index, _)| index));
        }
        needed.sort_unstable();
        needed.dedup();
        Some(vec![needed])
    }
}

//! What all queries of one store share: memory, spilling, functions and the planner's rules.

use std::num::NonZeroUsize;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::Result;
use datafusion::execution::context::QueryPlanner;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::{FairSpillPool, TrackConsumersPool};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::{Optimizer, OptimizerRule};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{DefaultPhysicalPlanner, PhysicalPlanner};
use datafusion::prelude::SessionConfig;

use crate::catalog::{CATALOG, SCHEMA};
use crate::functions;
use crate::options::SqlOptions;
use crate::physical_plan::{
    CompareNumbers, ForgetOrder, HideRoundingCasts, MeasureScans, NumberGroups, ReadBackwards,
    RestoreOrder, UnfoldFilters,
};
use crate::rules::{ExactExpressions, GuardLists, ReleaseLists};

/// Consumers of memory that an error about it names.
const CONSUMERS_NAMED: NonZeroUsize = NonZeroUsize::MIN.saturating_add(2);
/// Rows read ahead of a merge of partitions in reverse, in bytes.
const READ_AHEAD_BYTES: usize = 8 << 20;

/// The session that queries are planned in.
pub(crate) fn build(options: &SqlOptions) -> Result<SessionState> {
    let spill = match &options.spill_dir {
        Some(dir) => DiskManagerMode::Directories(vec![dir.clone()]),
        None => DiskManagerMode::OsTmpDirectory,
    };
    let pool = FairSpillPool::new(options.memory_bytes_max);
    let runtime = RuntimeEnvBuilder::new()
        .with_memory_pool(Arc::new(TrackConsumersPool::new(pool, CONSUMERS_NAMED)))
        .with_disk_manager_builder(DiskManagerBuilder::default().with_mode(spill))
        .build_arc()?;
    let mut state = SessionStateBuilder::new()
        .with_config(config(options))
        .with_runtime_env(runtime)
        .with_default_features()
        .with_analyzer_rule(Arc::new(ExactExpressions))
        .with_optimizer_rules(logical_rules())
        .with_physical_optimizer_rules(physical_rules())
        .with_query_planner(Arc::new(Planner))
        .build();
    functions::register(&mut state, options)?;
    Ok(state)
}

/// DataFusion's rules, and ours: before filters are pushed down, and around all.
fn logical_rules() -> Vec<Arc<dyn OptimizerRule + Send + Sync>> {
    let mut rules = Optimizer::new().rules;
    let filters = rules.iter().position(|rule| rule.name() == "push_down_filter");
    rules.insert(filters.unwrap_or(0), Arc::new(functions::PushBelowAsofJoin));
    rules.insert(0, Arc::new(GuardLists));
    rules.push(Arc::new(ReleaseLists));
    rules
}

/// DataFusion's rules, and ours: before anything else, before limits are pushed down, before its check, and last.
///
/// Without those that push filters through operators: they know a column by its name alone, and take the
/// first of two that are called the same (as in a projection over a join). Nothing is lost by it: a scan takes
/// its conditions from the logical plan, where columns have their tables' names.
fn physical_rules() -> Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> {
    let mut rules = PhysicalOptimizer::new().rules;
    rules.retain(|rule| !rule.name().starts_with("FilterPushdown"));
    // Behind the first time that projections are pushed down.
    if let Some(last) = rules.iter().rposition(|rule| rule.name() == "ProjectionPushdown") {
        rules.insert(last, Arc::new(UnfoldFilters));
    }
    let limits = rules.iter().position(|rule| rule.name() == "LimitPushdown");
    rules.insert(limits.unwrap_or(rules.len()), Arc::new(ReadBackwards));
    let check = rules.iter().position(|rule| rule.name() == "SanityCheckPlan");
    rules.insert(check.unwrap_or(rules.len()), Arc::new(RestoreOrder));
    rules.push(Arc::new(CompareNumbers));
    rules.push(Arc::new(NumberGroups));
    rules.insert(0, Arc::new(ForgetOrder));
    rules.insert(0, Arc::new(MeasureScans));
    rules.insert(0, Arc::new(HideRoundingCasts));
    rules
}

fn config(options: &SqlOptions) -> SessionConfig {
    let mut config = SessionConfig::new()
        .with_target_partitions(options.threads.max(1))
        .with_batch_size(options.batch_rows.max(1))
        .with_default_catalog_and_schema(CATALOG, SCHEMA)
        .with_create_default_catalog_and_schema(false)
        .with_information_schema(true);
    let settings = config.options_mut();
    // Text is stored and handed out as `Utf8`.
    settings.sql_parser.map_string_types_to_utf8view = false;
    // It takes NaN for a key, and is lost where keys differ from themselves.
    settings.optimizer.enable_topk_aggregation = false;
    // What a rule has made never null in one place and not in another is no reason to refuse a query.
    settings.execution.skip_physical_aggregate_schema_check = true;
    // Times without a zone, in SQL, are UTC.
    settings.execution.time_zone = Some("UTC".to_owned());
    settings.execution.sort_pushdown_buffer_capacity = READ_AHEAD_BYTES;
    // Put aside for merging what was sorted; of little memory it must not be all.
    settings.execution.sort_spill_reservation_bytes =
        settings.execution.sort_spill_reservation_bytes.min(options.memory_bytes_max / 3);
    config
}

/// DataFusion's planner, with our operators.
#[derive(Debug)]
struct Planner;

#[async_trait]
impl QueryPlanner for Planner {
    async fn create_physical_plan(
        &self,
        plan: &LogicalPlan,
        session: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        DefaultPhysicalPlanner::with_extension_planners(vec![Arc::new(functions::Operators)])
            .create_physical_plan(plan, session)
            .await
    }
}

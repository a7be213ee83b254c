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
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{DefaultPhysicalPlanner, PhysicalPlanner};
use datafusion::prelude::SessionConfig;

use crate::catalog::{CATALOG, SCHEMA};
use crate::functions;
use crate::optimizer::{logical_rules, physical_rules, physical_rules_of_few_rows};
use crate::options::SqlOptions;
use crate::physical_plan::TableFunctionPlanner;
use crate::rules::ExactExpressions;

/// Consumers of memory that an error about it names.
const CONSUMERS_NAMED: NonZeroUsize = NonZeroUsize::MIN.saturating_add(2);
/// What is left of a thread's stack where the planner goes on with a new one, and how large that is. It looks only in
/// functions that call themselves, and not where an expression as deep as a statement may be long is copied,
/// compared or dropped: 128 KiB, which it would leave, were too few for that.
const STACK_LEFT_BYTES: usize = 512 << 10;
const STACK_BYTES: usize = 4 << 20;
/// Rows read ahead of a merge of partitions in reverse, in bytes.
const READ_AHEAD_BYTES: usize = 8 << 20;

/// The session that queries are planned in.
pub(crate) fn build(options: &SqlOptions) -> Result<SessionState> {
    recursive::set_minimum_stack_size(STACK_LEFT_BYTES);
    recursive::set_stack_allocation_size(STACK_BYTES);
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
        .with_expr_planners(functions::expr_planners())
        .with_default_features()
        .with_analyzer_rule(Arc::new(ExactExpressions))
        .with_optimizer_rules(logical_rules())
        .with_physical_optimizer_rules(physical_rules())
        .with_query_planner(Arc::new(Planner))
        .build();
    functions::register(&mut state, options)?;
    Ok(state)
}

/// The same, where operators are made for plans that read a few rows: for one thread.
pub(crate) fn of_few_rows(state: &SessionState) -> SessionState {
    SessionStateBuilder::new_from_existing(state.clone())
        .with_config(state.config().clone().with_target_partitions(1))
        .with_physical_optimizer_rules(physical_rules_of_few_rows())
        .build()
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
    // What is known to have a few rows is not shared out among threads: a scan says at most how many it has.
    settings.execution.use_row_number_estimates_to_optimize_partitioning = true;
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
        DefaultPhysicalPlanner::with_extension_planners(vec![Arc::new(TableFunctionPlanner)])
            .create_physical_plan(plan, session)
            .await
    }
}

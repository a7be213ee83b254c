//! The same answers as DataFusion's own first stage gives.

use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, BooleanArray, Float64Array, Int8Array, Int64Array, RecordBatch, StringViewArray,
    TimestampMillisecondArray, UInt16Array,
};
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::catalog::TableProvider;
use datafusion::common::{Result, TableReference};
use datafusion::dataframe::DataFrame;
use datafusion::datasource::MemTable;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::physical_plan::displayable;
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_sql::parser::DFParser;
use datafusion_sql::planner::SqlToRel;

use super::NumberGroups;
use crate::planner_context::{NamedTables, PlannerContext};

const ROWS: usize = 20_000;

/// Rows with groups of many kinds, in two partitions of several batches.
fn rows() -> MemTable {
    let each = || 0..ROWS as i64;
    let short = each().map(|n| (n % 11 != 3).then(|| format!("S{}", n * 7 % 300)));
    let mixed = each().map(|n| (n % 13 != 5).then(|| "ab".repeat((n * 31 % 40) as usize)));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("t", Arc::new(TimestampMillisecondArray::from_iter_values(each().map(|n| n / 9 * 1000)))),
        ("short", Arc::new(StringViewArray::from_iter(short))),
        ("mixed", Arc::new(StringViewArray::from_iter(mixed))),
        (
            "small",
            Arc::new(Int8Array::from_iter(
                each().map(|n| (n % 5 > 0).then_some((n % 200 - 100) as i8)),
            )),
        ),
        (
            "port",
            Arc::new(UInt16Array::from_iter_values(each().map(|n| (n * 65_521 % 65_536) as u16))),
        ),
        ("own", Arc::new(Int64Array::from_iter_values(each().map(|n| n * n - 5)))),
        (
            "flag",
            Arc::new(BooleanArray::from_iter(each().map(|n| (n % 7 > 0).then_some(n % 3 == 0)))),
        ),
        ("x", Arc::new(Float64Array::from_iter(each().map(|n| (n % 17 > 0).then_some(n as f64))))),
    ];
    let all = RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, column)| (name, column, true)),
    )
    .unwrap();
    let cut = |rows: std::ops::Range<usize>| {
        let starts = rows.clone().step_by(1_003);
        starts.map(|start| all.slice(start, 1_003.min(rows.end - start))).collect::<Vec<_>>()
    };
    let partitions = vec![cut(0..ROWS / 3), cut(ROWS / 3..ROWS)];
    MemTable::try_new(all.schema(), partitions).unwrap()
}

fn session(is_numbered: bool, memory_bytes: usize) -> SessionContext {
    let config = SessionConfig::new().with_target_partitions(2).with_batch_size(1_000);
    let runtime = RuntimeEnvBuilder::new().with_memory_limit(memory_bytes, 1.0).build_arc();
    let mut state = SessionStateBuilder::new()
        .with_config(config)
        .with_runtime_env(runtime.unwrap())
        .with_default_features();
    if is_numbered {
        state = state.with_physical_optimizer_rule(Arc::new(NumberGroups));
    }
    let context = SessionContext::new_with_state(state.build());
    context.register_table("t", Arc::new(rows())).unwrap();
    context
}

/// The one table of a session.
struct OneTable(Arc<dyn TableProvider>);

impl NamedTables for OneTable {
    fn named(&self, _: &TableReference) -> Result<Arc<dyn TableProvider>> {
        Ok(Arc::clone(&self.0))
    }
}

/// A query, planned as far as it is SQL.
async fn frame(context: &SessionContext, query: &str) -> DataFrame {
    let statement = DFParser::parse_sql(query).unwrap().pop_front().unwrap();
    let tables = OneTable(context.table_provider("t").await.unwrap());
    let state = context.state();
    let planner = PlannerContext { state: &state, tables: &tables };
    let plan = SqlToRel::new(&planner).statement_to_plan(statement).unwrap();
    DataFrame::new(state, plan)
}

async fn answer(context: &SessionContext, query: &str) -> String {
    let batches = frame(context, query).await.collect().await.unwrap();
    pretty_format_batches(&batches).unwrap().to_string()
}

async fn plan(context: &SessionContext, query: &str) -> String {
    let plan = frame(context, query).await.create_physical_plan().await.unwrap();
    displayable(plan.as_ref()).indent(false).to_string()
}

/// Has the first stage of aggregates look at so many rows before it may pass rows on.
fn pass_on_after(context: &SessionContext, rows: usize) {
    let state = context.state_ref();
    let mut state = state.write();
    let execution = &mut state.config_mut().options_mut().execution;
    execution.skip_partial_aggregation_probe_rows_threshold = rows;
}

const FUNCTIONS: &str = "count(*), count(x), sum(x), avg(x), min(own), max(mixed), \
                         sum(own) FILTER (WHERE flag)";

#[tokio::test]
async fn groups_are_datafusions_by_every_kind_of_column_and_several_of_them() {
    let (ours, plain) = (session(true, 1 << 30), session(false, 1 << 30));
    for by in [
        "short",
        "mixed",
        "t",
        "small",
        "port",
        "short, small",
        "mixed, t",
        "small, short, date_trunc('minute', t), mixed",
    ] {
        let query = format!("SELECT {by}, {FUNCTIONS} FROM t GROUP BY {by} ORDER BY {by}");
        assert!(plan(&ours, &query).await.contains("NumberedGroupsExec"), "{query}");
        assert_eq!(answer(&ours, &query).await, answer(&plain, &query).await, "{query}");
    }
}

#[tokio::test]
async fn rows_that_are_all_groups_of_their_own_are_passed_on() {
    let (ours, plain) = (session(true, 1 << 30), session(false, 1 << 30));
    pass_on_after(&ours, 5_000);
    for by in ["own", "own, mixed"] {
        let query = format!("SELECT {by}, {FUNCTIONS} FROM t GROUP BY {by} ORDER BY {by}");
        assert_eq!(answer(&ours, &query).await, answer(&plain, &query).await, "{query}");
    }
}

#[tokio::test]
async fn groups_that_memory_has_no_room_for_are_handed_on() {
    // Too little for all groups of the first stage, enough for the second.
    let (ours, plain) = (session(true, 24 << 20), session(false, 1 << 30));
    let query = "SELECT own, sum(x) FROM t GROUP BY own ORDER BY own";
    assert_eq!(answer(&ours, query).await, answer(&plain, query).await);
}

#[tokio::test]
async fn other_groups_are_left_to_datafusion() {
    let context = session(true, 1 << 30);
    for query in [
        "SELECT flag, count(*) FROM t GROUP BY flag",
        "SELECT x, count(*) FROM t GROUP BY x",
        "SELECT short, count(*) FROM t GROUP BY ROLLUP (short)",
        "SELECT short, first_value(x ORDER BY t) FROM t GROUP BY short",
    ] {
        assert!(!plan(&context, query).await.contains("NumberedGroupsExec"), "{query}");
    }
}

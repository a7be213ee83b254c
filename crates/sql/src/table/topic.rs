//! A topic as a table: the records of all its partitions, with a column that says which.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{BinaryExpr, Expr, Operator, TableProviderFilterPushDown};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{Column, Literal};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use datafusion::physical_plan::union::UnionExec;
use timestrata_engine::{Snapshot, Stream};
use timestrata_topic::{record_streams, topic_of_stream};

use super::{ScanRequest, TableSource};
use crate::schema::{PARTITION, SqlTable, topic_schema};

/// The partitions of a topic, by their numbers.
#[derive(Debug)]
pub(super) struct TopicPartitions {
    topic: String,
    tables: Vec<Arc<SqlTable>>,
    schema: SchemaRef,
}

impl TopicPartitions {
    /// Those of a topic; `None` if the stream is something else.
    pub(super) fn of(stream: &Stream, snapshot: &Snapshot) -> Option<Self> {
        topic_of_stream(stream)?;
        let streams: HashMap<&str, &Arc<Stream>> =
            snapshot.streams().map(|stream| (stream.name(), stream)).collect();
        let tables: Vec<Arc<SqlTable>> = record_streams(stream)
            .map_while(|name| streams.get(name.as_str()).copied())
            .map(|stream| Arc::new(SqlTable::whole(stream)))
            .collect();
        let schema = topic_schema(&tables.first()?.schema);
        Some(Self { topic: stream.name().to_owned(), tables, schema })
    }

    /// The topic's name.
    pub(super) fn topic(&self) -> &str {
        &self.topic
    }

    /// One partition's records, with its number where that is asked for.
    fn scan_partition(
        &self,
        number: u32,
        table: &Arc<SqlTable>,
        columns: &[usize],
        request: &ScanRequest<'_>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let read: Vec<usize> = columns.iter().filter_map(|column| column.checked_sub(1)).collect();
        let scan = request.scan(table, &read)?;
        let mut places = 0..;
        let expressions = columns.iter().map(|column| {
            let name = self.schema.field(*column).name().clone();
            let expr: Arc<dyn PhysicalExpr> = match column {
                0 => Arc::new(Literal::new(ScalarValue::from(number))),
                _ => Arc::new(Column::new(&name, places.next().unwrap_or_default())),
            };
            ProjectionExpr { expr, alias: name }
        });
        let expressions: Vec<_> = expressions.collect();
        Ok(Arc::new(ProjectionExec::try_new(expressions, Arc::new(scan))?))
    }
}

/// The partition that a filter asks for, if it asks for one.
fn partition_of(filter: &Expr) -> Option<u32> {
    let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) = filter else {
        return None;
    };
    match (left.as_ref(), right.as_ref()) {
        (Expr::Column(column), Expr::Literal(ScalarValue::UInt32(number), _))
        | (Expr::Literal(ScalarValue::UInt32(number), _), Expr::Column(column))
            if column.name == PARTITION =>
        {
            *number
        }
        _ => None,
    }
}

impl TableSource for TopicPartitions {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn scan(&self, columns: &[usize], request: &ScanRequest<'_>) -> Result<Arc<dyn ExecutionPlan>> {
        let asked: Vec<u32> = request.filters.iter().filter_map(partition_of).collect();
        let numbered = (0_u32..).zip(&self.tables);
        let scans = numbered
            .filter(|(number, _)| asked.iter().all(|only| only == number))
            .map(|(number, table)| self.scan_partition(number, table, columns, request));
        let mut scans = scans.collect::<Result<Vec<_>>>()?;
        match scans.len() {
            0 => Ok(Arc::new(EmptyExec::new(Arc::new(self.schema.project(columns)?)))),
            1 => Ok(scans.swap_remove(0)),
            _ => UnionExec::try_new(scans),
        }
    }

    fn pushed_down(&self, filters: &[&Expr]) -> Vec<TableProviderFilterPushDown> {
        let of_records = self.tables.first().map(|table| table.pushed_down(filters));
        let done = filters.iter().zip(of_records.unwrap_or_default());
        done.map(|(filter, of_records)| match partition_of(filter) {
            Some(_) => TableProviderFilterPushDown::Exact,
            None => of_records,
        })
        .collect()
    }
}

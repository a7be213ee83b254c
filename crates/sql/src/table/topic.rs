//! A topic as a table: the records of all its partitions, with a column that says which.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{
    BinaryExpr, Expr, Operator, TableProviderFilterPushDown, TableType,
};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{Column, Literal};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use datafusion::physical_plan::union::UnionExec;
use timestrata_engine::{Snapshot, Stream};
use timestrata_topic::{record_streams, topic_of_stream};

use super::{Narrowed, judge_filters, lead_of, narrow_table};
use crate::physical_plan::StreamScan;
use crate::schema::SqlTable;

const PARTITION: &str = "partition";

/// A topic of one query.
#[derive(Debug)]
pub(crate) struct TopicTable {
    /// By partition.
    partitions: Vec<Arc<SqlTable>>,
    schema: SchemaRef,
    snapshot: Snapshot,
}

/// The columns of a topic's table: its partition, then those of its records.
pub(crate) fn topic_schema(records: &Schema) -> SchemaRef {
    let partition: FieldRef = Arc::new(Field::new(PARTITION, DataType::UInt32, false));
    let fields = std::iter::once(partition).chain(records.fields().iter().cloned());
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

impl TopicTable {
    /// The table of a topic; `None` if the stream is something else.
    pub(crate) fn of(stream: &Stream, snapshot: &Snapshot) -> Option<Self> {
        topic_of_stream(stream)?;
        let streams: HashMap<&str, &Arc<Stream>> =
            snapshot.streams().map(|stream| (stream.name(), stream)).collect();
        let partitions: Vec<Arc<SqlTable>> = record_streams(stream)
            .map_while(|name| streams.get(name.as_str()).copied())
            .map(|stream| Arc::new(SqlTable::whole(stream)))
            .collect();
        let schema = topic_schema(&partitions.first()?.schema);
        Some(Self { partitions, schema, snapshot: snapshot.clone() })
    }

    /// One partition's records, with its number where that is asked for.
    fn scan_partition(
        &self,
        number: u32,
        table: &Arc<SqlTable>,
        shown: &[usize],
        asked: (&[Expr], Option<usize>, usize),
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let (filters, limit, parts) = asked;
        let Narrowed { ranges, .. } = narrow_table(table, filters);
        let columns: Vec<usize> = shown.iter().filter_map(|column| column.checked_sub(1)).collect();
        let scan = StreamScan::new(table, &self.snapshot, &columns, ranges, limit, parts)?;
        let mut read = 0..;
        let expressions = shown.iter().map(|column| {
            let name = self.schema.field(*column).name().clone();
            let expr: Arc<dyn PhysicalExpr> = match column {
                0 => Arc::new(Literal::new(ScalarValue::from(number))),
                _ => Arc::new(Column::new(&name, read.next().unwrap_or_default())),
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
        (Expr::Column(column), Expr::Literal(value, _))
        | (Expr::Literal(value, _), Expr::Column(column))
            if column.name == PARTITION =>
        {
            match value {
                ScalarValue::UInt32(number) => *number,
                _ => None,
            }
        }
        _ => None,
    }
}

#[async_trait]
impl TableProvider for TopicTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let shown: Vec<usize> = match projection {
            Some(projection) => projection.clone(),
            None => (0..self.schema.fields().len()).collect(),
        };
        let wanted: Vec<u32> = filters.iter().filter_map(partition_of).collect();
        let numbered = (0_u32..).zip(&self.partitions);
        let wanted = numbered.filter(|(number, _)| wanted.iter().all(|only| only == number));
        let parts = state.config().target_partitions();
        let scans = wanted.map(|(number, table)| {
            self.scan_partition(number, table, &shown, (filters, limit, parts))
        });
        let mut scans = scans.collect::<Result<Vec<_>>>()?;
        if scans.is_empty() {
            let schema = Arc::new(self.schema.project(&shown)?);
            return Ok(Arc::new(datafusion::physical_plan::empty::EmptyExec::new(schema)));
        }
        match scans.len() {
            1 => Ok(scans.swap_remove(0)),
            _ => UnionExec::try_new(scans),
        }
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        let lead = self.partitions.first().and_then(|table| lead_of(table));
        let mut judged = judge_filters(lead.as_ref(), filters);
        for (judgement, filter) in judged.iter_mut().zip(filters) {
            if partition_of(filter).is_some() {
                *judgement = TableProviderFilterPushDown::Exact;
            }
        }
        Ok(judged)
    }
}

//! `proof(topic, offset [, partition])`: that a record is in its partition, for those who know the root.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::builder::{BinaryBuilder, ListBuilder};
use datafusion::arrow::array::{
    ArrayRef, BinaryArray, RecordBatch, StringArray, UInt32Array, UInt64Array,
};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use timestrata_engine::{Error, ErrorKind, Result};

use crate::physical_plan::Computation;
use crate::table::TopicTable;

/// The proof of one record.
#[derive(Debug)]
pub(super) struct Proof {
    pub(super) topic: TopicTable,
    pub(super) partition: u32,
    pub(super) offset: u64,
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { topic, partition, offset } = self;
        write!(f, "Proof: topic={}, partition={partition}, offset={offset}", topic.name)
    }
}

fn hash_item() -> Arc<Field> {
    Arc::new(Field::new("item", DataType::Binary, false))
}

impl Computation for Proof {
    fn schema(&self) -> SchemaRef {
        Arc::new(Schema::new(vec![
            Field::new("partition", DataType::UInt32, false),
            Field::new("offset", DataType::UInt64, false),
            Field::new("size", DataType::UInt64, false),
            Field::new("root", DataType::Binary, false),
            Field::new("leaf", DataType::Binary, false),
            Field::new("hashes", DataType::List(hash_item()), false),
            Field::new("signed", DataType::Utf8, true),
        ]))
    }

    fn compute(&self) -> Result<RecordBatch> {
        let proof = self.topic.proof(self.partition, self.offset)?;
        let mut hashes = ListBuilder::new(BinaryBuilder::new()).with_field(hash_item());
        proof.hashes.iter().for_each(|hash| hashes.values().append_value(hash.as_bytes()));
        hashes.append(true);
        let signed = proof.signed.map(|signed| signed.to_string());
        let columns: Vec<ArrayRef> = vec![
            Arc::new(UInt32Array::from(vec![self.partition])),
            Arc::new(UInt64Array::from(vec![self.offset])),
            Arc::new(UInt64Array::from(vec![proof.size])),
            Arc::new(BinaryArray::from_vec(vec![proof.root.as_bytes()])),
            Arc::new(BinaryArray::from_vec(vec![proof.leaf.as_bytes()])),
            Arc::new(hashes.finish()),
            Arc::new(StringArray::from(vec![signed])),
        ];
        RecordBatch::try_new(self.schema(), columns).map_err(|error| {
            Error::new(ErrorKind::InvalidData, "the proof makes no columns").caused_by(error)
        })
    }
}

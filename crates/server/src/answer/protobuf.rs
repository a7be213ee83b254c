//! Rows as `message Batch { repeated Row rows = 1; }`, each row
//! `message Row { map<string, string> values = 1; }`.

use std::collections::BTreeMap;

use arrow_array::{Array, RecordBatch};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::SchemaRef;
use prost::Message;

use super::unwritten;
use crate::error::Result;

#[derive(Clone, PartialEq, Message)]
struct Batch {
    #[prost(message, repeated, tag = "1")]
    rows: Vec<ProtobufRow>,
}

#[derive(Clone, PartialEq, Message)]
struct ProtobufRow {
    /// Columns without a value in the row are absent.
    #[prost(btree_map = "string, string", tag = "1")]
    values: BTreeMap<String, String>,
}

pub(super) fn encode(schema: &SchemaRef, batches: &[RecordBatch]) -> Result<Vec<u8>> {
    let options = FormatOptions::default();
    let mut message = Batch::default();
    for batch in batches {
        let columns = batch
            .columns()
            .iter()
            .map(|column| ArrayFormatter::try_new(column.as_ref(), &options))
            .collect::<std::result::Result<Vec<_>, _>>()
            .map_err(unwritten)?;
        for row in 0..batch.num_rows() {
            let cells = schema.fields().iter().zip(&columns).zip(batch.columns());
            let values = cells
                .filter(|(_, column)| column.is_valid(row))
                .map(|((field, shown), _)| (field.name().clone(), shown.value(row).to_string()));
            message.rows.push(ProtobufRow { values: values.collect() });
        }
    }
    Ok(message.encode_to_vec())
}

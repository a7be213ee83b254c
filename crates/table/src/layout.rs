//! A table's columns as they are now.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::SchemaRef;
use timestrata_engine::{Result, Stream};

use super::options::Definition;

/// The columns of a table at one time, with the roles they play.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    pub(super) stream: Arc<Stream>,
    pub(super) schema: SchemaRef,
    pub(super) definition: Definition,
}

impl Layout {
    /// # Errors
    /// `InvalidArgument` if the stream is no table.
    pub(super) fn of(stream: Arc<Stream>) -> Result<Self> {
        let definition = Definition::of(&stream)?;
        Ok(Self { schema: SchemaRef::clone(stream.schema()), stream, definition })
    }

    /// The same table, once it has other columns: wider ones and more of them.
    pub(super) fn with_schema(&self, schema: SchemaRef) -> Self {
        Self { schema, ..self.clone() }
    }

    pub(super) fn name(&self) -> &str {
        self.stream.name()
    }

    /// Index of the time column.
    pub(super) fn time(&self) -> usize {
        self.stream.lead_column()
    }

    pub(super) fn time_name(&self) -> &str {
        self.schema.field(self.time()).name()
    }

    /// Whether a column is the time or part of the key.
    pub(super) fn is_key(&self, column: usize) -> bool {
        self.stream.key_columns().contains(&column)
    }

    /// Indexes of the columns of the upsert key, in its order.
    pub(super) fn key_columns(&self) -> Vec<usize> {
        let column = |name: &String| self.schema.index_of(name).ok();
        self.definition.key.iter().filter_map(column).collect()
    }

    /// The columns of rows that make up the upsert key.
    pub(super) fn key_arrays(&self, rows: &RecordBatch) -> Vec<ArrayRef> {
        self.key_columns().iter().map(|column| ArrayRef::clone(rows.column(*column))).collect()
    }

    /// Whether the upsert key is one column of whole numbers.
    pub(super) fn has_number_key(&self) -> bool {
        match self.key_columns()[..] {
            [column] => self.schema.field(column).data_type().is_integer(),
            _ => false,
        }
    }
}

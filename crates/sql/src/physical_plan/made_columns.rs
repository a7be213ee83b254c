//! Columns that are made of those of a stream: of a log its levels by name and each field in its column, wherever its value is
//! kept; of a time log its values as JSON.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, FieldRef, Schema};
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;
use timestrata_logs::ShownColumns;
use timestrata_timelog::{Codec, VALUE_COLUMN};

use crate::functions::json_texts;

/// What makes the columns.
#[derive(Debug)]
pub(crate) enum Maker {
    Log(ShownColumns),
    Values(Codec),
}

impl Maker {
    /// The columns of the stream that a column is made of.
    pub(crate) fn sources(&self, column: usize) -> Vec<usize> {
        match self {
            Self::Log(shown) => shown.sources(column),
            Self::Values(_) => vec![column],
        }
    }

    /// A column, of its sources in their order.
    fn make(&self, column: usize, sources: &[ArrayRef]) -> Result<Option<ArrayRef>> {
        match (self, sources) {
            (Self::Log(shown), _) => Ok(shown.show(column, sources)),
            (Self::Values(Codec::Cbor), [items]) if column == VALUE_COLUMN => {
                json_texts(items).map(Some)
            }
            // What is no text is no JSON either, and null.
            (Self::Values(Codec::Json), [texts]) if column == VALUE_COLUMN => {
                Ok(Some(cast(texts, &DataType::Utf8)?))
            }
            (Self::Values(_), [source]) => Ok(Some(Arc::clone(source))),
            _ => Ok(None),
        }
    }
}

/// A column that is made of those of the stream.
#[derive(Debug, Clone)]
pub(crate) struct MadeColumn {
    maker: Arc<Maker>,
    column: usize,
    field: FieldRef,
    sources: Vec<Arc<dyn PhysicalExpr>>,
}

impl MadeColumn {
    /// A column, of those that its sources are in what is read.
    pub(crate) fn new(
        maker: Arc<Maker>,
        column: usize,
        field: FieldRef,
        sources: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Self {
        Self { maker, column, field, sources }
    }

    /// What makes it, if it is all fields of a log.
    pub(super) fn log_of_fields(&self) -> Option<&Arc<Maker>> {
        match self.maker.as_ref() {
            Maker::Log(shown) if self.column == shown.fields_column() => Some(&self.maker),
            _ => None,
        }
    }

    /// The columns of the stream that it is made of.
    pub(super) fn sources(&self) -> &[Arc<dyn PhysicalExpr>] {
        &self.sources
    }
}

impl PartialEq for MadeColumn {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.maker, &other.maker)
            && self.column == other.column
            && self.sources == other.sources
    }
}

impl Eq for MadeColumn {}

impl Hash for MadeColumn {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.column.hash(state);
        self.sources.hash(state);
    }
}

impl fmt::Display for MadeColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.field.name())
    }
}

impl PhysicalExpr for MadeColumn {
    fn return_field(&self, _: &Schema) -> Result<FieldRef> {
        Ok(Arc::clone(&self.field))
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let sources = evaluated(&self.sources, batch)?;
        let made = self.maker.make(self.column, &sources)?.ok_or_else(|| {
            DataFusionError::Internal(format!("column {self} can't be made of what was read"))
        })?;
        Ok(ColumnarValue::Array(cast(&made, self.field.data_type())?))
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        self.sources.iter().collect()
    }

    fn with_new_children(
        self: Arc<Self>,
        sources: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        Ok(Arc::new(Self { sources, ..Self::clone(&self) }))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// What some expressions give for the rows of a batch.
pub(crate) fn evaluated(
    expressions: &[Arc<dyn PhysicalExpr>],
    batch: &RecordBatch,
) -> Result<Vec<ArrayRef>> {
    let each = expressions.iter();
    each.map(|expr| expr.evaluate(batch)?.into_array(batch.num_rows())).collect()
}

//! Blocks and edges that come as columns.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, TimestampNanosecondType, UInt32Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, TimeUnit};
use hashbrown::HashMap;
use timestrata_engine::{Error, ErrorKind, Result};
use timestrata_values::fit;
use timestrata_values::normalize;
use timestrata_values::time::relabeled;

use super::adjacency::BlockId;
use super::block::NewBlock;
use super::edge::{Edge, EdgeKey};

const BLOCK_COLUMNS: [&str; 6] = ["id", "version", "source_uri", "metadata", "content", "is_text"];
const EDGE_COLUMNS: [&str; 6] = ["source", "kind", "target", "weight", "valid_from", "properties"];

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::InvalidData, message)
}

/// Columns of one batch.
struct BatchColumns<'a> {
    batch: RecordBatch,
    what: &'a str,
}

impl<'a> BatchColumns<'a> {
    fn of(batch: &RecordBatch, what: &'a str, known: &[&str]) -> Result<Self> {
        let batch = normalize(batch)?;
        for field in batch.schema_ref().fields() {
            if !known.contains(&field.name().as_str()) {
                return Err(invalid(format!(
                    "{what} have no column '{}': they have {}",
                    field.name(),
                    known.join(", ")
                )));
            }
        }
        Ok(Self { batch, what })
    }

    fn optional(&self, name: &str) -> Option<&ArrayRef> {
        let column = self.batch.column_by_name(name)?;
        (column.data_type() != &DataType::Null).then_some(column)
    }

    fn needed(&self, name: &str) -> Result<&ArrayRef> {
        self.optional(name).ok_or_else(|| {
            invalid(format!("{} need a column '{name}', and these rows have none", self.what))
        })
    }

    /// A column of a type, if it is there.
    fn typed(&self, name: &str, data_type: DataType) -> Result<Option<ArrayRef>> {
        let field = Field::new(name, data_type, true);
        self.optional(name).map(|column| fit(column, &field)).transpose()
    }

    /// A column of ids: bytes, or hexadecimal digits.
    fn ids(&self, name: &str) -> Result<Vec<Option<BlockId>>> {
        let column = self.needed(name)?;
        let plain = match column.data_type() {
            DataType::Utf8 => DataType::Utf8,
            DataType::FixedSizeBinary(bytes) => DataType::FixedSizeBinary(*bytes),
            DataType::Binary | DataType::LargeBinary => DataType::LargeBinary,
            other => {
                return Err(invalid(format!(
                    "column '{name}' holds ids: bytes or text of hexadecimal digits, not {other}"
                )));
            }
        };
        let column = fit(column, &Field::new(name, plain, true))?;
        let id_of = |row: usize| {
            if column.is_null(row) {
                return Ok(None);
            }
            match column.data_type() {
                DataType::Utf8 => column.as_string::<i32>().value(row).parse(),
                DataType::FixedSizeBinary(_) => {
                    BlockId::try_from(column.as_fixed_size_binary().value(row))
                }
                _ => BlockId::try_from(column.as_binary::<i64>().value(row)),
            }
            .map(Some)
            .map_err(|error| {
                invalid(format!("column '{name}', row {row} (the first is 0): {error}"))
            })
        };
        (0..column.len()).map(id_of).collect()
    }

    /// A column of ids without nulls.
    fn needed_ids(&self, name: &str) -> Result<Vec<BlockId>> {
        let ids = self.ids(name)?;
        (0..).zip(ids).map(|(row, id): (usize, _)| id.ok_or_else(|| null_in(name, row))).collect()
    }

    /// A column of times; those without a zone are taken as UTC, whole numbers as nanoseconds.
    fn times(&self, name: &str) -> Result<Option<ArrayRef>> {
        let Some(column) = self.optional(name) else { return Ok(None) };
        let wanted = match column.data_type() {
            data_type if data_type.is_integer() => DataType::Int64,
            // A zone is how a time is shown.
            DataType::Timestamp(_, zone) => DataType::Timestamp(TimeUnit::Nanosecond, zone.clone()),
            _ => DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())),
        };
        let column = fit(column, &Field::new(name, wanted, true))?;
        relabeled(&column, &DataType::Timestamp(TimeUnit::Nanosecond, None)).map(Some)
    }
}

fn null_in(name: &str, row: usize) -> Error {
    invalid(format!("column '{name}', row {row} (the first is 0): it takes no nulls"))
}

/// The text in a row of a column that may be missing.
fn text(column: Option<&ArrayRef>, row: usize) -> Option<&str> {
    let column = column.filter(|column| column.is_valid(row))?;
    Some(column.as_string::<i32>().value(row))
}

/// The blocks of a batch with a column `content` and, where there are any, `id`, `version`, `source_uri`,
/// `metadata` and `is_text`.
///
/// ```
/// use std::sync::Arc;
///
/// use arrow_array::{RecordBatch, StringArray};
/// use timestrata_graph::BlockColumns;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let sources = StringArray::from(vec!["fn main() {}", "fn run() {}"]);
/// let batch = RecordBatch::try_from_iter([("content", Arc::new(sources) as _)])?;
/// assert_eq!(BlockColumns::of(&batch)?.blocks().count(), 2);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct BlockColumns {
    rows: usize,
    ids: Option<Vec<Option<BlockId>>>,
    version: Option<ArrayRef>,
    source_uri: Option<ArrayRef>,
    metadata: Option<ArrayRef>,
    is_text: Option<ArrayRef>,
    /// Text, or bytes.
    content: ArrayRef,
}

impl BlockColumns {
    /// Takes the columns of a batch, in any encoding.
    ///
    /// # Errors
    /// `InvalidData` for a column that blocks don't have, or of another type; names it.
    pub fn of(batch: &RecordBatch) -> Result<Self> {
        let columns = BatchColumns::of(batch, "blocks", &BLOCK_COLUMNS)?;
        let content = columns.needed("content")?;
        let is_text = content.data_type() == &DataType::Utf8;
        let wanted = if is_text { DataType::Utf8 } else { DataType::LargeBinary };
        Ok(Self {
            rows: batch.num_rows(),
            content: fit(content, &Field::new("content", wanted, false))?,
            ids: columns.optional("id").map(|_| columns.ids("id")).transpose()?,
            version: columns.typed("version", DataType::UInt32)?,
            source_uri: columns.typed("source_uri", DataType::Utf8)?,
            metadata: columns.typed("metadata", DataType::Utf8)?,
            is_text: columns.typed("is_text", DataType::Boolean)?,
        })
    }

    /// The blocks, in the order of the rows.
    pub fn blocks(&self) -> impl Iterator<Item = NewBlock<'_>> {
        (0..self.rows).map(|row| self.block(row))
    }

    fn block(&self, row: usize) -> NewBlock<'_> {
        let (content, was_text) = match self.content.as_string_opt::<i32>() {
            Some(texts) => (texts.value(row).as_bytes(), true),
            None => (self.content.as_binary::<i64>().value(row), false),
        };
        let is_text = self.is_text.as_ref().filter(|all| all.is_valid(row));
        let version = self.version.as_ref().filter(|all| all.is_valid(row));
        NewBlock {
            id: self.ids.as_ref().and_then(|ids| *ids.get(row)?),
            version: version.map(|all| all.as_primitive::<UInt32Type>().value(row)),
            source_uri: text(self.source_uri.as_ref(), row),
            metadata: text(self.metadata.as_ref(), row),
            is_text: is_text.map_or(was_text, |all| all.as_boolean().value(row)),
            content,
        }
    }
}

/// Adds the edges of a batch with columns `source`, `kind` and `target` and, where there are any,
/// `weight`, `valid_from` and `properties`, in any encoding.
///
/// # Errors
/// `InvalidData` for a column that edges don't have, or of another type; names it.
pub fn add_edges(batch: &RecordBatch, edges: &mut Vec<Edge>) -> Result<()> {
    let columns = BatchColumns::of(batch, "edges", &EDGE_COLUMNS)?;
    for name in ["source", "kind", "target"] {
        columns.needed(name)?;
    }
    let (sources, targets) = (columns.needed_ids("source")?, columns.needed_ids("target")?);
    let kinds = columns.typed("kind", DataType::Utf8)?;
    let weights = columns.typed("weight", DataType::Float64)?;
    let times = columns.times("valid_from")?;
    let properties = columns.typed("properties", DataType::Utf8)?;
    let mut known: HashMap<&str, Arc<str>> = HashMap::new();
    for (row, (source, target)) in sources.into_iter().zip(targets).enumerate() {
        let name = text(kinds.as_ref(), row).ok_or_else(|| null_in("kind", row))?;
        let kind = Arc::clone(known.entry(name).or_insert_with(|| Arc::from(name)));
        let weight = weights.as_ref().filter(|all| all.is_valid(row));
        let time = times.as_ref().filter(|all| all.is_valid(row));
        edges.push(Edge {
            key: EdgeKey { source, kind, target },
            weight: weight.map(|all| all.as_primitive::<Float64Type>().value(row)),
            valid_from_ns: time.map(|all| all.as_primitive::<TimestampNanosecondType>().value(row)),
            properties: text(properties.as_ref(), row).map(Arc::from),
        });
    }
    Ok(())
}

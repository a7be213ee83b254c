//! Lists of edges from files: CSV, JSON lines, Arrow, Parquet.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray, TimestampNanosecondArray};
use arrow_cast::cast;
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use timestrata_engine::{Durability, Error, ErrorKind, Result, SeqNo};
use timestrata_values::time::parse as parse_time;

use super::adjacency::BlockId;
use super::block::{NewBlock, id_column, id_of_content, unmade};
use super::changes::GraphChanges;
use super::columns::add_edges;
use super::edge::Edge;
use super::handle::Graph;

/// How a list of edges is read.
///
/// ```
/// use timestrata_engine::{Durability, Settings, Store};
/// use timestrata_graph::{EdgeList, Graph, GraphOptions};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// let roads = Graph::create(&store, "roads", &GraphOptions::default())?;
/// // Lines of JSON whose ends are names, all of one kind.
/// let list =
///     EdgeList { kind_of_all: Some("road".into()), are_names: true, ..EdgeList::default() };
/// let lines = br#"{"source": "Ulm", "target": "Bonn"}"#;
/// let imported = roads.import_lines(&lines[..], &list, Durability::Written)?;
/// assert_eq!((imported.edges, imported.blocks_put), (1, 2));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EdgeList {
    /// The column of the blocks from which edges come.
    pub source: String,
    /// The column of those to which they go.
    pub target: String,
    /// The column of the edges' kinds.
    pub kind: String,
    /// The kind of all edges of a list that has no such column; without, such a list is refused.
    pub kind_of_all: Option<String>,
    /// Whether both ends are names and no ids. The block of a name has it as its content, and is put if
    /// it is not there.
    pub are_names: bool,
}

impl Default for EdgeList {
    /// Columns `source`, `kind` and `target` with ids.
    fn default() -> Self {
        Self {
            source: "source".to_owned(),
            target: "target".to_owned(),
            kind: "kind".to_owned(),
            kind_of_all: None,
            are_names: false,
        }
    }
}

/// What was read from a list of edges.
///
/// ```
/// use timestrata_engine::{Durability, Settings, Store};
/// use timestrata_graph::{EdgeList, Graph, GraphOptions, ImportedEdges};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// # let roads = Graph::create(&store, "roads", &GraphOptions::default())?;
/// let nothing = roads.import_lines(&b""[..], &EdgeList::default(), Durability::Written)?;
/// assert_eq!(nothing, ImportedEdges::default());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportedEdges {
    /// Edges in the list; one that is there more than once counts as often.
    pub edges: u64,
    /// Blocks put: those of the list, and those for names.
    pub blocks_put: u64,
    /// The commit; `None` of an empty list.
    pub seq: Option<SeqNo>,
}

impl EdgeList {
    /// The types that the columns of a text file must have: ids that are digits alone are no numbers.
    #[must_use]
    pub fn text_schema(&self) -> SchemaRef {
        let text = |name: &str| Field::new(name, DataType::Utf8, true);
        Arc::new(Schema::new(vec![
            text(&self.source),
            text(&self.kind),
            text(&self.target),
            Field::new("weight", DataType::Float64, true),
            // As a time it would be taken for the one that every row of a table must have.
            text("valid_from"),
            text("properties"),
        ]))
    }

    /// A batch with the columns named as edges have them; `names` gets the names at their ends.
    fn standard(
        &self,
        batch: &RecordBatch,
        names: &mut BTreeMap<BlockId, String>,
    ) -> Result<RecordBatch> {
        let standard = [(&self.source, "source"), (&self.target, "target"), (&self.kind, "kind")];
        let (mut fields, mut columns) = (Vec::new(), Vec::new());
        for (field, column) in batch.schema_ref().fields().iter().zip(batch.columns()) {
            let known = standard.iter().find(|(own, _)| *own == field.name());
            if known.is_none()
                && let Some((own, name)) = standard.iter().find(|(_, name)| name == field.name())
            {
                let message = format!("the list has a column '{name}', and '{own}' is to be it");
                return Err(Error::new(ErrorKind::InvalidData, message));
            }
            let name = known.map_or(field.name().as_str(), |(_, name)| name);
            let column = match name {
                "source" | "target" if self.are_names => ids_of_names(field.name(), column, names)?,
                "valid_from" if column.data_type() == &DataType::Utf8 => times_of_text(column)?,
                _ => ArrayRef::clone(column),
            };
            fields.push(Field::new(name, column.data_type().clone(), true));
            columns.push(column);
        }
        if let Some(kind) = &self.kind_of_all
            && !fields.iter().any(|field| field.name() == "kind")
        {
            fields.push(Field::new("kind", DataType::Utf8, true));
            let kinds = std::iter::repeat_n(kind, batch.num_rows());
            columns.push(Arc::new(StringArray::from_iter_values(kinds)));
        }
        RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).map_err(|error| unmade(&error))
    }
}

/// Times that were written as text: ISO 8601, UTC without a zone; or whole nanoseconds since 1970.
fn times_of_text(texts: &ArrayRef) -> Result<ArrayRef> {
    let kind = DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()));
    let time = |text: &str| match text.trim().parse() {
        Ok(ns) => Ok(ns),
        Err(_) => parse_time(text, &kind),
    };
    let times = texts.as_string::<i32>().iter().map(|text| text.map(time).transpose());
    let times: Vec<Option<i64>> = times.collect::<Result<_>>().map_err(|error| {
        Error::new(ErrorKind::InvalidData, format!("column 'valid_from' holds times: {error}"))
    })?;
    Ok(Arc::new(TimestampNanosecondArray::from(times).with_timezone("UTC")))
}

/// The ids of the blocks that have names as their contents.
fn ids_of_names(
    column: &str,
    values: &ArrayRef,
    names: &mut BTreeMap<BlockId, String>,
) -> Result<ArrayRef> {
    let wrong = |what: String| {
        Error::new(ErrorKind::InvalidData, format!("column '{column}' holds names: {what}"))
    };
    let texts = cast(values, &DataType::Utf8).map_err(|error| wrong(error.to_string()))?;
    let texts = texts.as_string_opt::<i32>().ok_or_else(|| wrong("they are no text".to_owned()))?;
    let mut ids = Vec::with_capacity(texts.len());
    for (row, text) in texts.iter().enumerate() {
        let text = text.ok_or_else(|| wrong(format!("row {row} (the first is 0) has none")))?;
        let id = id_of_content(text.as_bytes());
        names.entry(id).or_insert_with(|| text.to_owned());
        ids.push(id);
    }
    id_column(ids.into_iter())
}

impl Graph {
    /// Links all edges of a list, in one commit: batches with columns for both ends and the kind and,
    /// where there are any, `weight`, `valid_from` and `properties`.
    ///
    /// # Errors
    /// `InvalidData` for columns that are missing, unknown or of another type, and values that no edge
    /// can have; those of the batches; what a commit may fail with. Nothing is linked then.
    pub fn import_edges(
        &self,
        batches: impl Iterator<Item = Result<RecordBatch>>,
        list: &EdgeList,
        durability: Durability,
    ) -> Result<ImportedEdges> {
        let (mut edges, mut names): (Vec<Edge>, _) = (Vec::new(), BTreeMap::new());
        for batch in batches {
            add_edges(&list.standard(&batch?, &mut names)?, &mut edges)?;
        }
        let mut imported = ImportedEdges { edges: edges.len() as u64, ..ImportedEdges::default() };
        let changes = self.with_names(GraphChanges::new(), &names, &mut imported)?;
        imported.seq = self.change(&changes.link_many(edges), durability)?.seq;
        Ok(imported)
    }

    /// Puts the blocks of names that aren't there.
    pub(super) fn with_names<'a>(
        &self,
        mut changes: GraphChanges<'a>,
        names: &'a BTreeMap<BlockId, String>,
        imported: &mut ImportedEdges,
    ) -> Result<GraphChanges<'a>> {
        let view = self.view()?;
        for (id, name) in names {
            if !view.contains(*id)? {
                let content = name.as_bytes();
                let block =
                    NewBlock { id: Some(*id), is_text: true, content, ..NewBlock::default() };
                changes = changes.put(block);
                imported.blocks_put += 1;
            }
        }
        Ok(changes)
    }
}

//! Blocks: content with a version, where it came from, and what is said about it.

use std::sync::Arc;

use arrow_array::builder::{FixedSizeBinaryBuilder, LargeBinaryBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, StringArray, UInt32Array};
use arrow_buffer::Buffer;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use timestrata_engine::{Cell, Error, ErrorKind, Result, RowEncoder};
use timestrata_merkle::Hash;

use super::adjacency::BlockId;
use super::json::refuse_object;

/// Bytes of an id.
pub(super) const ID_BYTES: i32 = 16;

pub(super) mod column {
    pub(in super::super) const ID: usize = 0;
    pub(in super::super) const VERSION: usize = 1;
    pub(in super::super) const SOURCE_URI: usize = 2;
    pub(in super::super) const METADATA: usize = 3;
    pub(in super::super) const IS_TEXT: usize = 4;
    pub(in super::super) const CONTENT: usize = 5;
}

/// A block that is to be put.
///
/// ```
/// use timestrata_graph::{NewBlock, id_of_content};
///
/// let main = NewBlock {
///     source_uri: Some("src/main.rs"),
///     metadata: Some(r#"{"lines": 1}"#),
///     is_text: true,
///     content: b"fn main() {}",
///     ..NewBlock::default()
/// };
/// assert_eq!(main.id(), id_of_content(b"fn main() {}"));
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct NewBlock<'a> {
    /// Default: the first 16 bytes of the content's SHA-256.
    pub id: Option<BlockId>,
    /// Default: one more than that of the block that is there, 1 for a new one.
    pub version: Option<u32>,
    /// Where it came from.
    pub source_uri: Option<&'a str>,
    /// A JSON object, as text.
    pub metadata: Option<&'a str>,
    /// Whether the content is UTF-8 text.
    pub is_text: bool,
    /// What it holds.
    pub content: &'a [u8],
}

impl NewBlock<'_> {
    /// The id that it will have.
    #[must_use]
    pub fn id(&self) -> BlockId {
        self.id.unwrap_or_else(|| id_of_content(self.content))
    }

    /// # Errors
    /// `InvalidArgument` for metadata that is no JSON object, and text that is not UTF-8.
    pub(super) fn check(&self) -> Result<()> {
        let wrong = |what: String| {
            let message = format!("block {}: {what}", self.id());
            Err(Error::new(ErrorKind::InvalidArgument, message))
        };
        if let Some(metadata) = self.metadata
            && let Some(why) = refuse_object(metadata)
        {
            return wrong(format!("its metadata must be a JSON object: {why}"));
        }
        match std::str::from_utf8(self.content) {
            Err(error) if self.is_text => wrong(format!(
                "its content is said to be text, and is not UTF-8 at byte {}",
                error.valid_up_to()
            )),
            _ => Ok(()),
        }
    }
}

/// The id of a block that is given none: the first 16 bytes of its content's SHA-256.
#[must_use]
pub fn id_of_content(content: &[u8]) -> BlockId {
    let hash = Hash::of_bytes(content).0;
    BlockId::new(std::array::from_fn(|place| hash[place]))
}

/// A block of a graph. Cheap to clone: clones share what it holds.
///
/// ```
/// use timestrata_engine::{Durability, Settings, Store};
/// # use timestrata_graph::{Edge, Graph, GraphChanges, GraphOptions, NewBlock};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// # let code = Graph::create(&store, "code", &GraphOptions::default())?;
/// # let block = |content| NewBlock { is_text: true, content, ..NewBlock::default() };
/// # let (main, run) = (block(b"fn main() { run() }"), block(b"fn run() {}"));
/// # let call = Edge::new(main.id(), "calls", run.id());
/// # let changes = GraphChanges::new().put(main).put(run).link(call);
/// # code.change(&changes, Durability::Written)?;
/// // A block `main` has an edge to a block `run`, of the kind `calls`.
/// let block = code.view()?.get(run.id())?;
/// assert_eq!(block.as_ref().map(|block| block.content()), Some(&b"fn run() {}"[..]));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Block(Arc<BlockParts>);

#[derive(Debug)]
struct BlockParts {
    id: BlockId,
    version: u32,
    is_text: bool,
    source_uri: Option<Box<str>>,
    metadata: Option<Box<str>>,
    /// Where the engine has it, unless it is small and was read before.
    content: Buffer,
}

impl Block {
    /// The block in a row of the blocks' stream. Its content is not copied.
    ///
    /// # Errors
    /// `Corruption` for a row that has other columns.
    pub(super) fn of_row(rows: &RecordBatch, row: usize) -> Result<Self> {
        let parts = || {
            let column = |index: usize| rows.columns().get(index);
            let text = |index: usize| -> Option<Option<Box<str>>> {
                let texts = column(index)?.as_string_opt::<i32>()?;
                Some(texts.is_valid(row).then(|| texts.value(row).into()))
            };
            if row >= rows.num_rows() {
                return None;
            }
            let ids = column(column::ID)?.as_fixed_size_binary_opt()?;
            let versions = column(column::VERSION)?.as_primitive_opt::<UInt32Type>()?;
            let contents = column(column::CONTENT)?.as_binary_opt::<i64>()?;
            let start = usize::try_from(*contents.value_offsets().get(row)?).ok()?;
            let bytes = contents.value(row).len();
            Some(BlockParts {
                id: BlockId::new(ids.value(row).try_into().ok()?),
                version: versions.value(row),
                is_text: column(column::IS_TEXT)?.as_boolean_opt()?.value(row),
                source_uri: text(column::SOURCE_URI)?,
                metadata: text(column::METADATA)?,
                content: contents.values().slice_with_length(start, bytes),
            })
        };
        parts().map(|parts| Self(Arc::new(parts))).ok_or_else(|| {
            let message = "a row of a graph's blocks has other columns than a block";
            Error::new(ErrorKind::Corruption, message)
        })
    }

    /// A block that no store of this process has, such as one that was received. Its version is 1 unless it says another.
    #[must_use]
    pub fn new(block: &NewBlock<'_>) -> Self {
        Self(Arc::new(BlockParts {
            id: block.id(),
            version: block.version.unwrap_or(1),
            is_text: block.is_text,
            source_uri: block.source_uri.map(Into::into),
            metadata: block.metadata.map(Into::into),
            content: Buffer::from(block.content),
        }))
    }

    /// Copies the content out of where the engine has it.
    pub(super) fn own_content(&mut self) {
        if let Some(parts) = Arc::get_mut(&mut self.0) {
            parts.content = Buffer::from(parts.content.as_slice());
        }
    }

    /// The memory that its parts take.
    pub(super) fn bytes(&self) -> usize {
        let length = |text: &Option<Box<str>>| text.as_ref().map_or(0, |text| text.len());
        self.0.content.len() + length(&self.0.source_uri) + length(&self.0.metadata)
    }

    /// What it is known by.
    #[must_use]
    pub fn id(&self) -> BlockId {
        self.0.id
    }

    /// How often it was put, unless versions were given.
    #[must_use]
    pub fn version(&self) -> u32 {
        self.0.version
    }

    /// Where it came from.
    #[must_use]
    pub fn source_uri(&self) -> Option<&str> {
        self.0.source_uri.as_deref()
    }

    /// A JSON object, as text.
    #[must_use]
    pub fn metadata(&self) -> Option<&str> {
        self.0.metadata.as_deref()
    }

    /// Whether the content is UTF-8 text.
    #[must_use]
    pub fn is_text(&self) -> bool {
        self.0.is_text
    }

    /// What it holds.
    #[must_use]
    pub fn content(&self) -> &[u8] {
        &self.0.content
    }

    /// What it holds, as memory that others may keep: it is not copied.
    #[must_use]
    pub fn content_buffer(&self) -> Buffer {
        self.0.content.clone()
    }

    /// The block as one that is put with the version that it has.
    pub(super) fn as_new(&self) -> NewBlock<'_> {
        NewBlock {
            id: Some(self.id()),
            version: Some(self.version()),
            source_uri: self.source_uri(),
            metadata: self.metadata(),
            is_text: self.is_text(),
            content: self.content(),
        }
    }
}

/// The columns of blocks.
pub(super) fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("id", DataType::FixedSizeBinary(ID_BYTES), false),
        Field::new("version", DataType::UInt32, false),
        Field::new("source_uri", DataType::Utf8, true),
        Field::new("metadata", DataType::Utf8, true),
        Field::new("is_text", DataType::Boolean, false),
        Field::new("content", DataType::LargeBinary, false),
    ]))
}

/// The ids and versions of rows that have these columns and no others.
///
/// # Errors
/// `Corruption` for rows that have others.
pub(super) fn ids_and_versions(rows: &RecordBatch) -> Result<(&[[u8; 16]], &[u32])> {
    let parts = || {
        let [ids, versions] = rows.columns() else { return None };
        let (ids, rest) = ids.as_fixed_size_binary_opt()?.value_data().as_chunks();
        let versions = versions.as_primitive_opt::<UInt32Type>()?.values();
        (rest.is_empty() && ids.len() == versions.len()).then_some((ids, &**versions))
    };
    parts().ok_or_else(|| {
        let message = "rows of a graph's blocks have other ids and versions than blocks";
        Error::new(ErrorKind::Corruption, message)
    })
}

/// Ids as a column.
pub(super) fn id_column(ids: impl ExactSizeIterator<Item = BlockId>) -> Result<ArrayRef> {
    let mut column = FixedSizeBinaryBuilder::with_capacity(ids.len(), ID_BYTES);
    for id in ids {
        column.append_value(id.bytes()).map_err(|error| unmade(&error))?;
    }
    Ok(Arc::new(column.finish()))
}

/// Whether these blocks are better written as rows, one by one.
pub(super) fn are_rows(blocks: &[(NewBlock<'_>, u32)]) -> bool {
    RowEncoder::suits(blocks.len(), blocks.iter().map(|(block, _)| block.content.len()).sum())
}

/// A block as a row.
pub(super) fn cells<'c>(id: &'c BlockId, block: &NewBlock<'c>, version: u32) -> [Cell<'c>; 6] {
    let text = |text| Option::map_or(text, Cell::Null, Cell::Text);
    [
        Cell::Bytes(id.bytes()),
        Cell::UInt(version.into()),
        text(block.source_uri),
        text(block.metadata),
        Cell::Bool(block.is_text),
        Cell::Bytes(block.content),
    ]
}

/// Blocks as columns, each with its version.
pub(super) fn to_batch(blocks: &[(NewBlock<'_>, u32)]) -> Result<RecordBatch> {
    let each = || blocks.iter().map(|(block, _)| block);
    let bytes = each().map(|block| block.content.len()).sum();
    let mut contents = LargeBinaryBuilder::with_capacity(blocks.len(), bytes);
    each().for_each(|block| contents.append_value(block.content));
    let columns: Vec<ArrayRef> = vec![
        id_column(each().map(NewBlock::id))?,
        Arc::new(UInt32Array::from_iter_values(blocks.iter().map(|(_, version)| *version))),
        Arc::new(each().map(|block| block.source_uri).collect::<StringArray>()),
        Arc::new(each().map(|block| block.metadata).collect::<StringArray>()),
        Arc::new(BooleanArray::from_iter(each().map(|block| Some(block.is_text)))),
        Arc::new(contents.finish()),
    ];
    RecordBatch::try_new(schema(), columns).map_err(|error| unmade(&error))
}

/// Arrow refused columns that were made here.
pub(super) fn unmade(error: &ArrowError) -> Error {
    Error::new(ErrorKind::InvalidData, format!("the rows make no columns: {error}"))
}

/// Ids as keys of blocks.
pub(super) fn keys(ids: impl ExactSizeIterator<Item = BlockId>) -> Result<RecordBatch> {
    let schema = schema().project(&[column::ID]).map_err(|error| unmade(&error))?;
    RecordBatch::try_new(Arc::new(schema), vec![id_column(ids)?]).map_err(|error| unmade(&error))
}

/// Ids and versions as keys of earlier versions.
pub(super) fn version_keys(keys: &[(BlockId, u32)]) -> Result<RecordBatch> {
    let places = [column::ID, column::VERSION];
    let schema = schema().project(&places).map_err(|error| unmade(&error))?;
    let versions = UInt32Array::from_iter_values(keys.iter().map(|(_, version)| *version));
    let columns = vec![id_column(keys.iter().map(|(id, _)| *id))?, Arc::new(versions) as ArrayRef];
    RecordBatch::try_new(Arc::new(schema), columns).map_err(|error| unmade(&error))
}

//! The layout of a log: which fields have columns of their own, and how an entry becomes a row.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use timestrata_engine::{Cell, Stream};

use super::options::{COLUMNS_MAX, OWN_COLUMNS, OWN_NAMES};
use super::{NewEntry, Scalar};

/// The type of a field's column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum ColumnKind {
    Bool,
    Int,
    Float,
    Text,
}

impl ColumnKind {
    /// The kind of column that takes a value; `None` for whole numbers beyond `i64`, which stay
    /// with the other fields.
    pub(super) fn of(value: Scalar<'_>) -> Option<Self> {
        match value {
            Scalar::Bool(_) => Some(Self::Bool),
            Scalar::Int(_) => Some(Self::Int),
            Scalar::UInt(_) => None,
            Scalar::Float(_) => Some(Self::Float),
            Scalar::Text(_) => Some(Self::Text),
        }
    }

    fn data_type(self) -> DataType {
        match self {
            Self::Bool => DataType::Boolean,
            Self::Int => DataType::Int64,
            Self::Float => DataType::Float64,
            Self::Text => DataType::Utf8,
        }
    }

    fn of_type(data_type: &DataType) -> Option<Self> {
        [Self::Bool, Self::Int, Self::Float, Self::Text]
            .into_iter()
            .find(|kind| kind.data_type() == *data_type)
    }
}

/// A field that has a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Promoted {
    pub(super) name: String,
    pub(super) kind: ColumnKind,
    /// Its position among the stream's columns.
    pub(super) column: usize,
}

/// The columns of a log at one time.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    pub(super) stream: Arc<Stream>,
    pub(super) promoted: Vec<Promoted>,
}

/// Columns of most logs at most: a row of theirs is made in less memory than the widest would need.
const FEW_COLUMNS: usize = 24;

/// What a row borrows besides its entry; kept for the memory.
#[derive(Debug, Default)]
pub(super) struct RowMemory {
    rest: Vec<u8>,
    labels: String,
}

impl Layout {
    pub(super) fn new(stream: Arc<Stream>) -> Self {
        let fields = stream.schema().fields().iter().enumerate().skip(OWN_COLUMNS);
        let promoted = fields.filter_map(|(column, field)| {
            let kind = ColumnKind::of_type(field.data_type())?;
            Some(Promoted { name: field.name().clone(), kind, column })
        });
        Self { promoted: promoted.collect(), stream }
    }

    /// The column of a field, if it has one.
    pub(super) fn find(&self, name: &str) -> Option<&Promoted> {
        self.promoted.iter().find(|promoted| promoted.name == name)
    }

    /// The stream's columns, with more behind them.
    pub(super) fn schema_with(&self, more: &[(String, ColumnKind)]) -> SchemaRef {
        let mut fields = self.stream.schema().fields().to_vec();
        let new = more.iter().map(|(name, kind)| Field::new(name, kind.data_type(), true));
        fields.extend(new.map(Arc::new));
        Arc::new(Schema::new(fields))
    }

    /// Calls `take` with the row of an entry that arrives at `timestamp`: the cells of the columns that
    /// every log has, then those of fields.
    pub(super) fn with_row<T>(
        &self,
        timestamp: i64,
        entry: &NewEntry,
        memory: &mut RowMemory,
        take: impl FnOnce(&[Cell<'_>]) -> T,
    ) -> T {
        let columns = OWN_COLUMNS + self.promoted.len();
        let (mut few, mut many);
        let cells = if columns <= FEW_COLUMNS {
            few = [Cell::Null; FEW_COLUMNS];
            few.get_mut(..columns)
        } else {
            many = [Cell::Null; OWN_COLUMNS + COLUMNS_MAX];
            many.get_mut(..columns)
        };
        let cells = cells.unwrap_or_default();
        self.fill(cells, timestamp, entry, memory);
        take(cells)
    }

    fn fill<'a>(
        &self,
        cells: &mut [Cell<'a>],
        timestamp: i64,
        entry: &'a NewEntry,
        RowMemory { rest, labels }: &'a mut RowMemory,
    ) {
        let Some((own, fields)) = cells.split_first_chunk_mut::<OWN_COLUMNS>() else { return };
        rest.clear();
        let mut guess = 0;
        entry.fields.write_map(rest, |name, item| {
            let Some(index) = self.place(name, guess) else { return false };
            guess = index + 1;
            let cell = self.promoted.get(index).and_then(|known| known.kind.cell(item));
            match (cell, fields.get_mut(index)) {
                (Some(cell), Some(slot)) => {
                    *slot = cell;
                    true
                }
                _ => false,
            }
        });
        labels.clear();
        if !entry.labels.is_empty() {
            entry.labels.write(labels);
        }
        let or_null = |cell: Cell<'a>, is_there: bool| if is_there { cell } else { Cell::Null };
        *own = [
            Cell::Int(timestamp),
            entry.source_time.map_or(Cell::Null, Cell::Int),
            entry.level.map_or(Cell::Null, |level| Cell::Int(level.severity().into())),
            Cell::Text(&entry.message),
            or_null(Cell::Text(labels), !labels.is_empty()),
            or_null(Cell::Bytes(rest), !rest.is_empty()),
        ];
    }

    /// Where a field's column is among those of fields. Fields mostly come in the order of the
    /// entry before, so that one comparison finds most.
    fn place(&self, name: &[u8], guess: usize) -> Option<usize> {
        let is_it = |promoted: &Promoted| promoted.name.as_bytes() == name;
        if self.promoted.get(guess).is_some_and(is_it) {
            return Some(guess);
        }
        self.promoted.iter().position(is_it)
    }
}

impl ColumnKind {
    /// A field's value as the cell of its column; `None` where it is of another kind.
    fn cell(self, item: &[u8]) -> Option<Cell<'_>> {
        match (self, Scalar::of_item(item)?) {
            (Self::Bool, Scalar::Bool(value)) => Some(Cell::Bool(value)),
            (Self::Int, Scalar::Int(value)) => Some(Cell::Int(value)),
            (Self::Float, Scalar::Float(value)) => Some(Cell::Float(value)),
            (Self::Text, Scalar::Text(value)) => Some(Cell::Text(value)),
            _ => None,
        }
    }
}

/// Whether a field may have a column: its name is none of the log's own, nor one that the store keeps
/// for itself.
pub(super) fn may_have_column(name: &str) -> bool {
    !name.is_empty() && name.len() <= 128 && !name.starts_with("__") && !OWN_NAMES.contains(&name)
}

//! Builders of single columns: cells in, an Arrow array out, without an allocation a cell.

use std::mem;

use arrow_array::{ArrayRef, make_array, new_null_array};
use arrow_buffer::{ArrowNativeType, BooleanBufferBuilder, Buffer, NullBufferBuilder};
use arrow_data::ArrayData;
use arrow_schema::{DataType, Field};

use crate::Cell;
use crate::cell::CellKind;

/// One column of rows not yet sealed.
#[derive(Debug)]
pub(super) struct ColumnBuilder {
    data_type: DataType,
    values: ColumnValues,
    /// Only where the column is nullable.
    nulls: Option<NullBufferBuilder>,
    rows: usize,
}

#[derive(Debug)]
enum ColumnValues {
    Bool(BooleanBufferBuilder),
    I8(Vec<i8>),
    I16(Vec<i16>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    U8(Vec<u8>),
    U16(Vec<u16>),
    U32(Vec<u32>),
    U64(Vec<u64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    Fixed {
        width: usize,
        bytes: Vec<u8>,
    },
    Short {
        ends: Vec<i32>,
        bytes: Vec<u8>,
    },
    Long {
        ends: Vec<i64>,
        bytes: Vec<u8>,
    },
    /// Of a type that cells can't express, where every row has none.
    Nothing,
}

/// Runs `$body` with `$vec` bound to the values of any number type.
macro_rules! with_numbers {
    ($values:expr, $vec:ident => $body:expr, $($other:tt)+) => {
        match $values {
            ColumnValues::I8($vec) => $body,
            ColumnValues::I16($vec) => $body,
            ColumnValues::I32($vec) => $body,
            ColumnValues::I64($vec) => $body,
            ColumnValues::U8($vec) => $body,
            ColumnValues::U16($vec) => $body,
            ColumnValues::U32($vec) => $body,
            ColumnValues::U64($vec) => $body,
            ColumnValues::F32($vec) => $body,
            ColumnValues::F64($vec) => $body,
            $($other)+
        }
    };
}

impl ColumnValues {
    fn new(kind: CellKind, data_type: &DataType) -> Self {
        let is_long = matches!(data_type, DataType::LargeBinary | DataType::LargeUtf8);
        match kind {
            CellKind::Bool => Self::Bool(BooleanBufferBuilder::new(0)),
            CellKind::Int8 => Self::I8(Vec::new()),
            CellKind::Int16 => Self::I16(Vec::new()),
            CellKind::Int32 => Self::I32(Vec::new()),
            CellKind::Int64 => Self::I64(Vec::new()),
            CellKind::UInt8 => Self::U8(Vec::new()),
            CellKind::UInt16 => Self::U16(Vec::new()),
            CellKind::UInt32 => Self::U32(Vec::new()),
            CellKind::UInt64 => Self::U64(Vec::new()),
            CellKind::Float32 => Self::F32(Vec::new()),
            CellKind::Float64 => Self::F64(Vec::new()),
            CellKind::FixedBytes(width) => Self::Fixed { width, bytes: Vec::new() },
            CellKind::Bytes | CellKind::Text if is_long => {
                Self::Long { ends: Vec::new(), bytes: Vec::new() }
            }
            CellKind::Bytes | CellKind::Text => Self::Short { ends: Vec::new(), bytes: Vec::new() },
            CellKind::Nothing => Self::Nothing,
        }
    }
}

impl ColumnBuilder {
    /// `None` for columns of which no [`Cell`] can be.
    pub(super) fn new(field: &Field) -> Option<Self> {
        let data_type = field.data_type().clone();
        let values = ColumnValues::new(CellKind::of_field(field)?, &data_type);
        let nulls = field.is_nullable().then(|| NullBufferBuilder::new(0));
        Some(Self { data_type, values, nulls, rows: 0 })
    }

    /// Appends a cell that `check_row` has accepted; gives the bytes of variable width it took.
    #[inline]
    pub(super) fn append(&mut self, cell: Cell<'_>) -> usize {
        let mut variable_bytes = 0;
        match (&mut self.values, cell) {
            (ColumnValues::I64(values), Cell::Int(value)) => values.push(value),
            (ColumnValues::Short { ends, bytes }, Cell::Bytes(value)) => {
                variable_bytes = append_variable(ends, bytes, value);
            }
            (ColumnValues::Short { ends, bytes }, Cell::Text(value)) => {
                variable_bytes = append_variable(ends, bytes, value.as_bytes());
            }
            (ColumnValues::F64(values), Cell::Float(value)) => values.push(value),
            (ColumnValues::U64(values), Cell::UInt(value)) => values.push(value),
            (ColumnValues::Fixed { bytes, .. }, Cell::Bytes(value)) => {
                bytes.extend_from_slice(value)
            }
            (ColumnValues::Bool(values), Cell::Bool(value)) => values.append(value),
            (ColumnValues::I32(values), Cell::Int(value)) => values.push(value as i32),
            (ColumnValues::I16(values), Cell::Int(value)) => values.push(value as i16),
            (ColumnValues::I8(values), Cell::Int(value)) => values.push(value as i8),
            (ColumnValues::U32(values), Cell::UInt(value)) => values.push(value as u32),
            (ColumnValues::U16(values), Cell::UInt(value)) => values.push(value as u16),
            (ColumnValues::U8(values), Cell::UInt(value)) => values.push(value as u8),
            (ColumnValues::F32(values), Cell::Float(value)) => values.push(value as f32),
            (ColumnValues::Long { ends, bytes }, Cell::Bytes(value)) => {
                variable_bytes = append_variable(ends, bytes, value);
            }
            (ColumnValues::Long { ends, bytes }, Cell::Text(value)) => {
                variable_bytes = append_variable(ends, bytes, value.as_bytes());
            }
            (_, Cell::Null) => return self.append_null(),
            (_, cell) => panic!("{cell:?} was appended to a column of type {}", self.data_type),
        }
        self.rows += 1;
        if let Some(nulls) = &mut self.nulls {
            nulls.append_non_null();
        }
        variable_bytes
    }

    fn append_null(&mut self) -> usize {
        with_numbers!(&mut self.values, values => values.push(Default::default()),
            ColumnValues::Bool(values) => values.append(false),
            ColumnValues::Fixed { width, bytes } => bytes.resize(bytes.len() + *width, 0),
            ColumnValues::Short { ends, bytes } => ends.push(bytes.len() as i32),
            ColumnValues::Long { ends, bytes } => ends.push(bytes.len() as i64),
            ColumnValues::Nothing => {}
        );
        self.rows += 1;
        match &mut self.nulls {
            Some(nulls) => nulls.append_null(),
            None => panic!("a null was appended to a column that takes none"),
        }
        0
    }

    /// The last row's value; texts come as bytes. Only where there is a row without null.
    pub(super) fn last_cell(&self) -> Cell<'_> {
        fn last<T: Copy>(values: &[T]) -> T {
            values[values.len() - 1]
        }
        fn tail<'a, T: ArrowNativeType>(ends: &[T], bytes: &'a [u8]) -> Cell<'a> {
            let start = ends.len().checked_sub(2).map_or(0, |index| ends[index].as_usize());
            Cell::Bytes(&bytes[start..])
        }
        match &self.values {
            ColumnValues::Bool(values) => Cell::Bool(values.get_bit(self.rows - 1)),
            ColumnValues::I8(values) => Cell::Int(last(values).into()),
            ColumnValues::I16(values) => Cell::Int(last(values).into()),
            ColumnValues::I32(values) => Cell::Int(last(values).into()),
            ColumnValues::I64(values) => Cell::Int(last(values)),
            ColumnValues::U8(values) => Cell::UInt(last(values).into()),
            ColumnValues::U16(values) => Cell::UInt(last(values).into()),
            ColumnValues::U32(values) => Cell::UInt(last(values).into()),
            ColumnValues::U64(values) => Cell::UInt(last(values)),
            ColumnValues::F32(values) => Cell::Float(last(values).into()),
            ColumnValues::F64(values) => Cell::Float(last(values)),
            ColumnValues::Fixed { width, bytes } => Cell::Bytes(&bytes[bytes.len() - width..]),
            ColumnValues::Short { ends, bytes } => tail(ends, bytes),
            ColumnValues::Long { ends, bytes } => tail(ends, bytes),
            ColumnValues::Nothing => Cell::Null,
        }
    }

    /// The rows so far as an array; the builder is empty afterwards. With `keep` the array is
    /// an exact copy and the builder keeps its buffers for the rows to come.
    pub(super) fn finish(&mut self, keep: bool) -> ArrayRef {
        let rows = mem::take(&mut self.rows);
        let nulls = self.nulls.as_mut().and_then(NullBufferBuilder::finish);
        if matches!(self.values, ColumnValues::Nothing) {
            return new_null_array(&self.data_type, rows);
        }
        let mut data = ArrayData::builder(self.data_type.clone()).len(rows).nulls(nulls);
        data = with_numbers!(&mut self.values, values => data.add_buffer(finished(values, keep)),
            ColumnValues::Bool(values) => data.add_buffer(values.finish().into_inner()),
            ColumnValues::Fixed { bytes, .. } => data.add_buffer(finished(bytes, keep)),
            ColumnValues::Short { ends, bytes } => {
                data.add_buffer(offsets(ends, keep)).add_buffer(finished(bytes, keep))
            }
            ColumnValues::Long { ends, bytes } => {
                data.add_buffer(offsets(ends, keep)).add_buffer(finished(bytes, keep))
            }
            ColumnValues::Nothing => data
        );
        #[expect(clippy::expect_used, reason = "the buffers were filled above, to their type")]
        let data = data.build().expect("a column builder's buffers fit its type");
        make_array(data)
    }

    /// Makes room for as many rows and bytes as a full builder had.
    pub(super) fn reserve(&mut self, rows: usize, variable_bytes: usize) {
        with_numbers!(&mut self.values, values => values.reserve(rows),
            ColumnValues::Bool(values) => values.reserve(rows),
            ColumnValues::Fixed { width, bytes } => bytes.reserve(rows * *width),
            ColumnValues::Short { ends, bytes } => {
                ends.reserve(rows);
                bytes.reserve(variable_bytes);
            }
            ColumnValues::Long { ends, bytes } => {
                ends.reserve(rows);
                bytes.reserve(variable_bytes);
            }
            ColumnValues::Nothing => {}
        );
    }

    /// Bytes of all values of variable width.
    pub(super) fn variable_bytes(&self) -> usize {
        match &self.values {
            ColumnValues::Short { bytes, .. } | ColumnValues::Long { bytes, .. } => bytes.len(),
            _ => 0,
        }
    }

    /// Memory held, in bytes.
    pub(super) fn bytes(&self) -> usize {
        fn held<T>(values: &Vec<T>) -> usize {
            values.capacity() * size_of::<T>()
        }
        let nulls = self.nulls.as_ref().map_or(0, NullBufferBuilder::allocated_size);
        let values = with_numbers!(&self.values, values => held(values),
            ColumnValues::Bool(values) => values.capacity() / 8,
            ColumnValues::Fixed { bytes, .. } => held(bytes),
            ColumnValues::Short { ends, bytes } => held(ends) + held(bytes),
            ColumnValues::Long { ends, bytes } => held(ends) + held(bytes),
            ColumnValues::Nothing => 0,
        );
        nulls + values
    }

    /// Bytes a row takes, without what is of variable width.
    pub(super) fn row_bytes(&self) -> usize {
        fn width<T>(_: &[T]) -> usize {
            size_of::<T>()
        }
        with_numbers!(&self.values, values => width(values),
            ColumnValues::Bool(_) => 1,
            ColumnValues::Fixed { width, .. } => *width,
            ColumnValues::Short { .. } => size_of::<i32>(),
            ColumnValues::Long { .. } => size_of::<i64>(),
            ColumnValues::Nothing => size_of::<i32>(),
        )
    }
}

#[inline]
fn append_variable<T: ArrowNativeType>(
    ends: &mut Vec<T>,
    bytes: &mut Vec<u8>,
    value: &[u8],
) -> usize {
    bytes.extend_from_slice(value);
    // Sealed long before the end of i32, and no single cell is that large.
    ends.push(T::usize_as(bytes.len()));
    value.len()
}

fn finished<T: ArrowNativeType>(values: &mut Vec<T>, keep: bool) -> Buffer {
    if keep {
        let copy = Buffer::from_vec(values.as_slice().to_vec());
        values.clear();
        return copy;
    }
    let mut values = mem::take(values);
    if values.capacity() > values.len() + values.len() / 8 {
        values.shrink_to_fit();
    }
    Buffer::from_vec(values)
}

/// Arrow's offsets are the ends with a zero before them.
fn offsets<T: ArrowNativeType>(ends: &mut Vec<T>, keep: bool) -> Buffer {
    let mut offsets = Vec::with_capacity(ends.len() + 1);
    offsets.push(T::default());
    offsets.extend_from_slice(ends);
    if keep {
        ends.clear();
    } else {
        *ends = Vec::new();
    }
    Buffer::from_vec(offsets)
}

//! Columns that rows are grouped by, as numbers.

use std::sync::Arc;

use datafusion::arrow::array::cast::AsArray;
use datafusion::arrow::array::types::{
    ArrowPrimitiveType, Int8Type, Int16Type, Int32Type, Int64Type,
};
use datafusion::arrow::array::{Array, ArrayRef, PrimitiveArray, UInt64Array, make_array};
use datafusion::arrow::compute::take;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, internal_datafusion_err};

use timestrata_engine::ids::{Ids, number_each, number_pairs};

use super::texts::Texts;

/// A pair of numbers has the second one in these bits.
const LOW_BITS: u32 = u32::BITS;

/// The groups of rows, by the values of some columns; by none: one group, once there is a row.
#[derive(Debug, Default)]
pub(in crate::physical_plan) struct Groups {
    columns: Vec<Column>,
    /// What numbers of the columns go together: the first two columns, their pairs and the third, and
    /// so on.
    pairs: Vec<Ids<u64>>,
    /// Numbers of the column that is being added.
    scratch: Vec<usize>,
    has_rows: bool,
}

impl Groups {
    /// Groups by columns of these types; `None` if there is none, or one of a type that isn't numbered.
    pub(in crate::physical_plan) fn by(types: &[DataType]) -> Option<Self> {
        let columns: Vec<Column> = types.iter().map(Column::of).collect::<Option<_>>()?;
        let pairs = columns.iter().skip(1).map(|_| Ids::default()).collect();
        (!columns.is_empty()).then_some(Self { columns, pairs, ..Self::default() })
    }

    pub(in crate::physical_plan) fn len(&self) -> usize {
        match (self.pairs.last(), self.columns.first()) {
            (Some(pairs), _) => pairs.len(),
            (None, Some(column)) => column.len(),
            (None, None) => usize::from(self.has_rows),
        }
    }

    /// Puts the number of the group of each of so many rows into `numbers`. The columns have the types that were told.
    pub(super) fn number_rows(
        &mut self,
        columns: &[ArrayRef],
        rows: usize,
        numbers: &mut Vec<usize>,
    ) -> Result<()> {
        if !self.columns.is_empty() {
            return self.number(columns, numbers);
        }
        self.has_rows |= rows > 0;
        numbers.clear();
        numbers.resize(rows, 0);
        Ok(())
    }

    /// The same where there is a column.
    pub(in crate::physical_plan) fn number(
        &mut self,
        columns: &[ArrayRef],
        numbers: &mut Vec<usize>,
    ) -> Result<()> {
        let mut each = self.columns.iter_mut().zip(columns);
        numbers.clear();
        if let Some((first, array)) = each.next() {
            first.number(array, numbers)?;
        }
        for ((column, array), pairs) in each.zip(&mut self.pairs) {
            self.scratch.clear();
            column.number(array, &mut self.scratch)?;
            number_pairs(numbers, &self.scratch, |one, other| pairs.of(pair(one, other)));
        }
        Ok(())
    }

    /// The columns, a row a group in the order of their numbers; then there is no group any more.
    pub(super) fn take(&mut self) -> Result<Vec<ArrayRef>> {
        self.has_rows = false;
        let mut taken: Vec<ArrayRef> = Vec::with_capacity(self.columns.len());
        let mut each = self.columns.iter_mut();
        taken.extend(each.next().map(Column::take).transpose()?);
        for (column, pairs) in each.zip(&mut self.pairs) {
            // No pair is "no value", so none is left out.
            let (left, right): (Vec<u64>, Vec<u64>) =
                pairs.take().flatten().map(|pair| (pair >> LOW_BITS, low(pair))).unzip();
            let left = UInt64Array::from(left);
            for known in &mut taken {
                *known = take(known, &left, None)?;
            }
            taken.push(take(&column.take()?, &UInt64Array::from(right), None)?);
        }
        Ok(taken)
    }

    /// Bytes in memory.
    pub(super) fn size(&self) -> usize {
        self.columns.iter().map(Column::size).sum::<usize>()
            + self.pairs.iter().map(Ids::size).sum::<usize>()
            + self.scratch.capacity() * size_of::<usize>()
    }
}

/// Two numbers in one. None comes near 2^32: groups are given on long before.
fn pair(left: usize, right: usize) -> u64 {
    (left as u64) << LOW_BITS | right as u64
}

fn low(pair: u64) -> u64 {
    pair & u64::from(u32::MAX)
}

/// The values of one column.
#[derive(Debug)]
enum Column {
    /// Whole numbers, times, dates.
    Fixed {
        data_type: DataType,
        ids: Ids<u64>,
    },
    Text(Texts),
}

impl Column {
    fn of(data_type: &DataType) -> Option<Self> {
        match data_type {
            DataType::Utf8View => Some(Self::Text(Texts::default())),
            _ if width(data_type).is_some() => {
                Some(Self::Fixed { data_type: data_type.clone(), ids: Ids::default() })
            }
            _ => None,
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Fixed { ids, .. } => ids.len(),
            Self::Text(texts) => texts.len(),
        }
    }

    fn number(&mut self, array: &ArrayRef, numbers: &mut Vec<usize>) -> Result<()> {
        let other = || internal_datafusion_err!("groups of another type: {}", array.data_type());
        match self {
            Self::Fixed { data_type, ids } => {
                let width = width(data_type).filter(|_| array.data_type() == data_type);
                let plain = as_plain(array, &width.ok_or_else(other)?)?;
                match plain.data_type() {
                    DataType::Int8 => number_fixed::<Int8Type>(&plain, ids, numbers),
                    DataType::Int16 => number_fixed::<Int16Type>(&plain, ids, numbers),
                    DataType::Int32 => number_fixed::<Int32Type>(&plain, ids, numbers),
                    _ => number_fixed::<Int64Type>(&plain, ids, numbers),
                }
            }
            Self::Text(texts) => match array.as_string_view_opt() {
                Some(views) => texts.number(views, numbers),
                None => {
                    let coded = array.as_dictionary_opt::<Int32Type>().ok_or_else(other)?;
                    texts.number_coded(coded, numbers)?;
                }
            },
        }
        Ok(())
    }

    fn take(&mut self) -> Result<ArrayRef> {
        let (data_type, ids) = match self {
            Self::Fixed { data_type, ids } => (data_type, ids),
            Self::Text(texts) => return Ok(texts.take()),
        };
        let plain: ArrayRef = match width(data_type) {
            Some(DataType::Int8) => taken::<Int8Type>(ids, |bits| bits as i8),
            Some(DataType::Int16) => taken::<Int16Type>(ids, |bits| bits as i16),
            Some(DataType::Int32) => taken::<Int32Type>(ids, |bits| bits as i32),
            _ => taken::<Int64Type>(ids, |bits| bits as i64),
        };
        as_plain(&plain, data_type)
    }

    fn size(&self) -> usize {
        match self {
            Self::Fixed { ids, .. } => ids.size(),
            Self::Text(texts) => texts.size(),
        }
    }
}

/// The plain numbers that values of a type are, where equal values have equal bits and no others.
fn width(data_type: &DataType) -> Option<DataType> {
    let is_whole = data_type.is_integer() || data_type.is_temporal();
    let width = data_type.primitive_width().filter(|_| is_whole)?;
    match width {
        1 => Some(DataType::Int8),
        2 => Some(DataType::Int16),
        4 => Some(DataType::Int32),
        8 => Some(DataType::Int64),
        _ => None,
    }
}

/// The same bits as values of a type of the same width.
fn as_plain(array: &ArrayRef, data_type: &DataType) -> Result<ArrayRef> {
    if array.data_type() == data_type {
        return Ok(Arc::clone(array));
    }
    let data = array.to_data().into_builder().data_type(data_type.clone());
    Ok(make_array(data.build()?))
}

fn number_fixed<T: ArrowPrimitiveType>(
    array: &ArrayRef,
    ids: &mut Ids<u64>,
    numbers: &mut Vec<usize>,
) where
    T::Native: Into<i64>,
{
    let array = array.as_primitive::<T>();
    let bits = |value: T::Native| {
        let value: i64 = value.into();
        value as u64
    };
    match array.nulls().filter(|nulls| nulls.null_count() > 0) {
        None => number_each(array.values(), numbers, |value| ids.of(bits(value))),
        Some(_) => numbers.extend(array.iter().map(|value| match value {
            Some(value) => ids.of(bits(value)),
            None => ids.of_null(),
        })),
    }
}

fn taken<T: ArrowPrimitiveType>(ids: &mut Ids<u64>, value: impl Fn(u64) -> T::Native) -> ArrayRef {
    let values = ids.take().map(|bits| bits.map(&value));
    Arc::new(values.collect::<PrimitiveArray<T>>())
}

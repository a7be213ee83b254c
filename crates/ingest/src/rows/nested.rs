//! Lists and groups of text to lists and groups of typed values.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ListArray, StructArray};
use arrow_schema::DataType;

use super::convert::{Column, Converted, NullText, cells_of};

/// Converts an array whose scalars are text. Positions of what does not fit are those of rows.
pub(super) fn convert(
    array: &ArrayRef,
    column: &Column,
    nulls: &NullText,
    is_first_enough: bool,
) -> Converted {
    let inner = |data_type: &DataType| Column {
        data_type: data_type.clone(),
        is_required: false,
        ..column.clone()
    };
    match (array.data_type(), &column.data_type) {
        (DataType::List(_), DataType::List(item)) => {
            let list = array.as_list::<i32>();
            let of_items = inner(item.data_type());
            let mut items = convert(list.values(), &of_items, nulls, is_first_enough);
            for bad in &mut items.bad {
                let item = i32::try_from(bad.at).unwrap_or(i32::MAX);
                bad.at = list.offsets().partition_point(|start| *start <= item).saturating_sub(1);
            }
            let (offsets, validity) = (list.offsets().clone(), list.nulls().cloned());
            let made = ListArray::try_new(Arc::clone(item), offsets, items.array, validity);
            made_or_empty(made, array, column, items.bad)
        }
        (DataType::Struct(_), DataType::Struct(fields)) => {
            let group = array.as_struct();
            let mut bad = Vec::new();
            let parts = fields.iter().map(|field| {
                let part = group.column_by_name(field.name())?;
                let part = convert(part, &inner(field.data_type()), nulls, is_first_enough);
                bad.extend(part.bad);
                Some(part.array)
            });
            let parts: Option<Vec<ArrayRef>> = parts.collect();
            let validity = group.nulls().cloned();
            let made = StructArray::try_new(fields.clone(), parts.unwrap_or_default(), validity);
            made_or_empty(made, array, column, bad)
        }
        _ => match cells_of(array) {
            Some(cells) => column.convert(cells, nulls, is_first_enough),
            None => Converted { array: Arc::clone(array), bad: Vec::new() },
        },
    }
}

/// An array that was put together; where its parts were cut short by what does not fit, one of
/// nulls, which nobody will look at.
fn made_or_empty<A: Array + 'static, E>(
    made: Result<A, E>,
    array: &ArrayRef,
    column: &Column,
    bad: Vec<super::convert::BadCell>,
) -> Converted {
    let array: ArrayRef = match made {
        Ok(made) => Arc::new(made),
        Err(_) => arrow_array::new_null_array(&column.data_type, array.len()),
    };
    Converted { array, bad }
}

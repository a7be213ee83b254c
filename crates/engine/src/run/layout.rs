//! How a column's Arrow type lies in an IPC message: field nodes and buffers, in order.

use std::ops::Range;

use arrow_schema::{DataType, Field, IntervalUnit, Schema};

use crate::{Error, ErrorKind, Result};

/// Field nodes and buffers of one column in a record batch message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ColumnLayout {
    pub(super) nodes: Range<usize>,
    pub(super) buffers: Range<usize>,
}

/// The layout of each column of a schema, whose types are all supported.
pub(super) fn column_layouts(schema: &Schema) -> Vec<ColumnLayout> {
    let (mut node, mut buffer) = (0, 0);
    let mut layouts = Vec::with_capacity(schema.fields().len());
    for field in schema.fields() {
        let (first_node, first_buffer) = (node, buffer);
        skip_field(field, &mut node, &mut buffer);
        layouts.push(ColumnLayout { nodes: first_node..node, buffers: first_buffer..buffer });
    }
    layouts
}

/// Goes on behind the nodes and buffers of a field.
pub(super) fn skip_field(field: &Field, nodes: &mut usize, buffers: &mut usize) {
    *nodes += 1;
    let layout = arrow_data::layout(field.data_type());
    *buffers += usize::from(layout.can_contain_null_mask) + layout.buffers.len();
    for child in children(field.data_type()) {
        skip_field(child, nodes, buffers);
    }
}

/// What a nested type is made of.
pub(crate) fn children(data_type: &DataType) -> &[std::sync::Arc<Field>] {
    match data_type {
        DataType::Struct(fields) => fields,
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _) => std::slice::from_ref(field),
        _ => &[],
    }
}

/// Refuses schemas with column types that a run can't hold in both file formats: views,
/// dictionaries, unions, run-end encoding, intervals of month, day and nanosecond,
/// and decimals of a negative scale.
///
/// # Errors
/// `InvalidArgument` naming the column and its type.
pub(crate) fn check_column_types(schema: &Schema) -> Result<()> {
    for field in schema.fields() {
        if let Some(inner) = unsupported(field) {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                format!("column '{}': type {} is not supported", field.name(), inner.data_type()),
            ));
        }
    }
    Ok(())
}

/// The field itself, or one inside it, whose type runs can't hold.
fn unsupported(field: &Field) -> Option<&Field> {
    let supported = match field.data_type() {
        DataType::Utf8View
        | DataType::BinaryView
        | DataType::ListView(_)
        | DataType::LargeListView(_)
        | DataType::Dictionary(_, _)
        | DataType::Union(_, _)
        | DataType::RunEndEncoded(_, _)
        | DataType::Interval(IntervalUnit::MonthDayNano) => false,
        // What Parquet doesn't know: numbers with zeros cut off, groups without members.
        DataType::Decimal32(_, scale)
        | DataType::Decimal64(_, scale)
        | DataType::Decimal128(_, scale)
        | DataType::Decimal256(_, scale) => *scale >= 0,
        DataType::Struct(fields) => !fields.is_empty(),
        DataType::FixedSizeBinary(width) | DataType::FixedSizeList(_, width) => *width > 0,
        _ => true,
    };
    if !supported {
        return Some(field);
    }
    children(field.data_type()).iter().find_map(|child| unsupported(child))
}

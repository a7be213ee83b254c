//! Text as it is handed out, of views as it is worked with.
//!
//! The same as a cast, which appends value by value to a builder: short texts, which lie in their views, are copied
//! as if all had the greatest length of these, one store each. Measured: answers of ten tags a row spent a tenth of
//! their time in the cast.

use std::sync::Arc;

use datafusion::arrow::array::cast::AsArray;
use datafusion::arrow::array::{Array, ArrayRef, RecordBatch, StringArray, StringViewArray};
use datafusion::arrow::buffer::{OffsetBuffer, ScalarBuffer};
use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::common::Result;
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::cast;

use super::wrapped_expr::{Evaluation, WrappedExpr};

/// Text up to this length is within its view, behind its length.
const INLINE_BYTES: usize = 12;
const LENGTH_BYTES: usize = 4;

/// A column as a type that it can be cast to.
///
/// # Errors
/// For a type that the column can't be cast to.
pub(crate) fn plain_text(
    column: Arc<dyn PhysicalExpr>,
    schema: &Schema,
    data_type: DataType,
) -> Result<Arc<dyn PhysicalExpr>> {
    let is_text = data_type == DataType::Utf8 && column.data_type(schema)? == DataType::Utf8View;
    let cast = cast(Arc::clone(&column), schema, data_type)?;
    Ok(match is_text {
        true => Arc::new(WrappedExpr { inner: cast, evaluation: PlainText }),
        false => cast,
    })
}

/// Evaluates a cast of views to text.
#[derive(Debug, Clone, PartialEq)]
struct PlainText;

impl Evaluation for PlainText {
    fn evaluate(&self, inner: &dyn PhysicalExpr, batch: &RecordBatch) -> Result<ColumnarValue> {
        if let [views] = inner.children().as_slice()
            && let ColumnarValue::Array(views) = views.evaluate(batch)?
            && let Some(text) = views.as_string_view_opt().and_then(text_of)
        {
            return Ok(ColumnarValue::Array(text));
        }
        inner.evaluate(batch)
    }
}

/// The texts; `None` where they have more bytes than 32-bit offsets reach.
fn text_of(views: &StringViewArray) -> Option<ArrayRef> {
    let nulls = views.nulls().filter(|nulls| nulls.null_count() > 0);
    let mut bytes: Vec<u8> = Vec::with_capacity(views.len() * INLINE_BYTES);
    let mut ends: Vec<i32> = Vec::with_capacity(views.len() + 1);
    ends.push(0);
    for (row, view) in views.views().iter().enumerate() {
        if nulls.is_none_or(|nulls| nulls.is_valid(row)) {
            let (length, start) = (*view as u32 as usize, bytes.len());
            if length <= INLINE_BYTES {
                let view = view.to_le_bytes();
                bytes.extend_from_slice(view.get(LENGTH_BYTES..).unwrap_or_default());
                bytes.truncate(start + length);
            } else {
                bytes.extend_from_slice(views.value(row).as_bytes());
            }
        }
        ends.push(i32::try_from(bytes.len()).ok()?);
    }
    let ends = OffsetBuffer::new(ScalarBuffer::from(ends));
    let texts = StringArray::try_new(ends, bytes.into(), views.nulls().cloned());
    texts.ok().map(|texts| Arc::new(texts) as ArrayRef)
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::compute::cast;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn texts_are_those_of_a_cast(
            texts in prop::collection::vec(prop::option::of("[a-cäé]{0,4}|[x-zß]{9,20}"), 0..50),
            start in 0..10_usize,
        ) {
            let views = StringViewArray::from_iter(texts);
            let views = views.slice(start.min(views.len()), views.len().saturating_sub(start));
            let expected = cast(&views, &DataType::Utf8).unwrap();
            prop_assert_eq!(&text_of(&views).unwrap(), &expected);
        }
    }
}

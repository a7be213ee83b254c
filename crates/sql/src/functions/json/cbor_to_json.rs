//! `cbor_to_json(value)`: the JSON text of a CBOR item (RFC 8949, 6.1); null for bytes that are none.

use std::sync::Arc;

use datafusion::arrow::array::builder::StringViewBuilder;
use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::{ColumnarValue, ScalarUDF, Signature, SimpleScalarUDF, Volatility};
use timestrata_values::cbor::write_json;

use crate::functions::map_values;

/// The function.
pub(super) fn function() -> ScalarUDF {
    let signature = Signature::uniform(1, vec![DataType::Binary], Volatility::Immutable);
    let call = |args: &[ColumnarValue]| match args {
        [given] => map_values(given, json_texts),
        _ => internal_err!("cbor_to_json is called with one value"),
    };
    let (name, gives) = ("cbor_to_json", DataType::Utf8View);
    SimpleScalarUDF::new_with_signature(name, signature, gives, Arc::new(call)).into()
}

/// The JSON text of each CBOR item of a column.
pub(crate) fn json_texts(items: &ArrayRef) -> Result<ArrayRef> {
    let Some(items) = items.as_binary_opt::<i32>() else {
        return internal_err!("CBOR is bytes, and not {}", items.data_type());
    };
    let mut texts = StringViewBuilder::with_capacity(items.len());
    let mut json = String::new();
    for item in items {
        json.clear();
        match item.map(|item| write_json(item, &mut json)) {
            Some(Ok(())) => texts.append_value(&json),
            _ => texts.append_null(),
        }
    }
    Ok(Arc::new(texts.finish()))
}

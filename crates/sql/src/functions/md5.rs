//! `md5(value)`: the MD5 digest of a text's bytes in UTF-8, or of bytes, as 32 hexadecimal digits. For
//! telling values apart and for what other systems have written; it keeps no secret.

use std::fmt::Write as _;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, StringBuilder};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::{ColumnarValue, ScalarUDF, Signature, SimpleScalarUDF, Volatility};
use md5::{Digest, Md5};

use super::map_values;

const DIGITS: usize = 32;

/// The function.
pub(super) fn function() -> ScalarUDF {
    // Text of other kinds becomes the first of these.
    let types = vec![DataType::Utf8View, DataType::Utf8, DataType::LargeUtf8, DataType::Binary];
    let signature = Signature::uniform(1, types, Volatility::Immutable);
    let call = |args: &[ColumnarValue]| match args {
        [given] => map_values(given, digits),
        _ => internal_err!("md5 is called with one value"),
    };
    SimpleScalarUDF::new_with_signature("md5", signature, DataType::Utf8, Arc::new(call)).into()
}

fn digits(values: &ArrayRef) -> Result<ArrayRef> {
    Ok(match values.data_type() {
        DataType::Utf8View => of_each(values.as_string_view().iter().map(as_bytes)),
        DataType::Utf8 => of_each(values.as_string::<i32>().iter().map(as_bytes)),
        DataType::LargeUtf8 => of_each(values.as_string::<i64>().iter().map(as_bytes)),
        DataType::Binary => of_each(values.as_binary::<i32>().iter()),
        other => return internal_err!("md5 is called with {other}"),
    })
}

fn as_bytes(text: Option<&str>) -> Option<&[u8]> {
    text.map(str::as_bytes)
}

fn of_each<'a>(values: impl ExactSizeIterator<Item = Option<&'a [u8]>>) -> ArrayRef {
    let mut all = StringBuilder::with_capacity(values.len(), values.len() * DIGITS);
    for value in values {
        let Some(value) = value else {
            all.append_null();
            continue;
        };
        // Memory takes what is written to it.
        let _ = write!(all, "{:x}", Md5::digest(value));
        all.append_value("");
    }
    Arc::new(all.finish())
}

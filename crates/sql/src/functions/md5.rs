//! `md5(value)`: the MD5 digest of a text's bytes in UTF-8, or of bytes, as 32 hexadecimal digits. For
//! telling values apart and for what other systems have written; it keeps no secret.

use std::fmt::Write as _;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, StringBuilder};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};
use md5::{Digest, Md5};

use super::map_values;

const DIGITS: usize = 32;

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Md5Digits {
    signature: Signature,
}

impl Md5Digits {
    pub(super) fn new() -> Self {
        // Text of other kinds becomes the first of these.
        let types = vec![DataType::Utf8View, DataType::Utf8, DataType::LargeUtf8, DataType::Binary];
        Self { signature: Signature::uniform(1, types, Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for Md5Digits {
    fn name(&self) -> &str {
        "md5"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [given] = args.args.as_slice() else {
            return internal_err!("md5 is called with one value");
        };
        map_values(given, digits)
    }
}

fn digits(values: &ArrayRef) -> Result<ArrayRef> {
    let all = match values.data_type() {
        DataType::Utf8View => of_each(values.as_string_view().iter().map(as_bytes)),
        DataType::Utf8 => of_each(values.as_string::<i32>().iter().map(as_bytes)),
        DataType::LargeUtf8 => of_each(values.as_string::<i64>().iter().map(as_bytes)),
        DataType::Binary => of_each(values.as_binary::<i32>().iter()),
        other => return internal_err!("md5 is called with {other}"),
    };
    Ok(all)
}

fn as_bytes(text: Option<&str>) -> Option<&[u8]> {
    text.map(str::as_bytes)
}

fn of_each<'a>(values: impl ExactSizeIterator<Item = Option<&'a [u8]>>) -> ArrayRef {
    let mut all = StringBuilder::with_capacity(values.len(), values.len() * DIGITS);
    let mut text = String::with_capacity(DIGITS);
    for value in values {
        let Some(value) = value else {
            all.append_null();
            continue;
        };
        text.clear();
        for byte in Md5::digest(value) {
            // Memory takes what is written to it.
            let _ = write!(text, "{byte:02x}");
        }
        all.append_value(&text);
    }
    Arc::new(all.finish())
}

//! Texts of dictionaries, held against casts.

use arrow_array::{DictionaryArray, Int32Array};
use arrow_cast::cast;
use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn expanded_texts_are_what_a_cast_makes(
        texts in prop::collection::vec("[a-z\u{e4}]{0,9}|[a-z\u{e4}]{10,20}", 1..9),
        is_short in any::<bool>(),
        keys in prop::collection::vec(prop::option::of(0..9_usize), 0..50),
    ) {
        let short = |text: &String| text.chars().take(if is_short { 8 } else { 99 }).collect();
        let texts: Vec<String> = texts.iter().map(short).collect();
        let keys = keys.iter().map(|key| key.map(|key| (key % texts.len()) as i32));
        let texts_kept = texts.clone();
        let texts = Arc::new(StringArray::from(texts.clone()));
        let column = DictionaryArray::try_new(Int32Array::from_iter(keys), texts).unwrap();
        let column: ArrayRef = Arc::new(column);
        let expected = cast(&column, &DataType::Utf8).unwrap();
        prop_assert_eq!(&expanded(&column, None).unwrap(), &expected);
        prop_assert_eq!(&expanded(&column, Some(&Arena::default())).unwrap(), &expected);
        let mut last = None;
        let views = viewed(&column, &mut last).unwrap();
        prop_assert_eq!(&cast(&views, &DataType::Utf8).unwrap(), &expected);
        // The same dictionary again, part of the rows; and another one.
        let half = column.slice(0, column.len() / 2);
        let again = viewed(&half, &mut last).unwrap();
        prop_assert_eq!(&cast(&again, &DataType::Utf8).unwrap(), &expected.slice(0, half.len()));
        let other: ArrayRef =
            Arc::new(DictionaryArray::<Int32Type>::from_iter(["other", "others", "other"]));
        let others = viewed(&other, &mut last).unwrap();
        prop_assert_eq!(&cast(&others, &DataType::Utf8).unwrap(), &cast(&other, &DataType::Utf8).unwrap());
        let has_long = texts_kept.iter().any(|text| text.len() > 12);
        prop_assert!(has_long || views.as_string_view().data_buffers().is_empty());
    }
}

#[test]
fn texts_that_end_early_or_are_no_text_are_refused() {
    let bytes = b"\x02\0\0\0ab\x00\0\0\0\x01\0\0\0c";
    assert_eq!(plain_texts(bytes, 3), Some(vec!["ab", "", "c"]));
    assert_eq!(plain_texts(bytes, 4), None);
    assert_eq!(plain_texts(&bytes[..bytes.len() - 1], 3), None);
    assert_eq!(plain_texts(b"\x01\0\0\0\xff", 1), None);
    assert_eq!(plain_texts(b"\xff\xff\xff\xff", usize::MAX), None);
}

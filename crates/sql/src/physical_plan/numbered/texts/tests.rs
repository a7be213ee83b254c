//! Numbers by codes, held against numbers by views.

use datafusion::arrow::array::Int32Array;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn texts_have_the_same_numbers_by_their_codes(
        dictionaries in prop::collection::vec(
            prop::collection::vec("[ab]{0,2}|[a-c]{12,14}", 1..9),
            1..4,
        ),
        batches in prop::collection::vec(
            (0..4_usize, prop::collection::vec(prop::option::weighted(0.9, 0..9_usize), 0..40)),
            1..6,
        ),
    ) {
        let dictionaries: Vec<ArrayRef> = dictionaries
            .into_iter()
            .map(|texts| Arc::new(StringArray::from(texts)) as ArrayRef)
            .collect();
        let (mut by_code, mut by_view) = (Texts::default(), Texts::default());
        for (which, codes) in batches {
            let texts = &dictionaries[which % dictionaries.len()];
            let codes = codes.iter().map(|code| code.map(|code| (code % texts.len()) as i32));
            let codes = Int32Array::from_iter(codes);
            let coded = DictionaryArray::try_new(codes, Arc::clone(texts)).unwrap();
            let views = cast(&coded, &DataType::Utf8View).unwrap();
            let (mut found, mut expected) = (Vec::new(), Vec::new());
            by_code.number_coded(&coded, &mut found).unwrap();
            by_view.number(views.as_string_view(), &mut expected);
            prop_assert_eq!(found, expected);
        }
        prop_assert_eq!(&by_code.take(), &by_view.take());
        prop_assert_eq!(by_code.len(), 0);
    }
}

//! Times as text, held against Arrow's own.

use arrow_array::{Int64Array, make_array};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::TimeUnit;
use proptest::prelude::*;

use super::*;

fn any_time() -> impl Strategy<Value = Option<i64>> {
    prop_oneof![
        Just(None),
        any::<i64>().prop_map(Some),
        (0..100_000_000_000_i64).prop_map(|number| Some(i64::MIN + number)),
        (-10_000_000_i64..10_000_000_000).prop_map(Some),
        (-1_000_000_i64..2_000_000).prop_map(|number| Some(number * 1_000_000)),
        (-100_000_000_000_i64..260_000_000_000).prop_map(Some),
    ]
}

proptest! {
    #[test]
    fn times_are_written_as_arrow_writes_them(
        numbers in prop::collection::vec(any_time(), 0..40),
        unit in 0..4_usize,
        zone in 0..4_usize,
    ) {
        let unit = [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond,
            TimeUnit::Nanosecond][unit];
        let zone = [None, Some("UTC"), Some("+00:00"), Some("+02:00")][zone];
        let data_type = DataType::Timestamp(unit, zone.map(Into::into));
        let data = Int64Array::from(numbers).into_data().into_builder();
        let times = make_array(data.data_type(data_type.clone()).build().unwrap());
        let schema = Schema::new(vec![Field::new("t", data_type, true)]);
        let batch = RecordBatch::try_new(Arc::new(schema), vec![times.clone()]).unwrap();
        let written = times_as_text(&batch);
        let options = FormatOptions::new();
        let expected = ArrayFormatter::try_new(times.as_ref(), &options).unwrap();
        let found = ArrayFormatter::try_new(written.column(0).as_ref(), &options).unwrap();
        for row in 0..times.len() {
            if let Ok(expected) = expected.value(row).try_to_string() {
                prop_assert_eq!(found.value(row).to_string(), expected);
            }
        }
    }
}

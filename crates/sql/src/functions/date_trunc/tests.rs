//! Ours against DataFusion's own, where that has an answer.

use datafusion::arrow::array::{Array, TimestampMicrosecondArray, TimestampSecondArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::Field;
use datafusion::config::ConfigOptions;
use datafusion::functions::datetime::date_trunc;

use super::*;

fn called(function: &ScalarUDF, part: &str, times: ArrayRef) -> ArrayRef {
    let time = Arc::new(Field::new("time", times.data_type().clone(), true));
    let number_rows = times.len();
    let args = ScalarFunctionArgs {
        args: vec![ColumnarValue::Scalar(ScalarValue::from(part)), ColumnarValue::Array(times)],
        arg_fields: vec![Arc::new(Field::new("part", DataType::Utf8, false)), Arc::clone(&time)],
        number_rows,
        return_field: time,
        config_options: Arc::new(ConfigOptions::default()),
    };
    function.invoke_with_args(args).unwrap().into_array(number_rows).unwrap()
}

const PARTS: [&str; 8] = ["second", "minute", "hour", "day", "week", "month", "quarter", "year"];

#[test]
fn a_clock_of_a_zone_is_cut_as_it_was() {
    let plain = date_trunc();
    let ours = ScalarUDF::new_from_impl(DateTrunc::new(Arc::clone(&plain)));
    // From 1900 to 2100, and around the hours in which clocks were put forward and back, at midnight as well.
    let far = (0..20_000).map(|n| -2_208_988_800 + n * 315_569 + n % 3_600);
    let changes = [1_711_846_800_i64, 1_729_994_400, 1_699_163_999, 1_541_300_400, 1_520_132_400];
    let near = changes.into_iter().flat_map(|at| (-200..200).map(move |n| at + n * 601));
    let seconds: Vec<i64> = far.chain(near).collect();
    for zone in
        ["Europe/Berlin", "America/New_York", "America/Sao_Paulo", "+05:30", "Asia/Kathmandu"]
    {
        for part in PARTS {
            let times = TimestampSecondArray::from(seconds.clone()).with_timezone(zone);
            let times: ArrayRef = Arc::new(times);
            for unit in [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond] {
                let of_unit = DataType::Timestamp(unit, Some(zone.into()));
                let times = cast(&times, &of_unit).unwrap();
                let (ours, theirs) =
                    (called(&ours, part, Arc::clone(&times)), called(&plain, part, times));
                assert_eq!(&ours, &theirs, "{part} in {zone}, in {unit:?}s");
            }
        }
    }
}

#[test]
fn times_beyond_nanoseconds_are_cut_in_every_zone() {
    let ours = ScalarUDF::new_from_impl(DateTrunc::new(date_trunc()));
    let utc = |text: &str| crate::instant::instant(&ScalarValue::from(text)).unwrap() / 1_000;
    for (part, at, start) in [
        ("hour", "1600-06-01T12:34:56Z", "1600-06-01T12:06:32Z"),
        ("month", "1600-06-01T12:34:56Z", "1600-05-31T23:06:32Z"),
        ("day", "9000-06-01T12:34:56Z", "9000-05-31T22:00:00Z"),
        ("year", "9000-06-01T12:34:56Z", "8999-12-31T23:00:00Z"),
    ] {
        let (at, start) = (utc(at) as i64, utc(start) as i64);
        let times = TimestampMicrosecondArray::from(vec![Some(at), None]);
        let cut = called(&ours, part, Arc::new(times.with_timezone("Europe/Berlin")));
        let cut = cut.as_primitive::<TimestampMicrosecondType>();
        assert_eq!(cut.value(0), start, "{part}");
        assert!(cut.is_null(1));
    }
}

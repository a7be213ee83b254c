//! How columns are encoded, by what the first block has.

use arrow_array::{Float64Array, Int32Array, Int64Array, StringArray};

use super::*;

/// What is chosen for a column of its own.
fn chosen<const N: usize>(ways: &[Way; N], values: ArrayRef) -> Way {
    let schema = Schema::new(vec![Field::new("x", values.data_type().clone(), true)]);
    let sample = RecordBatch::try_new(Arc::new(schema), vec![values]).unwrap();
    least(ways, &sample, 0, Pages::default()).unwrap()
}

/// Numbers without a pattern.
fn noise(rows: usize) -> impl Iterator<Item = u64> {
    (1..=rows as u64).map(|row| {
        let mixed = (row.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 27 ^ row)
            .wrapping_mul(0xBF58_476D_1CE4_E5B9);
        (mixed >> 31 ^ mixed).wrapping_mul(0x94D0_49BB_1331_11EB) >> 20
    })
}

fn floats(values: impl Iterator<Item = f64>) -> ArrayRef {
    Arc::new(Float64Array::from_iter_values(values))
}

fn integers(values: impl Iterator<Item = i64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(values))
}

#[test]
fn numbers_are_encoded_as_the_first_block_tells() {
    let rising = integers((0..50_000).map(|row| 1_700_000_000_000 + row * 10));
    assert_eq!(chosen(&INTEGERS, rising), INTEGERS[0]);
    let noisy = integers(noise(50_000).map(|noise| (noise % 4_000) as i64));
    assert_eq!(chosen(&INTEGERS, noisy), INTEGERS[1]);
    let lots = integers(noise(50_000).map(|noise| (noise % 40) as i64 * 1_000_003));
    assert_eq!(chosen(&INTEGERS, lots), INTEGERS[2]);
    let prices = floats(noise(50_000).map(|noise| (noise % 900) as f64 / 100.0));
    assert_eq!(chosen(&FLOATS, prices), FLOATS[1]);
    let smooth =
        floats((0..50_000).map(|row| 1e4 + f64::from(row) * 1e-3 + (f64::from(row % 977) * 1e-9)));
    assert_eq!(chosen(&FLOATS, smooth), FLOATS[0]);
}

#[test]
fn bytes_of_whole_numbers_lie_apart_where_that_takes_less() {
    // The high bytes are those of the numbers before, and the lowest say nothing.
    let clocks =
        || noise(131_072).zip(0_i64..).map(|(low, at)| ((at / 2_000) << 8) + (low % 256) as i64);
    assert_eq!(chosen(&INTEGERS_OR_SPLIT, integers(clocks())), SPLIT_INTEGERS);
    let short = clocks().map(|number| Some(number as i32)).collect::<Int32Array>();
    assert_eq!(chosen(&INTEGERS_OR_SPLIT, Arc::new(short)), SPLIT_INTEGERS);
    let mut last = 0;
    let walk = noise(131_072).map(|noise| {
        last += (noise % 1_000) as i64 - 400;
        last
    });
    assert_eq!(chosen(&INTEGERS_OR_SPLIT, integers(walk)), INTEGERS[1]);
}

#[test]
fn values_of_a_dictionary_are_shared_by_all_rows_of_the_trial() {
    // Among 32,768 rows they take as much room as the codes, and steps less than both.
    let prices = integers(noise(131_072).map(|noise| (noise % 5_000) as i64 * 3));
    let pages = Pages { rows_max: Some(32_768), ..Pages::default() };
    let first = stretches(&prices, TRIAL_ROWS_FIRST).unwrap();
    let least_of =
        |costs: Vec<(usize, Way)>| costs.into_iter().min_by_key(|(cost, _)| *cost).unwrap().1;
    assert_eq!(least_of(costs(&INTEGERS, &first, pages).unwrap()), INTEGERS[1]);
    let told = scaled_costs(&INTEGERS, &prices, pages).unwrap();
    assert!(least_of(told.clone()).dictionary, "{told:?}");
    let all = costs(&INTEGERS, &prices, pages).unwrap();
    for (cost, way) in told {
        let (of_all, _) = all.iter().find(|(_, other)| *other == way).unwrap();
        // Of ways without a dictionary some rows tell as much as all.
        let off = if way.dictionary { 0 } else { of_all / 50 };
        assert!(cost.abs_diff(*of_all) <= off, "{way:?}: {cost}, of all rows {of_all}");
    }
}

#[test]
fn pages_are_shorter_where_series_have_few_rows() {
    let page_rows = |rows_a_series: i64| {
        let names: ArrayRef = Arc::new(StringArray::from_iter_values(
            (0..64_000).map(|row| format!("host_{:05}", row / rows_a_series)),
        ));
        Pages::by_series(&RecordBatch::try_from_iter([("host", names)]).unwrap()).unwrap().rows_max
    };
    assert_eq!(
        [10, 32, 40, 64, 1_000].map(page_rows),
        [2_048, 2_048, 2_560, 4_096, 4_096].map(Some)
    );
}

fn texts_of(values: impl Iterator<Item = String>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(values))
}

#[test]
fn texts_are_encoded_as_the_first_block_tells() {
    let chosen_of = |values: ArrayRef| {
        let schema = Schema::new(vec![Field::new("x", DataType::Utf8, true)]);
        let sample = RecordBatch::try_new(Arc::new(schema), vec![values]).unwrap();
        least(texts(&sample, 0), &sample, 0, Pages::default()).unwrap()
    };
    let sorted = texts_of((0..10_000).map(|row| format!("plant 7, device {row:06}")));
    assert_eq!(chosen_of(sorted), TEXTS[1]);
    let mixed = texts_of(noise(10_000).map(|noise| format!("{noise:x} came in")));
    assert_eq!(chosen_of(mixed), TEXTS[0]);
    let levels = texts_of(noise(10_000).map(|noise| format!("{}", noise % 30)));
    assert_eq!(chosen_of(levels), TEXTS_THAT_REPEAT[1]);
    let paths =
        texts_of((0..10_000).map(|row| format!("https://example.org/of/many/words/{}", row / 50)));
    assert_eq!(chosen_of(paths), TEXTS_THAT_REPEAT[0]);
}

#[test]
fn a_dictionary_that_would_be_given_up_is_not_begun() {
    let outgrows = |series: usize, rows: usize| {
        // Ten rows of each, as they lie by series: 4 bytes of length, and 10 of text.
        let texts = texts_of((0..10_000).map(|row| format!("dev {:06}", row / 10 % series)));
        let schema = Schema::new(vec![Field::new("x", DataType::Utf8, true)]);
        let sample = RecordBatch::try_new(Arc::new(schema), vec![texts]).unwrap();
        outgrows_dictionary(&sample, 0, rows)
    };
    // 14 bytes of each of 74,000 and of 76,000 series; 2^20 bytes are the most.
    assert_eq!([740_000, 760_000].map(|rows| outgrows(usize::MAX, rows)), [false, true]);
    assert!(!outgrows(1, 1 << 24));
}

#[test]
fn a_short_block_tells_nothing() {
    let lots = integers(noise(TRIAL_ROWS_MIN - 1).map(|noise| (noise % 4) as i64 * 1_000_003));
    assert_eq!(chosen(&INTEGERS, lots), INTEGERS[0]);
}

#[test]
fn what_is_packed_tells_what_it_takes_plain() {
    let texts = noise(5_000).map(|noise| format!("{}", noise % 99));
    let columns: [(ArrayRef, &[Way]); 4] = [
        (integers(noise(20_000).map(|noise| (noise % 4_000) as i64)), &INTEGERS),
        (integers(noise(20_000).map(|noise| (noise % 40) as i64)), &INTEGERS),
        (floats(noise(20_000).map(|noise| (noise % 900) as f64 / 100.0)), &FLOATS),
        (Arc::new(StringArray::from_iter_values(texts)), &TEXTS),
    ];
    for (column, ways) in columns {
        for way in ways {
            let told = encoded_bytes(&column, *way, Pages::default()).unwrap();
            let schema = Schema::new(vec![Field::new("x", column.data_type().clone(), true)]);
            let batch = RecordBatch::try_new(Arc::new(schema), vec![Arc::clone(&column)]).unwrap();
            let mut properties = WriterProperties::builder()
                .set_compression(Compression::UNCOMPRESSED)
                .set_statistics_enabled(EnabledStatistics::None)
                .set_dictionary_enabled(way.dictionary);
            if let Some(encoding) = way.encoding {
                properties = properties.set_encoding(encoding);
            }
            let (schema, properties) = (batch.schema(), properties.build());
            let mut writer = ArrowWriter::try_new(Vec::new(), schema, Some(properties)).unwrap();
            writer.write(&batch).unwrap();
            let metadata = writer.close().unwrap();
            let plain = metadata.row_group(0).column(0).compressed_size();
            // The header of a page has the length that is packed too, in one byte or more.
            assert!(told.plain.abs_diff(plain as usize) <= 8, "{way:?}: {told:?}, not {plain}");
            assert!(told.packed > 0);
        }
    }
}

#[test]
fn where_nothing_is_to_be_packed_nothing_is() {
    let pages = Pages { packing: RunCompression::None, ..Pages::default() };
    let chosen = |ways: &[Way; 4], values: ArrayRef| {
        let schema = Schema::new(vec![Field::new("x", values.data_type().clone(), true)]);
        let sample = RecordBatch::try_new(Arc::new(schema), vec![values]).unwrap();
        least(ways, &sample, 0, pages).unwrap()
    };
    // By ZSTD the first would be packed.
    let rising = integers((0..50_000).map(|row| 1_700_000_000_000 + row * 10));
    assert_eq!(chosen(&INTEGERS, rising), INTEGERS[1]);
    let codec = codec(RunCompression::None, ZSTD_LEVEL).unwrap();
    assert_eq!(INTEGERS[0].compression(codec), Compression::UNCOMPRESSED);
}

//! Text as programs of all kinds write it: other encodings, comments, blanks, commas in numbers, dates of many kinds.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, RecordBatch};
use arrow_cast::display::array_value_to_string;
use timestrata_engine::Result;
use timestrata_ingest::rows::{
    Delimiter, ReadOptions, Source, Spelling, TimeFormat, open_bytes, open_reader,
};

use crate::reading::{all, failure, types};

fn open(bytes: &[u8], options: &ReadOptions) -> Result<Source> {
    open_bytes(bytes.to_vec(), "in.csv", options)
}

fn read(bytes: &[u8], options: &ReadOptions) -> RecordBatch {
    all(open(bytes, options).unwrap()).0
}

fn texts(batch: &RecordBatch, column: usize) -> Vec<String> {
    let array = batch.column(column);
    (0..array.len()).map(|row| array_value_to_string(array, row).unwrap()).collect()
}

#[test]
fn utf_16_is_known_by_its_mark_and_other_encodings_are_declared() {
    let text = "time,city\n2024-01-01,Zürich\n";
    let little = text.encode_utf16().flat_map(u16::to_le_bytes);
    let little: Vec<u8> = [0xff, 0xfe].into_iter().chain(little).collect();
    let big = text.encode_utf16().flat_map(u16::to_be_bytes);
    let big: Vec<u8> = [0xfe, 0xff].into_iter().chain(big).collect();
    for bytes in [little, big] {
        assert_eq!(texts(&read(&bytes, &ReadOptions::default()), 1), ["Zürich"]);
    }
    let windows = b"time,city\n2024-01-01,Z\xfcrich \x80\n";
    for name in ["windows-1252", "cp1252", "latin1"] {
        let options = ReadOptions { encoding: Some(name.parse().unwrap()), ..Default::default() };
        assert_eq!(texts(&read(windows, &options), 1), ["Zürich €"], "{name}");
    }
    let message = failure(open(windows, &ReadOptions::default())).to_string();
    assert!(message.contains("encoding: windows-1252"), "{message}");
    // What is none of an encoding is not replaced by something else.
    let options = ReadOptions { encoding: Some("utf-8".parse().unwrap()), ..Default::default() };
    let message = failure(open(windows, &options)).to_string();
    assert!(message.contains("no text in UTF-8"), "{message}");
}

#[test]
fn comments_preambles_and_other_line_ends_are_passed_over_and_lines_still_count() {
    let csv = b"# made by a meter\n# \"in Zuerich\ntime,v\n2024-01-01,1\n2024-01-02,x\n";
    let message = failure(open(csv, &ReadOptions { schema: Some(schema()), ..Default::default() }));
    assert!(message.to_string().starts_with("line 5, column 'v'"), "{message}");
    // The last line with a # may name the columns.
    let csv = b"# made by a meter\n#time,v\n2024-01-01,1\n";
    assert!(types(&open(csv, &ReadOptions::default()).unwrap().schema()).starts_with("#time"));
    let csv = b"Exported by Meter 2\n\ntime;v\n2024-01-01;1\n% pause\n2024-01-02;2\n";
    let options = ReadOptions { skip_lines: 2, comment: Some(b'%'), ..Default::default() };
    assert_eq!(texts(&read(csv, &options), 1), ["1", "2"]);
    let csv = b"time,v\r2024-01-01,1\r2024-01-02,2\r";
    assert_eq!(texts(&read(csv, &ReadOptions::default()), 1), ["1", "2"]);
}

fn schema() -> arrow_schema::SchemaRef {
    let field = arrow_schema::Field::new("v", arrow_schema::DataType::Int64, true);
    std::sync::Arc::new(arrow_schema::Schema::new(vec![field]))
}

#[test]
fn fields_are_separated_by_any_text() {
    for between in ["||", "¦", "§", " - ", "<=>", "::"] {
        let text = ["time", "name", "v"].join(between)
            + "\n"
            + &["2024-01-01", "\"a b\"", "1.5"].join(between)
            + "\r\n"
            + &["2024-01-02", &format!("\"x{between}y\""), "2"].join(between);
        let options =
            ReadOptions { delimiter: Some(between.parse().unwrap()), ..ReadOptions::default() };
        let found = read(text.as_bytes(), &options);
        assert_eq!(texts(&found, 1), ["a b".to_owned(), format!("x{between}y")], "{between}");
        assert_eq!(texts(&found, 2), ["1.5", "2.0"], "{between}");
        // In pieces, which several threads take apart.
        let rows = ["2024-01-01", "n", "7"].join(between) + "\n";
        let long = text + "\n" + &rows.repeat(60_000);
        let options = ReadOptions { threads: 4, ..options };
        assert_eq!(read(long.as_bytes(), &options).num_rows(), 60_002, "{between}");
    }
    let source = open(b"time||v\n2024-01-01||1\n", &ReadOptions::default()).unwrap();
    assert_eq!(source.delimiter().map(|d| d.to_string()).as_deref(), Some("||"));
    let bars = "time\u{a6}v\n2024-01-01\u{a6}1\n";
    let latin: Vec<u8> = bars.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
    let options = ReadOptions {
        encoding: Some("windows-1252".parse().unwrap()),
        delimiter: Some("¦".parse().unwrap()),
        ..ReadOptions::default()
    };
    assert_eq!(texts(&read(&latin, &options), 1), ["1"]);
    for wrong in ["", "\n", "a\nb", "123456789"] {
        assert!(wrong.parse::<Delimiter>().is_err(), "{wrong:?}");
    }
    let quoted = ReadOptions { delimiter: Some("a\"b".parse().unwrap()), ..Default::default() };
    assert!(failure(open(b"x\n", &quoted)).to_string().contains("say another quote"));
}

#[test]
fn thousands_are_read_where_that_is_said_and_only_in_groups_of_three() {
    let csv = "time;n;x;t\n2024-01-01;1,234;-1,234,567.25;a\n2024-01-02;56;0.5;1,2\n";
    // Nobody can tell what a comma means.
    let plain = open(csv.as_bytes(), &ReadOptions::default()).unwrap();
    assert!(!types(&plain.schema()).contains("Int64"), "{}", types(&plain.schema()));
    let options = ReadOptions { thousands: Some(','), ..ReadOptions::default() };
    let source = open(csv.as_bytes(), &options).unwrap();
    let note = |column: &str| (column.to_owned(), "',' between thousands".to_owned());
    assert_eq!(source.notes(), [note("n"), note("x")]);
    let found = all(source).0;
    assert_eq!(found.column(1).as_primitive::<Int64Type>().values(), &[1_234, 56]);
    assert_eq!(found.column(2).as_primitive::<Float64Type>().values(), &[-1_234_567.25, 0.5]);
    assert_eq!(texts(&found, 3), ["a", "1,2"]);
    for (thousands, decimal, text, expected) in [
        ('.', b',', "1.234.567,5", 1_234_567.5),
        (' ', b',', "12 345,25", 12_345.25),
        ('\'', b'.', "-1'000", -1_000.0),
        ('\u{a0}', b',', "9\u{a0}999,75", 9_999.75),
        ('_', b'.', "1_000_000.5", 1_000_000.5),
    ] {
        let csv = format!("time;x\n2024-01-01;{text}\n2024-01-02;0{}5\n", char::from(decimal));
        let options = ReadOptions {
            thousands: Some(thousands),
            decimal: Some(decimal),
            ..ReadOptions::default()
        };
        let found = read(csv.as_bytes(), &options);
        assert_eq!(found.column(1).as_primitive::<Float64Type>().value(0), expected, "{text}");
    }
    for wrong in ["1,23", "12,34,567", ",123", "1,,234", "1,234,", "1234,567", "1.5,000", "0x1,000"]
    {
        let csv = format!("time;v\n2024-01-01;{wrong}\n");
        let declared = ReadOptions { schema: Some(schema()), ..options.clone() };
        let error = failure(open(csv.as_bytes(), &declared)).to_string();
        assert!(error.contains("line 2, column 'v'"), "{wrong}: {error}");
        assert_eq!(texts(&read(csv.as_bytes(), &options), 1), [wrong]);
    }
    for (thousands, decimal, told) in
        [('.', None, "say both"), (',', Some(b','), "say both"), ('5', None, "no part of a number")]
    {
        let options = ReadOptions { thousands: Some(thousands), decimal, ..Default::default() };
        let error = failure(open(b"time;x\n", &options)).to_string();
        assert!(error.contains(told), "{error}");
    }
}

#[test]
fn blanks_separate_columns_and_short_rows_are_filled_where_that_is_asked_for() {
    let text = b"  time       level  note\n2024-01-01   1.5  \"a b\"\n2024-01-02  12.5  c\n";
    let source = open(text, &ReadOptions::default()).unwrap();
    assert_eq!(source.delimiter(), Some(Delimiter::Blanks));
    assert_eq!(texts(&all(source).0, 2), ["a b", "c"]);
    let csv = b"time,a,b\n2024-01-01,1\n2024-01-02,1,2,\n2024-01-03\n";
    let message = failure(open(csv, &ReadOptions::default())).to_string();
    assert!(message.contains("fill_short_rows: true"), "{message}");
    let batch = read(csv, &ReadOptions { fill_short_rows: true, ..Default::default() });
    let second: Vec<_> = batch.column(2).as_primitive::<Int64Type>().iter().collect();
    assert_eq!(second, [None, Some(2), None]);
    // They are null also where an empty field is none.
    let null_text = Some(vec!["-".to_owned()]);
    let options = ReadOptions { fill_short_rows: true, null_text, ..Default::default() };
    assert_eq!(read(b"time,a,b\n2024-01-01,\n", &options).column(2).null_count(), 1);
}

#[test]
fn commas_in_numbers_are_read_where_they_can_be_nothing_else() {
    let csv = b"time;a;b\n2024-01-01;1,5;1,234\n2024-01-02;2;2,345\n";
    let source = open(csv, &ReadOptions::default()).unwrap();
    assert_eq!(source.notes(), [("a".to_owned(), "decimal comma".to_owned())]);
    let batch = all(source).0;
    assert_eq!(batch.column(1).as_primitive::<Float64Type>().values(), &[1.5, 2.0]);
    // Thousands, or thousandths: nobody knows.
    assert_eq!(texts(&batch, 2), ["1,234", "2,345"]);
    let options = ReadOptions { decimal: Some(b','), ..Default::default() };
    let batch = read(csv, &options);
    assert_eq!(batch.column(2).as_primitive::<Float64Type>().values(), &[1.234, 2.345]);
    let message = failure(open(
        b"time,a\n2024-01-01,1\n",
        &ReadOptions { delimiter: Some(Delimiter::Byte(b',')), ..options },
    ));
    assert!(message.to_string().contains("another delimiter"), "{message}");
}

#[test]
fn days_and_months_are_told_apart_over_all_values_or_an_option_is_named() {
    let mut csv = "when,v\n".to_owned();
    (0..30_000).for_each(|row| csv.push_str(&format!("0{}/02/2024 10:15,1\n", row % 9 + 1)));
    let ambiguous = csv.clone();
    // Far behind the sample.
    csv.push_str("28/02/2024 10:15,1\n");
    let source = open(csv.as_bytes(), &ReadOptions::default()).unwrap();
    assert_eq!(source.time_column(), Some("when"));
    assert_eq!(source.notes(), [("when".to_owned(), "day before month".to_owned())]);
    let batch = all(source).0;
    assert_eq!(texts(&batch, 0).last().unwrap(), "2024-02-28T10:15:00Z");

    let options = ReadOptions { spelling: Spelling::Command, ..Default::default() };
    let source = open(ambiguous.as_bytes(), &options).unwrap();
    let why = source.spoils_time().unwrap();
    assert!(source.time_column().is_none());
    assert!(why.starts_with("in.csv, line 2, column 'when': '01/02/2024 10:15' and all"), "{why}");
    assert!(why.contains("--time-format '%d/%m/%Y %H:%M' or --time-format '%m/%d"), "{why}");
    let declared = ReadOptions { time: Some("when".to_owned()), ..options.clone() };
    let message = failure(open(ambiguous.as_bytes(), &declared)).to_string();
    assert!(message.contains("--time-format"), "{message}");
    // What comes as a stream can't be looked at twice.
    let stream = open_reader(std::io::Cursor::new(csv), "body", &options).unwrap();
    assert!(stream.spoils_time().unwrap().contains("--time-format"));

    let format = TimeFormat::new("%m/%d/%Y %H:%M").unwrap();
    let options = ReadOptions { time_format: Some(format), ..options };
    let source = open(ambiguous.as_bytes(), &options).unwrap();
    assert_eq!(source.time_column(), Some("when"));
    assert_eq!(texts(&all(source).0, 0)[0], "2024-01-02T10:15:00Z");
}

#[test]
fn a_declared_format_is_the_only_one_of_the_time_column() {
    let format = |text| Some(TimeFormat::new(text).unwrap());
    let options = ReadOptions { time_format: format("%d.%m.%y"), ..Default::default() };
    let source = open(b"day,seen,v\n31.01.24,01.02.24,1\n", &options).unwrap();
    let utc = "Timestamp(µs, \"UTC\")";
    assert_eq!(types(&source.schema()), format!("day {utc}, seen Date32, v Int64"));
    let options = ReadOptions { time: Some("day".to_owned()), ..options };
    let message = failure(open(b"day,v\n31.01.24,1\n2024-02-01,1\n", &options)).to_string();
    assert!(
        message.starts_with("line 3, column 'day': '2024-02-01' is not a time in the format"),
        "{message}"
    );
    // Numbers are times by it in the time column alone.
    let options = ReadOptions { time_format: format("%Y%m"), ..Default::default() };
    let source = open(b"date,id\n202401,202401\n", &options).unwrap();
    assert_eq!(source.time_column(), None);
    let options = ReadOptions { time_format: format("%Y%m%d"), ..Default::default() };
    let source = open(b"date,id\n20240131,20240131\n", &options).unwrap();
    assert_eq!(types(&source.schema()), format!("date {utc}, id Int64"));
}

use proptest::prelude::*;

use super::super::pieces::Boundary;
use super::*;

const DIALECT: Dialect = Dialect { delimiter: Delimiter::Byte(b','), quote: b'"', comment: None };

fn long(text: &str) -> Dialect {
    Dialect { delimiter: text.parse().unwrap(), ..DIALECT }
}

type Row = (u64, std::result::Result<Vec<String>, Malformed>);

fn rows(text: &str) -> Vec<Row> {
    rows_of(text, DIALECT)
}

fn rows_of(text: &str, dialect: Dialect) -> Vec<Row> {
    let mut bytes = text.as_bytes().to_vec();
    let mut tokens = Tokens::new(&mut bytes, 1, dialect);
    let (mut rows, mut fields) = (Vec::new(), Vec::new());
    while let Some((line, row)) = tokens.row(&mut fields) {
        let texts = fields
            .drain(..)
            .map(|field| String::from_utf8_lossy(field.text(tokens.bytes())).into_owned());
        let texts: Vec<_> = texts.collect();
        rows.push((line, row.map(|()| texts)));
    }
    rows
}

fn ok(line: u64, fields: &[&str]) -> Row {
    (line, Ok(fields.iter().map(|field| (*field).to_owned()).collect()))
}

#[test]
fn rows_are_taken_apart_as_they_were_put_together() {
    assert_eq!(rows("a,b\n1,2\n"), [ok(1, &["a", "b"]), ok(2, &["1", "2"])]);
    assert_eq!(rows("a,b\r\n1,\r\n"), [ok(1, &["a", "b"]), ok(2, &["1", ""])]);
    assert_eq!(rows("\n\r\n,\n\nx"), [ok(3, &["", ""]), ok(5, &["x"])]);
    assert_eq!(rows("\"a,\"\"b\"\"\nc\",d\ne"), [ok(1, &["a,\"b\"\nc", "d"]), ok(3, &["e"])]);
    assert_eq!(rows("\"\",\"\"\"\"\n"), [ok(1, &["", "\""])]);
    assert_eq!(rows("5\" pipe,x\n"), [ok(1, &["5\" pipe", "x"])]);
    assert_eq!(rows("\"a\"\r\nb"), [ok(1, &["a"]), ok(2, &["b"])]);
    assert_eq!(rows("a,"), [ok(1, &["a", ""])]);
    assert_eq!(rows("a,b\r\r\n\r\r\n1,2\r\r\n"), [ok(1, &["a", "b"]), ok(3, &["1", "2"])]);
    let blanks = Dialect { delimiter: Delimiter::Blanks, ..DIALECT };
    let found = rows_of("  a \t b\n\n1  \"x y\"  \r\n2 3", blanks);
    assert_eq!(found, [ok(1, &["a", "b"]), ok(3, &["1", "x y"]), ok(4, &["2", "3"])]);
    let found = rows_of("a||b|c||\n\"x||y\"||1\r\n||||\n|", long("||"));
    let expected =
        [ok(1, &["a", "b|c", ""]), ok(2, &["x||y", "1"]), ok(3, &["", "", ""]), ok(4, &["|"])];
    assert_eq!(found, expected);
    assert_eq!(rows_of("ä¦ö\n1¦\"2\"", long("¦")), [ok(1, &["ä", "ö"]), ok(2, &["1", "2"])]);
    let commented = Dialect { comment: Some(b'#'), ..DIALECT };
    assert_eq!(
        rows_of("# it's \"so\na,b\n#\n1,#2\n#", commented),
        [ok(2, &["a", "b"]), ok(4, &["1", "#2"])]
    );
}

#[test]
fn malformed_rows_are_told_and_the_next_is_found() {
    assert_eq!(rows("\"a\"b,c\nd"), [(1, Err(Malformed::TextBehindQuote)), ok(2, &["d"])]);
    assert_eq!(rows("x\na,\"b\nc"), [ok(1, &["x"]), (2, Err(Malformed::OpenQuote))]);
}

proptest! {
    #[test]
    fn what_is_quoted_right_comes_back(
        table in prop::collection::vec(prop::collection::vec("[a\",\n\r é]{0,6}", 2), 0..8)
    ) {
        let mut text = String::new();
        for row in &table {
            let fields: Vec<String> =
                row.iter().map(|field| format!("\"{}\"", field.replace('"', "\"\""))).collect();
            text.push_str(&(fields.join(",") + "\n"));
        }
        let read: Vec<_> = rows(&text).into_iter().map(|(_, row)| row.unwrap()).collect();
        prop_assert_eq!(read, table);
    }

    #[test]
    fn a_text_separates_as_one_byte_does(text in "[a\"|\n]{0,60}", between in "[xyz]{2,8}") {
        let with_byte = Dialect { delimiter: Delimiter::Byte(b'|'), ..DIALECT };
        let with_text = text.replace('|', &between);
        let rows_of_text = rows_of(&with_text, long(&between));
        // Within quotes it is text.
        let as_text = |row: Row| {
            (row.0, row.1.map(|fields| fields.iter().map(|f| f.replace('|', &between)).collect()))
        };
        let rows_of_byte: Vec<Row> = rows_of(&text, with_byte).into_iter().map(as_text).collect();
        prop_assert_eq!(rows_of_text, rows_of_byte);
    }

    #[test]
    fn pieces_end_where_rows_do(text in "[a\", #|\n\r]{0,60}") {
        let blanks = Dialect { delimiter: Delimiter::Blanks, ..DIALECT };
        let commented = Dialect { comment: Some(b'#'), ..DIALECT };
        for dialect in [DIALECT, blanks, commented, long("||"), long("a|")] {
            let rows = |text: &str| rows_of(text, dialect);
            let whole = rows(&text);
            let Some(end) = dialect.last_end(text.as_bytes()) else { continue };
            let (head, tail) = text.split_at(end);
            let mut pieces = rows(head);
            let passed = u64::try_from(head.matches('\n').count()).unwrap();
            pieces.extend(rows(tail).into_iter().map(|(line, row)| (line + passed, row)));
            prop_assert_eq!(pieces, whole, "{:?}", dialect);
        }
    }
}

#[test]
fn the_delimiter_is_the_one_that_fits() {
    for (text, expected) in [
        ("a,b\n1,2\n", b','),
        ("a;b\n1,5;2,5\n", b';'),
        ("a\tb\n1\t2\n", b'\t'),
        ("a|b|c\n1|2|3\n", b'|'),
        ("\"a,b,c\";d\n\"1,2\";3\n", b';'),
        ("alone\n1\n", b','),
        ("a^b\n1^2\n", b'^'),
        ("a:b\n1:2\n", b':'),
        ("time\n10:15\n", b','),
        ("", b','),
    ] {
        let found = sniff::delimiter(text.as_bytes(), b'"', None);
        assert_eq!(found, Delimiter::Byte(expected), "{text:?}");
    }
    let doubled = sniff::delimiter(b"a||b\n1||2\n||3\n", b'"', None);
    assert_eq!(doubled.to_string(), "||");
    // Rows with empty fields, and others without.
    let plain = sniff::delimiter(b"a|b|c\n1||2\n", b'"', None);
    assert_eq!(plain, Delimiter::Byte(b'|'));
    assert_eq!(sniff::of_name("x.TSV.gz"), Some(Delimiter::Byte(b'\t')));
    assert_eq!(sniff::delimiter(b"a  b\n1 2\n", b'"', None), Delimiter::Blanks);
    // Text has blanks too, but no columns.
    assert_eq!(sniff::delimiter(b"full name\nAda Lovelace\n", b'"', None), Delimiter::Byte(b','));
}

#[test]
fn the_first_of_two_bytes_is_found_wherever_it_is() {
    // Bytes next to those sought, which a borrow in a word could take for them.
    let near = [b'+', b',', b'-', 0x0b, b'\t', b'\n', 0x80, 0xff, 0, b'x'];
    let mut state = 7_u32;
    for length in 0..200 {
        let bytes: Vec<u8> = (0..length % 40)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                if state >> 28 > 2 { b'x' } else { near[(state >> 8) as usize % near.len()] }
            })
            .collect();
        let expected = bytes.iter().position(|byte| matches!(byte, b',' | b'\n'));
        assert_eq!(super::tokens::find_either(&bytes, b',', b'\n'), expected, "{bytes:?}");
    }
}

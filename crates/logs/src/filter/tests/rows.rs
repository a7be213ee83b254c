//! Searching rows end to end finds those that each match by themselves.

use proptest::prelude::*;

use super::{any_regex, any_text};
use crate::filter::Pattern;

/// Texts end to end between others, and where each begins.
fn end_to_end(rows: &[String]) -> (String, Vec<i32>) {
    let (mut text, mut offsets) = ("ab a".to_owned(), Vec::new());
    for row in rows {
        offsets.push(i32::try_from(text.len()).unwrap());
        text.push_str(row);
    }
    offsets.push(i32::try_from(text.len()).unwrap());
    text.push_str("ab a");
    (text, offsets)
}

fn found(pattern: &Pattern, text: &str, offsets: &[i32]) -> Vec<usize> {
    let mut found = Vec::new();
    pattern.rows(text.as_bytes(), offsets, |row| found.push(row));
    found
}

#[track_caller]
fn expect_rows_that_match(pattern: &Pattern, rows: &[String]) {
    let (text, offsets) = end_to_end(rows);
    let expected: Vec<usize> =
        (0..rows.len()).filter(|row| pattern.is_match(&rows[*row])).collect();
    assert_eq!(found(pattern, &text, &offsets), expected, "{pattern} in {rows:?}");
}

/// Short rows, empty ones, and some that are longer than what is compared at once.
fn any_rows() -> impl Strategy<Value = Vec<String>> {
    let row = prop_oneof![4 => any_text(8), 1 => any_text(200), 1 => "[a-c ]{60,140}"];
    prop::collection::vec(row, 0..30)
}

#[test]
fn a_row_is_found_once_and_none_for_what_crosses_its_end() {
    let rows: Vec<String> = ["a b a", "x a", " b", "", "ab", "b a"].map(str::to_owned).into();
    let (text, offsets) = end_to_end(&rows);
    let rows_of = |text_of_pattern: &str| {
        let pattern = Pattern::phrase(text_of_pattern, false).unwrap();
        found(&pattern, &text, &offsets)
    };
    assert_eq!(rows_of("a"), [0, 1, 5]);
    assert_eq!(rows_of("a b"), [0]);
    assert_eq!(rows_of("b"), [0, 2, 5]);
}

#[test]
fn anchors_are_about_a_row() {
    let rows: Vec<String> = ["abc", "abc abc", "", "xabc", "abc\nabc"].map(str::to_owned).into();
    for source in ["^abc$", "^abc", "abc$", "(?m:^abc$)", "^$", r"\babc\b", "abc(?s:.)+abc", ""] {
        if let Ok(pattern) = Pattern::regex(source, false) {
            expect_rows_that_match(&pattern, &rows);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn rows_of_a_phrase_are_those_that_match(
        text in any_text(4), is_prefix: bool, rows in any_rows()
    ) {
        if let Ok(pattern) = Pattern::phrase(&text, is_prefix) {
            expect_rows_that_match(&pattern, &rows);
        }
    }

    #[test]
    fn rows_of_a_longer_phrase_are_those_that_match(
        mut rows in prop::collection::vec("[a-c ]{0,90}", 1..9), start in 0..90_usize, length in 1..40_usize
    ) {
        let end = rows[0].len().min(start + length);
        if let Some(text) = rows[0].get(start..end)
            && let Ok(pattern) = Pattern::phrase(&text.to_uppercase(), false)
        {
            rows.rotate_left(1);
            expect_rows_that_match(&pattern, &rows);
        }
    }

    #[test]
    fn rows_of_a_regular_expression_are_those_that_match(
        source in any_regex(), ignores_case: bool, rows in any_rows()
    ) {
        if let Ok(pattern) = Pattern::regex(&source, ignores_case) {
            expect_rows_that_match(&pattern, &rows);
        }
    }

    #[test]
    fn no_offsets_and_no_bytes_are_too_strange(
        text: Vec<u8>, offsets in prop::collection::vec(-2..120_i32, 0..9), is_ascii: bool
    ) {
        let text: Vec<u8> = text.iter().map(|byte| if byte % 3 == 0 { b'a' } else { *byte }).collect();
        for pattern in [
            Pattern::phrase(if is_ascii { "a" } else { "aé" }, is_ascii).unwrap(),
            Pattern::phrase("å", true).unwrap(),
            Pattern::regex("aaa+|b", false).unwrap(),
            Pattern::regex("aaa+", false).unwrap(),
        ] {
            pattern.rows(&text, &offsets, |row| assert!(row + 1 < offsets.len()));
        }
    }
}

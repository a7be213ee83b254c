//! The document's examples are in the language, and its error is the one that there is.

use super::{fault, parsed};

const DOCUMENT: &str = include_str!("../../../../../docs/reference/filters.md");

/// The pieces of code in a line of Markdown: between equally long runs of backquotes.
fn code(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = line;
    while let Some(start) = rest.find('`') {
        rest = &rest[start..];
        let quotes = &rest[..rest.len() - rest.trim_start_matches('`').len()];
        let (inner, behind) = rest[quotes.len()..].split_once(quotes).unwrap();
        found.push(if quotes.len() == 1 { inner } else { inner.trim() }.to_owned());
        rest = behind;
    }
    found
}

/// The expressions of all tables that have a column of them.
fn examples() -> Vec<String> {
    let mut found = Vec::new();
    let mut is_table_of_expressions = false;
    for line in DOCUMENT.lines() {
        is_table_of_expressions &= line.starts_with('|');
        is_table_of_expressions |= line.starts_with("| expression |");
        if is_table_of_expressions {
            found.extend(line.split('|').nth(1).map(code).unwrap_or_default());
        }
    }
    found
}

#[test]
fn every_example_of_the_document_can_be_read() {
    let examples = examples();
    assert!(examples.len() > 40, "found only {}", examples.len());
    for example in examples {
        let filter = parsed(&example);
        assert_eq!(parsed(&filter.to_string()), filter, "{example}");
    }
}

#[test]
fn the_error_of_the_document_is_the_one_that_there_is() {
    let shown = DOCUMENT.split("```text\n").nth(1).unwrap().split("\n```").next().unwrap();
    assert_eq!(fault(shown.lines().nth(1).unwrap().trim()), shown);
}

#[test]
fn words_that_the_document_calls_required_are() {
    let required = |filter: &str| parsed(filter).root().required_words();
    let rows = DOCUMENT.split("| must have |\n").nth(1).unwrap();
    for row in rows.lines().skip(1).take_while(|line| line.starts_with('|')) {
        let (filters, told) = row[1..].split_once('|').unwrap();
        let told: Vec<&str> = told.split('"').skip(1).step_by(2).collect();
        for filter in code(filters) {
            let words = required(&filter);
            if filter.contains(" or ") && told.is_empty() && words.len() == 1 {
                assert_eq!(words, [["disk", "full"]], "{filter}");
            } else {
                assert_eq!(words.concat(), told, "{filter}");
            }
        }
    }
}

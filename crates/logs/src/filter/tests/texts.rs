//! What a pattern matches, and which words it can't do without.

use proptest::prelude::*;
use timestrata_engine::words::{fold, folded, is_word_char};

use super::{any_regex, any_text, words_of};
use crate::filter::Pattern;

/// The definition, without any haste.
fn is_match(phrase: &str, is_prefix: bool, text: &str) -> bool {
    let (phrase, text) = (folded(phrase), folded(text));
    let starts = text.char_indices().map(|(start, _)| start);
    starts.filter(|start| text[*start..].starts_with(&phrase)).any(|start| {
        let (before, behind) = (&text[..start], &text[start + phrase.len()..]);
        let begins = !phrase.starts_with(is_word_char) || !before.ends_with(is_word_char);
        let ends = !phrase.ends_with(is_word_char) || !behind.starts_with(is_word_char);
        begins && (ends || is_prefix)
    })
}

#[track_caller]
fn words(source: &str) -> Vec<String> {
    Pattern::regex(source, false).unwrap().words()
}

/// What the search relies on: a character keeps its side of a word's end when it is folded, and
/// folding once is enough.
#[test]
fn folding_keeps_words_apart_and_is_done_once() {
    for c in '\0'..=char::MAX {
        assert_eq!(is_word_char(c), is_word_char(fold(c)), "{c:?}");
        assert_eq!(fold(fold(c)), fold(c), "{c:?}");
    }
}

#[test]
fn letters_of_all_cases_are_found() {
    for c in '\0'..=char::MAX {
        if fold(c) != c {
            let text = format!("x {c}y {c}");
            assert!(Pattern::phrase(&fold(c).to_string(), false).unwrap().is_match(&text), "{c:?}");
        }
    }
}

#[test]
fn words_of_a_phrase_are_all_but_what_may_go_on() {
    let words = |text, is_prefix| Pattern::phrase(text, is_prefix).unwrap().words();
    assert_eq!(words("Connection refused", false), ["connection", "refused"]);
    assert_eq!(words("Connection refused", true), ["connection"]);
    assert_eq!(words("refused ", true), ["refused"]);
    assert_eq!(words("conn", true), Vec::<String>::new());
    assert_eq!(words("--", false), Vec::<String>::new());
}

#[test]
fn words_of_a_regular_expression_have_known_ends_on_both_sides() {
    let none = Vec::<String>::new();
    assert_eq!(words("connection refused by peer"), ["refused", "by"]);
    assert_eq!(words("^GET .* HTTP/1"), ["get", "http"]);
    assert_eq!(words(r"^(user) (?:id)\s+=[0-9]$"), ["user", "id"]);
    assert_eq!(words(r"\s+failed\b\."), ["failed"]);
    assert_eq!(words("(?m:^)fatal$"), ["fatal"]);
    assert_eq!(words(" (?i:NOT) "), ["not"]);
    // A long s is another letter, and the Kelvin sign too.
    assert_eq!(words(" (?i:disk) "), none);
    assert_eq!(words(r"\bfailed\b"), none);
    assert_eq!(words(" (a|b) c*d +(e )? "), none);
    assert_eq!(words(" failed *x *failed "), none);
    assert_eq!(words("error"), none);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn a_phrase_matches_where_its_definition_does(
        phrase in any_text(5), is_prefix: bool, text in any_text(30)
    ) {
        if let Ok(pattern) = Pattern::phrase(&phrase, is_prefix) {
            prop_assert_eq!(pattern.is_match(&text), is_match(&phrase, is_prefix, &text));
        }
    }

    #[test]
    fn a_word_matches_texts_that_have_it(word in "[aAkKéßẞωΩж東1_]{1,2}", text in any_text(20)) {
        let words = words_of(&text);
        let word_folded = folded(&word);
        let whole = Pattern::phrase(&word, false).unwrap();
        prop_assert_eq!(whole.is_match(&text), words.contains(&word_folded));
        let prefix = Pattern::phrase(&word, true).unwrap();
        let begins = words.iter().any(|word| word.starts_with(&word_folded));
        prop_assert_eq!(prefix.is_match(&text), begins);
    }

    #[test]
    fn texts_that_match_a_phrase_have_its_words(
        phrase in any_text(6), is_prefix: bool, before in any_text(6), behind in any_text(6)
    ) {
        let text = before + &phrase + &behind;
        if let Ok(pattern) = Pattern::phrase(&phrase, is_prefix) && pattern.is_match(&text) {
            let words = words_of(&text);
            prop_assert!(pattern.words().iter().all(|word| words.contains(word)));
        }
    }

    #[test]
    fn texts_that_match_a_regular_expression_have_its_words(
        source in any_regex(), ignores_case: bool, texts in prop::collection::vec(any_text(12), 20)
    ) {
        if let Ok(pattern) = Pattern::regex(&source, ignores_case) {
            for text in texts.iter().filter(|text| pattern.is_match(text)) {
                let words = words_of(text);
                prop_assert!(pattern.words().iter().all(|word| words.contains(word)), "{text:?}");
            }
        }
    }
}

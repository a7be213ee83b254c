//! Entries that pass have the required words.

use proptest::prelude::*;

use super::roundtrip::any_expression;
use super::{Entry, Value, any_text, parsed};
use crate::Level;

fn required(filter: &str) -> Vec<String> {
    let lists = parsed(filter).root().required_words();
    lists.iter().map(|list| list.join("|")).collect()
}

#[test]
fn each_word_of_what_is_side_by_side_is_required() {
    assert_eq!(required("Disk \"is full\" ref*"), ["disk", "is", "full"]);
    assert_eq!(required("message:disk user:ada level>=warn"), ["disk", "ada"]);
    assert_eq!(
        required("message=\"Disk full\" user=\"Ada B\" user=ada n=5"),
        ["disk", "full", "ada", "b", "ada"]
    );
}

#[test]
fn one_word_of_each_branch_is_required() {
    assert_eq!(required("disk or full"), ["disk|full"]);
    assert_eq!(required("(a longer or full) x"), ["longer|full", "x"]);
    assert_eq!(required("(a or b) c or d"), ["c|d"]);
}

#[test]
fn what_may_pass_without_words_requires_none() {
    for filter in ["", "not disk", "disk or n>5", "disk or ref*", "level=error", "x>\"a b\"", "x:*"]
    {
        assert!(required(filter).is_empty(), "{filter}");
    }
}

#[test]
fn numbers_and_truth_values_are_no_text() {
    assert!(required("n:404 n:1e3 n:-5 n:true n:/^404$/ n:\"1.5\"* n:/^true$/ n=404").is_empty());
    assert_eq!(
        required("404 message:404 path:\"a 404\" path:/^x 404 /"),
        ["404", "404", "a", "404", "x"]
    );
}

fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any_text(6).prop_map(Value::Text),
        prop::sample::select(vec!["1", "ab 1", "true", "1e1", "A"]).prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        prop::sample::select(vec![0, 1, 10, 11, -1]).prop_map(Value::from),
        prop::sample::select(vec![1.0, 0.1, f64::INFINITY, f64::NAN]).prop_map(Value::from),
    ]
}

fn any_entry() -> impl Strategy<Value = Entry> {
    let level = prop::option::of(prop::sample::select(Level::ALL.to_vec()));
    let fields = prop::collection::vec(any_value(), 0..3);
    (any_text(16), level, fields).prop_map(|(message, level, values)| {
        let mut entry = Entry { level, ..Entry::new(&message) };
        entry.fields = ["a", "b", "n"].map(str::to_owned).into_iter().zip(values).collect();
        entry
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn entries_that_pass_have_the_required_words(
        filter in any_expression(), entries in prop::collection::vec(any_entry(), 20)
    ) {
        let filter = parsed(&filter);
        let required = filter.root().required_words();
        for entry in entries.iter().filter(|entry| entry.passes(filter.root())) {
            let words = entry.words();
            let has_all = required.iter().all(|list| list.iter().any(|word| words.contains(word)));
            prop_assert!(has_all, "{filter} needs {required:?}, {entry:?}");
        }
    }
}

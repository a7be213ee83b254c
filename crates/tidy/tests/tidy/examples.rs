//! Public types have an example that runs: what a reader looks for first.

use std::collections::BTreeSet;

use timestrata_tidy::{Text, expect_none, texts};

/// Crates whose public types are looked at, and how many of them have no example yet. The number may only
/// fall; a crate that is new here is added with the number that it has.
const WITHOUT: &[(&str, usize)] = &[
    ("crates/engine", 0),
    ("crates/graph", 0),
    ("crates/logs", 0),
    ("crates/merkle", 0),
    ("crates/sql", 0),
    ("crates/table", 0),
    ("crates/timelog", 0),
    ("crates/topic", 0),
    ("crates/values", 0),
];

/// What a crate's root gives away: the names behind `pub use`.
fn exported(root: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for statement in root.split("pub use ").skip(1) {
        let statement = statement.split(';').next().unwrap_or_default();
        let words =
            statement.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        names.extend(words.filter(|word| word.starts_with(char::is_uppercase)).map(str::to_owned));
    }
    names
}

/// The public types that a file declares, and whether the text above each has an example.
fn types_of(file: &Text) -> Vec<(String, bool)> {
    let lines: Vec<&str> = file.text.lines().collect();
    let mut found = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        let declared = ["pub struct ", "pub enum ", "pub trait "];
        let Some(rest) = declared.iter().find_map(|word| line.strip_prefix(word)) else { continue };
        let name: String =
            rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
        let above = lines[..number].iter().rev();
        let mut above = above.take_while(|line| !line.trim().is_empty() && **line != "}");
        found.push((name, above.any(|line| line.starts_with("/// ```"))));
    }
    found
}

#[test]
fn public_types_have_an_example() {
    let files = texts();
    let mut found = Vec::new();
    for &(home, allowed) in WITHOUT {
        let root = files.iter().find(|file| file.path == format!("{home}/src/lib.rs"));
        let exported = root.map(|root| exported(&root.text)).unwrap_or_default();
        assert!(!exported.is_empty(), "{home} gives away no type");
        let source = format!("{home}/src/");
        let types = files
            .iter()
            .filter(|file| file.path.starts_with(&source) && file.is("rs") && !file.is_test())
            .flat_map(types_of);
        let bare: BTreeSet<String> = types
            .filter(|(name, has_example)| exported.contains(name) && !has_example)
            .map(|(name, _)| name)
            .collect();
        if bare.len() != allowed {
            let names: Vec<&str> = bare.iter().map(String::as_str).collect();
            found.push(format!(
                "{home}: {} public types have no example, {allowed} are told in \
                 crates/tidy/tests/tidy/examples.rs: {}",
                bare.len(),
                names.join(", ")
            ));
        }
    }
    expect_none("public types without an example", &found);
}

#[test]
fn an_example_above_a_type_is_found_past_its_attributes() {
    let text = "/// One.\n///\n/// ```\n/// let x = 1;\n/// ```\n#[derive(Debug)]\npub struct One;\n\n\
                /// Two.\npub enum Two {}\n";
    let file = Text { path: "a.rs".to_owned(), text: text.to_owned() };
    assert_eq!(types_of(&file), [("One".to_owned(), true), ("Two".to_owned(), false)]);
    assert!(exported("pub use a::{One, two};\npub use b::Three;").contains("Three"));
}

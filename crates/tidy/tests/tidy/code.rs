//! What code may not hold: other crates' duties, unfinished work, unexplained danger.

use timestrata_tidy::{Text, expect_none, text, texts};

/// Names of what only `crates/io` does.
const SURROUNDINGS: [&str; 5] =
    ["std::fs", "fs::File", "Instant::now", "SystemTime::now", "getrandom"];
/// Where they are allowed besides: people's files and stop watches are not the store's.
const AT_THE_EDGE: [&str; 4] = ["crates/io/", "crates/tidy/", "crates/cli/", "bench/"];
/// How far above a piece of unsafe code its reason may stand.
const REASON_LINES_MAX: usize = 12;

fn rust() -> Vec<Text> {
    texts().into_iter().filter(|file| file.is("rs")).collect()
}

/// Every line of code that holds one of the words, as `path:line: word`.
fn lines_with(files: &[Text], words: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    for file in files {
        for (number, line) in file.code().iter().enumerate() {
            if let Some(word) = words.iter().find(|word| line.contains(*word)) {
                found.push(format!("{}:{}: {word}", file.path, number + 1));
            }
        }
    }
    found
}

#[test]
fn only_the_io_crate_touches_disk_and_clocks() {
    let mut files = rust();
    files.retain(|file| {
        !file.is_test() && !AT_THE_EDGE.iter().any(|home| file.path.starts_with(home))
    });
    let words: Vec<String> = SURROUNDINGS.iter().map(|word| (*word).to_owned()).collect();
    expect_none("the surroundings named outside crates/io", &lines_with(&files, &words));
}

#[test]
fn nothing_is_unfinished_or_silenced() {
    // Put together here, so that this file does not hold what it looks for.
    let words = [
        ["to", "do!("],
        ["unimple", "mented!("],
        ["allow(dead", "_code)"],
        ["expect(dead", "_code"],
    ];
    let words: Vec<String> = words.iter().map(|word| word.concat()).collect();
    expect_none("unfinished or silenced code", &lines_with(&rust(), &words));
    let marks = [["TO", "DO"], ["FIX", "ME"], ["XX", "X"]].map(|mark| mark.concat());
    let mut found = Vec::new();
    for file in texts() {
        for (number, line) in file.text.lines().enumerate() {
            let mut words = line.split(|letter: char| !letter.is_ascii_alphanumeric());
            if words.any(|word| marks.iter().any(|mark| word == mark)) {
                found.push(format!("{}:{}", file.path, number + 1));
            }
        }
    }
    expect_none("notes to oneself", &found);
}

#[test]
fn unsafe_code_stands_where_it_may_and_says_why_it_is_sound() {
    let architecture = text("ARCHITECTURE.md");
    let allowed = architecture.lines().find(|line| line.contains("Unsafe code is allowed in"));
    let allowed: Vec<&str> =
        allowed.map(|line| line.split('`').skip(1).step_by(2).collect()).unwrap_or_default();
    assert!(!allowed.is_empty(), "ARCHITECTURE.md must say where unsafe code is allowed");
    let word = ["un", "safe"].concat();
    let mut found = Vec::new();
    for file in rust() {
        let raw: Vec<&str> = file.text.lines().collect();
        for (number, line) in file.code().iter().enumerate() {
            let is_dangerous =
                [" {", " fn ", " impl "].iter().any(|rest| line.contains(&format!("{word}{rest}")));
            if !is_dangerous {
                continue;
            }
            let place = format!("{}:{}", file.path, number + 1);
            if !allowed.iter().any(|home| file.path.starts_with(&format!("{home}/"))) {
                found.push(format!("{place}: not allowed here"));
            }
            let above = &raw[number.saturating_sub(REASON_LINES_MAX)..=number];
            if !above.iter().any(|line| line.contains("SAFETY:") || line.contains("# Safety")) {
                found.push(format!("{place}: says not why it is sound"));
            }
        }
    }
    expect_none("unsafe code", &found);
}

#[test]
fn every_module_has_a_name_of_its_own_and_says_what_it_owns() {
    let mut found = Vec::new();
    for file in rust() {
        let parts: Vec<&str> = file.path.trim_end_matches(".rs").split('/').collect();
        if parts.iter().any(|part| ["util", "utils", "common", "helper", "helpers"].contains(part))
        {
            found.push(format!("{}: a name that says nothing", file.path));
        }
        let is_module = file.path.contains("/src/") && !file.is_test();
        if is_module && !file.text.starts_with("//!") {
            found.push(format!("{}: begins without saying what it owns", file.path));
        }
    }
    expect_none("modules", &found);
}

//! Files and functions stay small enough to be read.

use timestrata_tidy::{Text, expect_none, texts};

const FILE_LINES_MAX: usize = 600;
const TEST_FILE_LINES_MAX: usize = 1_000;
const FUNCTION_LINES_MAX: usize = 70;
const DOCUMENT_LINES_MAX: usize = 500;
/// Whoever reads it has not decided yet to read on.
const README_LINES_MAX: usize = 120;
/// Those that are made of something else, and as long as that is.
const MADE: [&str; 4] =
    ["docs/benchmarks.md", "docs/report", "docs/reference/cli.md", "docs/reference/python"];

#[test]
fn files_are_short() {
    let mut lengths = Vec::new();
    let mut found = Vec::new();
    for file in texts() {
        let lines = file.text.lines().count();
        let lines_max = match () {
            () if file.is("rs") && file.is_test() => TEST_FILE_LINES_MAX,
            () if ["rs", "py", "go"].iter().any(|ending| file.is(ending)) => FILE_LINES_MAX,
            () if MADE.iter().any(|made| file.path.starts_with(made)) => continue,
            () if file.path == "README.md" => README_LINES_MAX,
            () if file.is("md") => DOCUMENT_LINES_MAX,
            () => continue,
        };
        if file.is("rs") {
            lengths.push(lines);
        }
        if lines > lines_max {
            found.push(format!("{}: {lines} lines, at most {lines_max}", file.path));
        }
    }
    lengths.sort_unstable();
    println!("median length of {} Rust files: {} lines", lengths.len(), lengths[lengths.len() / 2]);
    expect_none("files that are too long", &found);
}

#[test]
fn functions_are_short() {
    let mut found = Vec::new();
    for file in texts().iter().filter(|file| file.is("rs")) {
        for (name, line, lines) in functions(file) {
            if lines > FUNCTION_LINES_MAX {
                found.push(format!("{}:{line}: {name} has {lines} lines", file.path));
            }
        }
    }
    expect_none(&format!("functions of more than {FUNCTION_LINES_MAX} lines"), &found);
}

/// Name, first line and length of each function, as `cargo fmt` lays them out: a function
/// ends at the first brace that stands alone below its first word.
fn functions(file: &Text) -> Vec<(String, usize, usize)> {
    let lines: Vec<&str> = file.text.lines().collect();
    let mut found = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let indent = line.len() - code.len();
        let Some(name) = function_name(code) else {
            continue;
        };
        let end = lines[start..].iter().position(|line| {
            let inner = line.trim_start();
            line.len() - inner.len() == indent && (inner == "}" || inner.ends_with(';'))
        });
        if let Some(length) = end {
            found.push((name.to_owned(), start + 1, length + 1));
        }
    }
    found
}

fn function_name(code: &str) -> Option<&str> {
    let mut rest = code;
    for word in ["pub ", "pub(crate) ", "pub(super) ", "const ", "unsafe ", "extern \"C\" "] {
        rest = rest.strip_prefix(word).unwrap_or(rest);
    }
    let name = rest.strip_prefix("fn ")?;
    name.split(['(', '<']).next()
}

//! The house rules that no lint knows, as tests over the text of the repository.
//!
//! This file reads the tree; each file in `tests/` owns one kind of rule. A rule that stands
//! in the way is changed here, with its reason, and not worked around.

use std::path::{Path, PathBuf};

/// Folders that hold what is built and not what is written.
const SKIPPED: [&str; 7] =
    ["target", "__pycache__", "results", "venv", "node_modules", "corpus", "artifacts"];
/// Endings of files that are read as text.
const TEXT: [&str; 10] = ["rs", "py", "pyi", "go", "md", "toml", "sh", "yml", "yaml", "txt"];
/// Names of files that are text without an ending.
const TEXT_NAMES: [&str; 5] = ["Makefile", "run", "setup", "with-environment", ".gitignore"];

/// One text file of the repository.
#[derive(Debug, Clone)]
pub struct Text {
    /// Path from the top folder, with `/` between its parts.
    pub path: String,
    /// Its text.
    pub text: String,
}

impl Text {
    /// Whether the name ends so (without the dot).
    pub fn is(&self, ending: &str) -> bool {
        self.path.rsplit_once('.').is_some_and(|(_, found)| found == ending)
    }

    /// Whether it is test code as a whole.
    pub fn is_test(&self) -> bool {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        self.path.contains("/tests/") || name == "tests.rs" || name == "simulation.rs"
    }

    /// The lines of a Rust file with comments blanked, up to the unit tests at its end.
    pub fn code(&self) -> Vec<String> {
        let end = self.text.find("#[cfg(test)]\nmod tests {").unwrap_or(self.text.len());
        self.text[..end].lines().map(|line| without_comment(line).to_owned()).collect()
    }
}

fn without_comment(line: &str) -> &str {
    match line.find("//") {
        // A double slash behind a quote may be text; then the line counts as code whole.
        Some(at) if !line[..at].contains('"') => &line[..at],
        _ => line,
    }
}

/// The top folder of the repository.
pub fn root() -> PathBuf {
    let here = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_else(|_| ".".to_owned());
    Path::new(&here).join("../..")
}

/// All text files of the repository, sorted by path.
pub fn texts() -> Vec<Text> {
    let mut found = Vec::new();
    walk(&root(), "", &mut found);
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// One text file of the repository; empty if it is missing.
pub fn text(path: &str) -> String {
    texts().into_iter().find(|text| text.path == path).map(|text| text.text).unwrap_or_default()
}

#[expect(clippy::disallowed_methods, reason = "the rules are about files")]
fn walk(dir: &Path, prefix: &str, found: &mut Vec<Text>) {
    let Ok(entries) = std::fs::read_dir(dir) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{prefix}{name}");
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            let is_hidden = name.starts_with('.') && name != ".ci";
            if !is_hidden && !SKIPPED.contains(&name.as_str()) {
                walk(&entry.path(), &format!("{path}/"), found);
            }
            continue;
        }
        let is_text = name.rsplit_once('.').is_some_and(|(_, ending)| TEXT.contains(&ending))
            || TEXT_NAMES.contains(&name.as_str());
        if is_text && let Ok(text) = std::fs::read_to_string(entry.path()) {
            found.push(Text { path, text });
        }
    }
}

/// Fails with all that was found, a line each.
///
/// # Panics
/// If there is any.
pub fn expect_none(rule: &str, found: &[String]) {
    assert!(found.is_empty(), "{rule}:\n  {}", found.join("\n  "));
}

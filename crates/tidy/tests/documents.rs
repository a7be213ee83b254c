//! Documents can be reached, keep their promises tested, and speak of the project alone.

use timestrata_tidy::{expect_none, text, texts};

/// Where the word before a path may end.
const BEFORE_PATH: [char; 8] = [' ', '"', '\'', '`', '(', '=', ':', '\t'];

#[test]
fn every_document_is_linked_from_the_readme_or_the_architecture() {
    let links = text("README.md") + &text("ARCHITECTURE.md");
    let found: Vec<String> = texts()
        .into_iter()
        .filter(|file| file.path.starts_with("docs/") && file.is("md"))
        .filter(|file| !links.contains(&format!("]({})", file.path)))
        .map(|file| file.path)
        .collect();
    expect_none("documents that nothing links", &found);
}

#[test]
fn links_between_documents_lead_somewhere() {
    let all = texts();
    let mut found = Vec::new();
    for file in all.iter().filter(|file| file.is("md")) {
        let folder = file.path.rsplit_once('/').map_or(String::new(), |(dir, _)| format!("{dir}/"));
        for link in file.text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let target = link.split('#').next().unwrap_or_default();
            let is_ours = target.ends_with(".md") && !target.contains("://");
            // A document links downward, or to one in the folder above its own.
            let above = folder.trim_end_matches('/').rsplit_once('/').map_or("", |(dir, _)| dir);
            let full = match target.strip_prefix("../") {
                Some(rest) if above.is_empty() => rest.to_owned(),
                Some(rest) => format!("{above}/{rest}"),
                None => format!("{folder}{target}"),
            };
            if is_ours && !all.iter().any(|other| other.path == full) {
                found.push(format!("{}: {link}", file.path));
            }
        }
    }
    expect_none("links that lead nowhere", &found);
}

#[test]
fn every_promise_names_a_test_that_exists() {
    for document in [
        "docs/durability.md",
        "docs/guides/graph.md",
        "docs/guides/logs.md",
        "docs/guides/topic.md",
    ] {
        expect_promises_with_tests(&text(document));
    }
}

fn expect_promises_with_tests(document: &str) {
    let section = document.split("\n## Promises\n").nth(1).unwrap_or_default();
    let section = section.split("\n## ").next().unwrap_or_default();
    let all = texts();
    let mut found = Vec::new();
    let mut promises = 0;
    for promise in section.split("\n- ").skip(1) {
        promises += 1;
        let promise = promise.split("\n\n").next().unwrap_or_default().replace('\n', " ");
        let start: String = promise.chars().take(50).collect();
        let Some((_, tests)) = promise.rsplit_once("(test: ") else {
            found.push(format!("{start}...: names no test"));
            continue;
        };
        for name in tests.trim_end().trim_end_matches(')').split(',').map(str::trim) {
            let name = name.trim_matches('`');
            let (rust, python) = (format!("fn {name}("), format!("def {name}("));
            if !all.iter().any(|file| {
                file.is("rs") && file.text.contains(&rust)
                    || file.is("py") && file.text.contains(&python)
            }) {
                found.push(format!("{start}...: there is no test {name}"));
            }
        }
    }
    assert!(promises > 5, "found only {promises} promises");
    expect_none("promises without a test", &found);
}

#[test]
fn no_text_holds_a_path_of_somebodys_machine() {
    // Put together here, so that this file does not hold what it looks for.
    let homes = ["home", "Users", "root", "work"].map(|home| format!("/{home}/"));
    let mut found = Vec::new();
    for file in texts() {
        for (number, line) in file.text.lines().enumerate() {
            let holds = homes.iter().any(|home| {
                line.match_indices(home.as_str()).any(|(at, _)| {
                    line[..at].chars().next_back().is_none_or(|c| BEFORE_PATH.contains(&c))
                })
            });
            if holds {
                found.push(format!("{}:{}: {}", file.path, number + 1, line.trim()));
            }
        }
    }
    expect_none("paths of one machine", &found);
}

//! Documents can be reached, keep their promises tested, and speak of the project alone.

use timestrata_tidy::{Text, expect_none, text, texts};

/// Where the word before a path may end.
const BEFORE_PATH: [char; 8] = [' ', '"', '\'', '`', '(', '=', ':', '\t'];

#[test]
fn every_document_is_a_page_of_the_site_and_every_page_is_there() {
    let all = texts();
    let nav = text("mkdocs.yml");
    let named: Vec<String> = nav
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- ")?.rsplit_once(": ").map(|(_, page)| page))
        .filter(|page| page.ends_with(".md"))
        .map(|page| joined("docs/", page))
        .collect();
    assert!(named.len() > 20, "found only {} pages", named.len());
    let is_lost = |file: &&Text| {
        file.path.starts_with("docs/") && file.is("md") && !named.contains(&file.path)
    };
    let lost = all.iter().filter(is_lost).map(|file| format!("{}: not in mkdocs.yml", file.path));
    let is_there = |page: &String| all.iter().any(|file| file.path == *page);
    let missing =
        named.iter().filter(|page| !is_there(page)).map(|page| format!("mkdocs.yml: no {page}"));
    expect_none("pages of the site", &lost.chain(missing).collect::<Vec<_>>());
}

#[test]
fn links_between_documents_lead_somewhere() {
    let all = texts();
    let mut found = Vec::new();
    let mut links = 0;
    for file in all.iter().filter(|file| file.is("md")) {
        let folder = file.path.rsplit_once('/').map_or(String::new(), |(dir, _)| format!("{dir}/"));
        for link in file.text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let (target, anchor) = link.split_once('#').unwrap_or((link, ""));
            let is_ours = !link.contains("://") && (target.is_empty() || target.ends_with(".md"));
            if !is_ours {
                continue;
            }
            links += 1;
            let full = if target.is_empty() { file.path.clone() } else { joined(&folder, target) };
            match all.iter().find(|other| other.path == full) {
                None => found.push(format!("{}: {link}: no such file", file.path)),
                Some(other)
                    if !anchor.is_empty() && !anchors(&other.text).contains(&anchor.to_owned()) =>
                {
                    found.push(format!("{}: {link}: no such heading", file.path));
                }
                Some(_) => {}
            }
        }
    }
    assert!(links > 100, "found only {links} links");
    expect_none("links that lead nowhere", &found);
}

/// A path from a folder, which ends in `/` unless it is the top one.
fn joined(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." => {}
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

/// What the headings of a document are called in links: lower case, blanks as `-`, few other signs.
fn anchors(document: &str) -> Vec<String> {
    let heading = |line: &str| {
        let title = line.trim_start_matches('#').strip_prefix(' ')?;
        let kept = title.to_lowercase().replace(' ', "-");
        Some(kept.chars().filter(|c| c.is_alphanumeric() || ['-', '_'].contains(c)).collect())
    };
    document.lines().filter(|line| line.starts_with('#')).filter_map(heading).collect()
}

#[test]
fn every_promise_names_a_test_that_exists() {
    for document in [
        "docs/durability.md",
        "docs/guides/agents.md",
        "docs/guides/changes.md",
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

//! Dependencies point downward only, and the expensive ones stay at the top.

use timestrata_tidy::{expect_none, texts};
use toml::{Table, Value};

/// Each crate of the workspace, and those it may stand on.
const MAY_USE: [(&str, &[&str]); 26] = [
    ("lab/cutfs", &["io"]),
    ("crates/io", &[]),
    ("crates/format", &[]),
    ("crates/merkle", &[]),
    ("crates/codegraph", &[]),
    ("crates/tidy", &[]),
    ("crates/engine", &["io", "format"]),
    ("crates/values", &["engine"]),
    // A model each: none of them knows another.
    ("crates/timelog", &["io", "engine", "values"]),
    ("crates/table", &["io", "engine", "values"]),
    ("crates/logs", &["io", "engine", "values"]),
    ("crates/topic", &["io", "engine", "values", "merkle"]),
    ("crates/graph", &["io", "engine", "values", "merkle"]),
    ("crates/ingest", &["io", "engine", "values", "table", "logs"]),
    ("crates/codeindex", &["codegraph", "engine", "merkle", "graph"]),
    ("crates/sql", &["engine", "values", "timelog", "table", "logs", "topic", "graph"]),
    (
        "crates/timestrata",
        &[
            "engine", "values", "merkle", "timelog", "table", "logs", "topic", "graph", "ingest",
            "sql",
        ],
    ),
    ("crates/tracing", &["timestrata"]),
    (
        "crates/server",
        &[
            "codeindex",
            "engine",
            "merkle",
            "values",
            "table",
            "timelog",
            "logs",
            "topic",
            "graph",
            "ingest",
            "sql",
            "timestrata",
        ],
    ),
    ("crates/mcp", &["codeindex", "timestrata"]),
    ("crates/client", &["engine", "logs"]),
    ("crates/cli", &["client", "codeindex", "engine", "mcp", "timestrata", "sql", "server"]),
    (
        "python",
        &[
            "cli",
            "client",
            "engine",
            "values",
            "merkle",
            "timelog",
            "table",
            "logs",
            "topic",
            "graph",
            "ingest",
            "timestrata",
            "sql",
        ],
    ),
    (
        "crates/sim",
        &["timestrata", "io", "engine", "merkle", "timelog", "table", "logs", "topic", "graph"],
    ),
    ("bench/rust", &["io", "format", "engine", "table", "logs", "topic", "graph", "ingest", "sql"]),
    ("fuzz", &["io", "format", "engine", "merkle", "logs", "ingest"]),
];

/// What may be used only by some crates.
const RESERVED: [(&str, &[&str]); 6] = [
    ("datafusion", &["crates/sql"]),
    ("tokio", &["crates/sql", "crates/server", "crates/mcp", "crates/cli", "bench/rust", "python"]),
    ("rmcp", &["crates/mcp"]),
    // Benchmarks need a server that does nothing to hold the real one against.
    ("axum", &["crates/server", "bench/rust"]),
    ("pyo3", &["python"]),
    ("clap", &["crates/cli", "bench/rust"]),
];

/// Names under `[dependencies]` of a manifest.
fn dependencies(manifest: &str) -> Vec<&str> {
    let mut section = "";
    let mut names = Vec::new();
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            section = line;
            if let Some(name) = line.strip_prefix("[dependencies.") {
                names.push(name.trim_end_matches(']'));
            }
        } else if section == "[dependencies]" && !line.starts_with('#') {
            names.extend(line.split(['.', '=', ' ']).next().filter(|name| !name.is_empty()));
        }
    }
    names
}

#[test]
fn dependencies_point_downward() {
    let mut found = Vec::new();
    for manifest in texts().iter().filter(|file| file.path.ends_with("/Cargo.toml")) {
        let home = manifest.path.trim_end_matches("/Cargo.toml");
        if home == "bench/compare" || home.starts_with("bench/compare/") {
            continue;
        }
        let Some((_, may_use)) = MAY_USE.iter().find(|(name, _)| *name == home) else {
            found.push(format!("{home}: say in crates/tidy/tests/tidy/crates.rs what it may use"));
            continue;
        };
        for name in dependencies(&manifest.text) {
            let inner = match name {
                "timestrata" => Some("timestrata"),
                _ => name.strip_prefix("timestrata-"),
            };
            if inner.is_some_and(|inner| !may_use.contains(&inner)) {
                found.push(format!("{home} may not use {name}"));
            }
            let reserved = RESERVED.iter().find(|(reserved, _)| {
                name == *reserved
                    || name.strip_prefix(reserved).is_some_and(|rest| rest.starts_with('-'))
            });
            if reserved.is_some_and(|(_, homes)| !homes.contains(&home)) {
                found.push(format!("{home} may not use {name}"));
            }
        }
    }
    expect_none("dependencies that point upward", &found);
}

/// A generic function is compiled once, by the first crate that uses it: one of these, unoptimised, slowed
/// the whole engine down, and tests with it.
#[test]
fn whatever_the_engine_stands_on_is_optimised_in_tests_too() {
    let lock: Table = include_str!("../../../../Cargo.lock").parse().expect("Cargo.lock");
    let packages = lock["package"].as_array().expect("packages");
    // With a version behind it where there are several.
    let name_of = |listed: &Value| listed.as_str()?.split(' ').next().map(str::to_owned);
    let mut below = vec!["timestrata-engine".to_owned()];
    let mut next = 0;
    while let Some(name) = below.get(next).cloned() {
        next += 1;
        for package in packages.iter().filter(|package| package["name"].as_str() == Some(&name)) {
            let needed = package.get("dependencies").and_then(Value::as_array);
            for name in needed.into_iter().flatten().filter_map(name_of) {
                if !below.contains(&name) {
                    below.push(name);
                }
            }
        }
    }
    let manifest: Table = timestrata_tidy::text("Cargo.toml").parse().expect("Cargo.toml");
    let profiles = manifest["profile"]["dev"]["package"].as_table().expect("profiles");
    let unoptimised = |name: &&String| profiles[*name]["opt-level"].as_integer() == Some(0);
    let found: Vec<_> = profiles.keys().filter(unoptimised).cloned().collect();
    assert!(!found.is_empty() && below.contains(&"arrow-array".to_owned()));
    let found: Vec<_> = found.into_iter().filter(|name| below.contains(name)).collect();
    expect_none("unoptimised crates below the engine", &found);
}

/// Releases optimise in full what is named for it; a rule for all packages would be for macros too.
#[test]
fn crates_of_releases_are_optimised_and_macros_are_not() {
    const NOT_RELEASED: [&str; 2] = ["timestrata-sim", "timestrata-tidy"];
    let manifest: Table = timestrata_tidy::text("Cargo.toml").parse().expect("Cargo.toml");
    let lock: Table = include_str!("../../../../Cargo.lock").parse().expect("Cargo.lock");
    let packages = lock["package"].as_array().expect("packages");
    let names = packages.iter().filter_map(|package| package["name"].as_str());
    let is_released = |name: &&str| name.starts_with("timestrata") && !NOT_RELEASED.contains(name);
    let ours: Vec<String> = names.filter(is_released).map(str::to_owned).collect();
    assert!(ours.contains(&"timestrata-engine".to_owned()));
    let rules = |profile: &str| manifest["profile"][profile]["package"].as_table().expect("rules");
    let level = |name: &str| rules("release").get(name)?.get("opt-level")?.as_integer();
    let found: Vec<_> = ours.into_iter().filter(|name| level(name) != Some(3)).collect();
    expect_none("crates that releases don't optimise in full", &found);
    let mut for_all = vec!["dev".to_owned(), "release".to_owned()];
    for_all.retain(|profile| rules(profile).contains_key("*"));
    expect_none("profiles with a rule for all packages", &for_all);
}

#[test]
fn the_architecture_gives_a_reason_for_every_dependency() {
    let architecture = timestrata_tidy::text("ARCHITECTURE.md");
    let manifest = timestrata_tidy::text("Cargo.toml");
    let mut found = Vec::new();
    let mut in_dependencies = false;
    for line in manifest.lines() {
        if line.starts_with('[') {
            in_dependencies = line == "[workspace.dependencies]";
        } else if in_dependencies && let Some((name, _)) = line.split_once(" = ") {
            let is_ours = name.starts_with("timestrata");
            let has_reason = architecture.contains(&format!("`{name}`"));
            found.extend((!is_ours && !has_reason).then(|| name.to_owned()));
        }
    }
    expect_none("dependencies that ARCHITECTURE.md gives no reason for", &found);
}

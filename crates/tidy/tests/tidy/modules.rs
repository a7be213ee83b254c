//! Within a crate, too, dependencies point downward only: no circle between the modules of its top level.
//!
//! What a module names by `crate::` counts, in `use` and in the middle of code; a name that the crate's
//! root re-exports counts as its module. Comments and tests don't count.

use std::collections::{BTreeMap, BTreeSet};

use timestrata_tidy::{Text, expect_none, texts};

/// From the bottom up: what a module of the engine names stands before it here. As ARCHITECTURE.md draws it.
const ENGINE: [&[&str]; 11] = [
    &["code_table", "error", "ids", "planted", "within", "words"],
    &["cell", "damage", "lock", "memory", "query", "settings", "stream"],
    &["key", "tombstones"],
    &["compaction", "scan"],
    &["memtable", "run", "snapshot"],
    &["manifest", "wal"],
    &["directory", "key_changes"],
    &["encoded_rows", "state"],
    &["changes", "check", "maintenance", "recovery"],
    &["backup", "catalog", "commit", "feed", "repair", "row_encoder"],
    &["store"],
];

/// Which module names which, and where it does so first.
type Edges = BTreeMap<(String, String), String>;

/// One crate of the repository: its folder, and what its modules name.
struct Crate {
    home: String,
    modules: BTreeSet<String>,
    edges: Edges,
}

/// A file's code without its unit tests, its line breaks and what stands between quotes.
fn code_of(file: &Text) -> String {
    let mut code = String::new();
    for line in file.code() {
        let mut is_text = false;
        let mut before = ' ';
        for letter in line.chars() {
            let is_quote = letter == '"' && before != '\\' && before != '\'';
            is_text ^= is_quote;
            code.extend((!is_text && !is_quote).then_some(letter));
            before = letter;
        }
        code.push(' ');
    }
    code
}

/// The paths that a tree of `use` names: `a::{b, c::d}` is `a::b` and `a::c::d`.
fn paths_of(tree: &str) -> Vec<String> {
    let tree = tree.trim();
    let Some((before, rest)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap_or_default();
        return vec![path.split_whitespace().collect()];
    };
    let inner = rest.rsplit_once('}').map_or(rest, |(inner, _)| inner);
    let mut depth = 0;
    let parts = inner.split(|letter| {
        depth += i32::from(letter == '{') - i32::from(letter == '}');
        letter == ',' && depth == 0
    });
    let inner: Vec<String> =
        parts.filter(|part| !part.trim().is_empty()).flat_map(paths_of).collect();
    inner.into_iter().map(|path| format!("{}{path}", before.trim())).collect()
}

/// What stands between each of these words and the end of its statement.
fn statements<'a>(code: &'a str, word: &str) -> Vec<&'a str> {
    let behind = code.match_indices(word).map(|(at, _)| &code[at + word.len()..]);
    behind.filter_map(|rest| rest.split_once(';').map(|(statement, _)| statement)).collect()
}

fn is_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

/// The modules that a crate's root declares.
fn modules_of(root: &str) -> BTreeSet<String> {
    let named = statements(root, "mod ").into_iter().map(str::trim);
    named.filter(|name| name.chars().all(is_name)).map(str::to_owned).collect()
}

/// What the root re-exports, with the module that it is from.
fn exports_of(root: &str, modules: &BTreeSet<String>) -> BTreeMap<String, String> {
    let mut exports = BTreeMap::new();
    for path in statements(root, "use ").into_iter().flat_map(paths_of) {
        let path = path.trim_start_matches("crate::").trim_start_matches("self::");
        if let (Some((module, _)), Some(name)) = (path.split_once("::"), path.rsplit("::").next())
            && modules.contains(module)
        {
            exports.insert(name.to_owned(), module.to_owned());
        }
    }
    exports
}

/// The names that stand behind `crate::` in a file's code.
fn names_of(code: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for path in statements(code, "use ").into_iter().flat_map(paths_of) {
        if let Some(rest) = path.strip_prefix("crate::") {
            names.extend(rest.split("::").next().map(str::to_owned));
        }
    }
    for (at, word) in code.match_indices("crate::") {
        let rest = &code[at + word.len()..];
        let name: String = rest.chars().take_while(|letter| is_name(*letter)).collect();
        names.extend((!name.is_empty()).then_some(name));
    }
    names
}

/// All crates, with what their modules name.
fn crates() -> Vec<Crate> {
    let files = texts();
    let mut crates = Vec::new();
    for root in files.iter().filter(|file| file.path.ends_with("/src/lib.rs")) {
        let home = root.path.trim_end_matches("/src/lib.rs").to_owned();
        let code = code_of(root);
        let modules = modules_of(&code);
        let exports = exports_of(&code, &modules);
        let mut edges = Edges::new();
        let prefix = format!("{home}/src/");
        for file in files.iter().filter(|file| file.is("rs") && !file.is_test()) {
            let Some(path) = file.path.strip_prefix(&prefix) else { continue };
            let module = path.trim_end_matches(".rs").split('/').next().unwrap_or_default();
            if !modules.contains(module) {
                continue;
            }
            for name in names_of(&code_of(file)) {
                let target = modules.get(&name).or_else(|| exports.get(&name));
                if let Some(target) = target.filter(|target| *target != module) {
                    let edge = (module.to_owned(), target.clone());
                    edges.entry(edge).or_insert_with(|| format!("{} ({name})", file.path));
                }
            }
        }
        crates.push(Crate { home, modules, edges });
    }
    crates
}

impl Crate {
    /// What can be reached from a module.
    fn reached(&self, from: &str) -> BTreeSet<&str> {
        let mut reached = BTreeSet::new();
        let mut rest = vec![from];
        while let Some(module) = rest.pop() {
            for (_, target) in self.edges.keys().filter(|(source, _)| source == module) {
                if reached.insert(target.as_str()) {
                    rest.push(target);
                }
            }
        }
        reached
    }

    /// The circles: modules that reach each other.
    fn circles(&self) -> BTreeSet<Vec<&str>> {
        let reached: BTreeMap<&str, BTreeSet<&str>> =
            self.modules.iter().map(|module| (module.as_str(), self.reached(module))).collect();
        let mut circles = BTreeSet::new();
        for (module, others) in reached.iter().filter(|(module, others)| others.contains(*module)) {
            let is_in = |other: &&str| reached[other].contains(module);
            circles.insert(others.iter().copied().filter(is_in).collect());
        }
        circles
    }
}

#[test]
fn modules_of_a_crate_make_no_circle() {
    let mut found = Vec::new();
    for a_crate in crates() {
        for circle in a_crate.circles() {
            found.push(format!("{}: {}", a_crate.home, circle.join(", ")));
            let inner = a_crate.edges.iter().filter(|((source, target), _)| {
                circle.contains(&source.as_str()) && circle.contains(&target.as_str())
            });
            found.extend(inner.map(|((from, to), at)| format!("    {from} names {to}: {at}")));
        }
    }
    expect_none("circles between the modules of a crate", &found);
}

#[test]
fn modules_of_the_engine_name_what_is_below_them() {
    let engine = crates().into_iter().find(|found| found.home == "crates/engine");
    let engine = engine.expect("the engine");
    let level = |module: &str| ENGINE.iter().position(|level| level.contains(&module));
    let mut found: Vec<String> = engine
        .modules
        .iter()
        .filter(|module| level(module).is_none())
        .map(|module| format!("say on which level '{module}' is"))
        .collect();
    for ((from, to), at) in &engine.edges {
        if level(from) <= level(to) {
            found.push(format!("{from} names {to}, which is not below it: {at}"));
        }
    }
    expect_none("modules of the engine that name what is not below them", &found);
}

#[test]
fn one_place_puts_edits_of_the_manifest_together() {
    const HOMES: [&str; 2] = ["crates/engine/src/manifest/", "crates/engine/src/state/edit.rs"];
    let mut found = Vec::new();
    for file in texts().iter().filter(|file| file.path.starts_with("crates/engine/src/")) {
        if HOMES.iter().any(|home| file.path.starts_with(home)) {
            continue;
        }
        let code = code_of(file);
        // An operation says what is to change, and is given to `Edit` and to nothing else.
        let is_given = |(at, _): (usize, &str)| code[..at].trim_end().ends_with("edit.change(");
        if code.contains("VersionEdit") || !code.match_indices("ManifestOp::").all(is_given) {
            found.push(format!("{}: use `Edit` of `state`", file.path));
        }
    }
    expect_none("edits of the manifest that are put together elsewhere", &found);
}

#[test]
fn what_stands_in_trees_of_use_and_in_code_is_found() {
    assert_eq!(
        paths_of("crate::{a, b::{self, C}, d as e}"),
        ["crate::a", "crate::b::self", "crate::b::C", "crate::d"]
    );
    let names = names_of("use crate::{Error, run::RunReader}; fn f() { crate::check::check(); }");
    assert_eq!(names.into_iter().collect::<Vec<_>>(), ["Error", "check", "run"]);
    let code = |text: &str| code_of(&Text { path: String::new(), text: text.to_owned() });
    assert!(names_of(&code("// crate::a\nlet text = \"crate::b\";")).is_empty());
}

//! The standard library of the Python that is here, as much code as there is at hand: known things
//! about it are found, and nothing in it does harm.
#![expect(clippy::disallowed_methods, reason = "sources are files of other people")]

use std::path::PathBuf;
use std::process::Command;

use timestrata_codegraph::{
    EdgeKind, Facts, Language, Resolved, SourceOptions, extract, resolve, sources,
};

/// Its folder, if there is one.
fn folder() -> Option<PathBuf> {
    let code = "import os; print(os.path.dirname(os.__file__))";
    let found = Command::new("python3").args(["-c", code]).output().ok()?;
    let path = String::from_utf8(found.stdout).ok()?;
    Some(PathBuf::from(path.trim())).filter(|path| path.join("argparse.py").is_file())
}

fn files(root: &std::path::Path) -> (Vec<(String, Facts)>, Vec<String>) {
    let (mut read, mut skipped) = (Vec::new(), Vec::new());
    for source in sources(root, &SourceOptions::default()).flatten() {
        if source.path.starts_with("site-packages/") || source.language != Some(Language::Python) {
            continue;
        }
        let bytes = std::fs::read(root.join(&source.path)).unwrap();
        match extract(Language::Python, &bytes) {
            Ok(facts) => read.push((source.path, facts)),
            Err(error) => skipped.push(format!("{}: {error}", source.path)),
        }
    }
    (read, skipped)
}

fn callers<'a>(graph: &'a Resolved, target: &str) -> Vec<&'a str> {
    let target = graph.nodes.iter().position(|node| node.key == target).unwrap() as u32;
    let calls = graph.edges.iter().filter(|edge| edge.kind == EdgeKind::Calls);
    let calls = calls.filter(|edge| edge.target == target);
    calls.map(|edge| graph.node(edge.source).unwrap().key.as_str()).collect()
}

#[test]
fn known_calls_of_the_standard_library_are_found() {
    let Some(root) = folder() else {
        println!("skipped: there is no Python with its library here");
        return;
    };
    let (read, skipped) = files(&root);
    println!("{} files read, {} skipped: {skipped:#?}", read.len(), skipped.len());
    let given: Vec<(&str, &Facts)> =
        read.iter().map(|(path, facts)| (path.as_str(), facts)).collect();
    let graph = resolve(&given);
    let parse = callers(&graph, "argparse.py::ArgumentParser.parse_known_args");
    assert!(parse.contains(&"argparse.py::ArgumentParser.parse_args"), "{parse:?}");
    let encode = callers(&graph, "json/encoder.py::JSONEncoder.encode");
    assert!(encode.contains(&"json/__init__.py::dumps"), "{encode:?}");
    let dumps = callers(&graph, "json/__init__.py::dumps");
    println!("callers of json.dumps: {dumps:?}");
    let join = callers(&graph, "posixpath.py::join");
    assert!(join.len() > 100, "{} callers of posixpath.join", join.len());
    let classes = callers(&graph, "collections/__init__.py::OrderedDict");
    assert!(classes.len() > 10, "{} makers of OrderedDict", classes.len());
}

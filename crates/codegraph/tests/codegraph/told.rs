//! Facts and graphs as lines of text, to be held against what is expected.

use timestrata_codegraph::{
    Confidence, EdgeKind, Facts, Language, ReferenceKind, Resolved, extract, resolve,
};

/// The facts of a source, which has to be right.
pub(crate) fn facts(language: Language, source: &str) -> Facts {
    extract(language, source.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{source}"))
}

fn inside(facts: &Facts, symbol: Option<u32>) -> String {
    let symbol = symbol.map(|at| &facts.symbols[at as usize]);
    symbol.map_or(String::new(), |symbol| format!(" in {}", facts.text(symbol.qualified)))
}

/// Each symbol: its kind, its name in the file, where it begins and ends.
pub(crate) fn symbols(facts: &Facts) -> Vec<String> {
    let line = |symbol: &timestrata_codegraph::Symbol| {
        let (start, end) = (symbol.span.start, symbol.span.end);
        let owner = symbol.owner.map_or(String::new(), |name| format!(" of {}", facts.text(name)));
        format!(
            "{} {} {}:{}-{}:{}{owner}",
            symbol.kind.name(),
            facts.text(symbol.qualified),
            start.line,
            start.column,
            end.line,
            end.column
        )
    };
    facts.symbols.iter().map(line).collect()
}

/// Each import as Python writes it, with where it stands.
pub(crate) fn imports(facts: &Facts) -> Vec<String> {
    let line = |import: &timestrata_codegraph::Import| {
        let dots = ".".repeat(import.level as usize);
        let mut line = format!("{dots}{}", facts.text(import.module));
        if import.is_wildcard {
            line += " *";
        }
        if let Some(name) = import.imported {
            line += &format!(" {}", facts.text(name));
        }
        if let Some(name) = import.alias {
            line += &format!(" as {}", facts.text(name));
        }
        let at = import.at;
        format!("{line} {}:{}{}", at.line, at.column, inside(facts, import.inside))
    };
    facts.imports.iter().map(line).collect()
}

/// Each reference of a kind, with where it stands.
pub(crate) fn references(facts: &Facts, kind: ReferenceKind) -> Vec<String> {
    let of_kind = facts.references.iter().filter(|reference| reference.kind == kind);
    let line = |reference: &timestrata_codegraph::Reference| {
        let at = reference.at;
        let name = facts.text(reference.callee);
        format!("{name} {}:{}{}", at.line, at.column, inside(facts, reference.inside))
    };
    of_kind.map(line).collect()
}

pub(crate) fn calls(facts: &Facts) -> Vec<String> {
    references(facts, ReferenceKind::Call)
}

/// The graph of files that are given as paths and sources.
pub(crate) fn graph(files: &[(&str, &str)]) -> Resolved {
    let facts_of = |path: &str, source: &str| facts(Language::of_path(path).unwrap(), source);
    let all: Vec<(&str, Facts)> =
        files.iter().map(|(path, source)| (*path, facts_of(path, source))).collect();
    let given: Vec<(&str, &Facts)> = all.iter().map(|(path, facts)| (*path, facts)).collect();
    resolve(&given)
}

/// The edges of a kind as `source -> target`, with the lines of their sites; `?` marks those that
/// only their name tells, and what has no target is told with a `!`.
pub(crate) fn edges(graph: &Resolved, kind: EdgeKind) -> Vec<String> {
    let key = |number: u32| graph.node(number).unwrap().key.clone();
    let at = |sites: &[timestrata_codegraph::Position]| {
        let sites: Vec<String> = sites.iter().map(|site| site.line.to_string()).collect();
        sites.join(",")
    };
    let known = graph.edges.iter().filter(|edge| edge.kind == kind).map(|edge| {
        let mark = if edge.confidence == Confidence::ByName { "?" } else { "" };
        format!("{} -> {mark}{} @{}", key(edge.source), key(edge.target), at(&edge.sites))
    });
    let loose = graph.unresolved.iter().filter(|loose| loose.kind == kind);
    let loose = loose
        .map(|loose| format!("{} -> !{} @{}", key(loose.source), loose.name, at(&loose.sites)));
    known.chain(loose).collect()
}

/// Fails with what is missing and what is too much.
pub(crate) fn expect(found: &[String], expected: &[&str]) {
    let missing: Vec<_> =
        expected.iter().filter(|line| !found.iter().any(|f| f == **line)).collect();
    let surplus: Vec<_> = found.iter().filter(|line| !expected.contains(&line.as_str())).collect();
    assert!(missing.is_empty() && surplus.is_empty(), "missing {missing:#?}\nsurplus {surplus:#?}");
}

pub(crate) fn expect_calls(files: &[(&str, &str)], expected: &[&str]) {
    expect(&edges(&graph(files), EdgeKind::Calls), expected);
}

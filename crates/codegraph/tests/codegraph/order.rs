//! The same files give the same graph, in whatever order they come, and whatever was there before.

use proptest::prelude::*;
use timestrata_codegraph::{Facts, Language, Resolved, resolve};

use crate::told::facts;

const NAMES: [&str; 6] = ["a", "b", "pkg/__init__", "pkg/a", "pkg/c", "other/b"];

/// Files of few names, so that they collide and refer to each other.
fn files() -> impl Strategy<Value = Vec<(String, String)>> {
    let line = prop::sample::select(vec![
        "import a",
        "from a import *",
        "from b import f as g",
        "from . import c",
        "from .a import f",
        "import pkg.a as p",
        "def f(): g(); A().f()",
        "def g(f): f()",
        "class A(B):\n  def f(self): self.g()",
        "class B(A):\n  def g(self): super().f(); p.f()",
        "f()",
        "A.f()",
        "x = A()",
        "x.g()",
    ]);
    let source = prop::collection::vec(line, 0..8).prop_map(|lines| lines.join("\n") + "\n");
    let file = (prop::sample::select(NAMES.to_vec()), source);
    prop::collection::btree_map(file.0, file.1, 1..6).prop_map(|files| {
        files.into_iter().map(|(name, source)| (format!("{name}.py"), source)).collect()
    })
}

fn resolved(files: &[(String, Facts)]) -> Resolved {
    let given: Vec<(&str, &Facts)> =
        files.iter().map(|(path, facts)| (path.as_str(), facts)).collect();
    resolve(&given)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn the_order_of_files_does_not_matter(
        (files, shuffled) in files().prop_flat_map(|files| {
            (Just(files.clone()), Just(files).prop_shuffle())
        }),
    ) {
        let read = |files: &[(String, String)]| -> Vec<(String, Facts)> {
            let one = |(path, source): &(String, String)| {
                (path.clone(), facts(Language::Python, source))
            };
            files.iter().map(one).collect()
        };
        prop_assert_eq!(resolved(&read(&files)), resolved(&read(&shuffled)));
    }
}

#[test]
fn edges_and_nodes_are_in_order_and_told_once() {
    let files =
        [("a.py", "def f(): f(); g(); f()\ndef g(): f()\n"), ("b.py", "from a import f\nf()\n")];
    let graph = crate::told::graph(&files);
    let keys: Vec<_> =
        graph.edges.iter().map(|edge| (edge.source, edge.kind, edge.target)).collect();
    let mut sorted = keys.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(keys, sorted);
}

#[test]
fn names_that_lead_everywhere_end_soon() {
    let modules: Vec<String> = (0..30).map(|number| format!("m{number}.py")).collect();
    let imports: String = (0..30).map(|number| format!("from m{number} import f\n")).collect();
    let source = imports + "from m1 import *\nf()\ng()\nx = x.y\nx()\n";
    let files: Vec<(&str, &str)> =
        modules.iter().map(|path| (path.as_str(), source.as_str())).collect();
    assert!(crate::told::graph(&files).edges.len() > 800);
    let itself =
        "struct A { x: self::x, y: Self }\nimpl A { fn f(&self) { self.x.x.f(); self.y.y.f() } }\n";
    crate::told::expect_calls(&[("lib.rs", itself)], &["lib.rs::A.f -> lib.rs::A.f @2,2"]);
}

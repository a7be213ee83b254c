//! Indexing again, after any edits, gives what a clean index gives.

use proptest::prelude::*;

use super::{Tree, contents, graph, indexed};

const FILES: [&str; 5] = ["a.py", "b.py", "pkg/__init__.py", "pkg/c.py", "pkg/sub/d.py"];
const NAMES: [&str; 4] = ["f", "g", "Shape", "run"];

#[derive(Debug, Clone)]
enum Edit {
    /// A file with functions of these names, which call those.
    Write(usize, Vec<(usize, Vec<usize>)>),
    /// One that can't be parsed.
    Break(usize),
    Remove(usize),
    Move(usize, usize),
    /// All of one name get another, in one file.
    Rename(usize, usize, usize),
}

fn edit() -> impl Strategy<Value = Edit> {
    let (file, name) = (0..FILES.len(), 0..NAMES.len());
    let functions =
        prop::collection::vec((name.clone(), prop::collection::vec(name.clone(), 0..3)), 0..4);
    prop_oneof![
        4 => (file.clone(), functions).prop_map(|(file, functions)| Edit::Write(file, functions)),
        1 => file.clone().prop_map(Edit::Break),
        1 => file.clone().prop_map(Edit::Remove),
        1 => (file.clone(), file.clone()).prop_map(|(from, to)| Edit::Move(from, to)),
        2 => (file, name.clone(), name).prop_map(|(file, from, to)| Edit::Rename(file, from, to)),
    ]
}

fn source(functions: &[(usize, Vec<usize>)]) -> String {
    let mut text =
        "import os\nfrom a import *\nfrom pkg import c\nimport pkg.sub.d as d\n".to_owned();
    for (name, calls) in functions {
        let name = NAMES[*name];
        let head = if name == "Shape" { "class Shape(c.Shape)" } else { &format!("def {name}()") };
        text.push_str(&format!("{head}:\n    os.getcwd()\n"));
        for call in calls {
            let call = NAMES[*call];
            text.push_str(&format!("    {call}()\n    c.{call}()\n    d.{call}()\n"));
        }
    }
    text
}

fn apply(tree: &Tree, edit: &Edit) {
    let path = |file: usize| tree.path().join(FILES[file]);
    match edit {
        Edit::Write(file, functions) => tree.write(FILES[*file], &source(functions)),
        Edit::Break(file) => tree.write(FILES[*file], "def (:\n"),
        Edit::Remove(file) => drop(std::fs::remove_file(path(*file))),
        Edit::Move(from, to) => {
            if let Ok(text) = std::fs::read_to_string(path(*from)) {
                std::fs::remove_file(path(*from)).unwrap();
                tree.write(FILES[*to], &text);
            }
        }
        Edit::Rename(file, from, to) => {
            if let Ok(text) = std::fs::read_to_string(path(*file)) {
                let renamed =
                    text.replace(&format!("{}(", NAMES[*from]), &format!("{}(", NAMES[*to]));
                tree.write(FILES[*file], &renamed);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn an_incremental_index_equals_a_clean_one(
        rounds in prop::collection::vec(prop::collection::vec(edit(), 1..4), 1..8),
    ) {
        let tree = Tree::new(&[("a.py", &source(&[(0, vec![1]), (1, vec![])]))]);
        let kept = graph();
        for edits in &rounds {
            edits.iter().for_each(|edit| apply(&tree, edit));
            let again = indexed(&kept, &tree);
            let clean = graph();
            let first = indexed(&clean, &tree);
            prop_assert_eq!((again.files, &again.skipped), (first.files, &first.skipped));
            prop_assert_eq!(contents(&kept), contents(&clean));
        }
    }
}

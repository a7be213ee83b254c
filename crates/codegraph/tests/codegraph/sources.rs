//! Which files of a folder are told.
#![expect(clippy::disallowed_methods, reason = "sources are files of other people")]

use std::path::Path;

use timestrata_codegraph::{SourceOptions, sources};

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn told(root: &Path, options: &SourceOptions) -> Vec<String> {
    sources(root, options).map(|source| source.unwrap().path).collect()
}

#[test]
fn ignored_hidden_and_foreign_files_are_left_out_and_the_rest_is_sorted() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    for path in ["b.py", "a/z.rs", "a.py", "a/b.c", "note.txt", ".hid/x.py", "out/x.py", "x_gen.go"]
    {
        write(root, path, "");
    }
    write(root, "script", "#!/usr/bin/python\n");
    write(root, ".gitignore", "out/\n");
    write(root, ".ignore", "*_gen.go\n");
    write(root, ".git/x.py", "");
    assert_eq!(told(root, &SourceOptions::default()), ["a/b.c", "a/z.rs", "a.py", "b.py"]);
    let all = SourceOptions { heeds_ignore_files: false, with_hidden: true, with_scripts: true };
    let expected =
        [".hid/x.py", "a/b.c", "a/z.rs", "a.py", "b.py", "out/x.py", "script", "x_gen.go"];
    assert_eq!(told(root, &all), expected);
}

#[cfg(unix)]
#[test]
fn links_are_not_followed() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    write(root, "a/b.py", "");
    std::os::unix::fs::symlink(root, root.join("a/loop")).unwrap();
    std::os::unix::fs::symlink(root.join("a/b.py"), root.join("link.py")).unwrap();
    assert_eq!(told(root, &SourceOptions::default()), ["a/b.py"]);
}

#[cfg(unix)]
#[test]
fn what_cannot_be_told_is_reported_and_the_walk_goes_on() {
    use std::os::unix::ffi::OsStrExt;

    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    write(root, "a.py", "");
    write(root, "z.py", "");
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9.py");
    std::fs::write(root.join(name), "").unwrap();
    let found: Vec<_> = sources(root, &SourceOptions::default()).collect();
    assert_eq!(found.len(), 3);
    assert_eq!(found.iter().filter(|source| source.is_err()).count(), 1);
    let gone: Vec<_> = sources(&root.join("gone"), &SourceOptions::default()).collect();
    assert!(gone.len() == 1 && gone[0].is_err(), "{gone:?}");
}

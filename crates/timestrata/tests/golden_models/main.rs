//! Every store in `fixtures/models-*` gives through the models what the text beside it says, as it is,
//! compacted by this build, and opened again. They stay there for good.
#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]

mod describe;
#[path = "../../../engine/tests/engine/golden/files.rs"]
mod files;

use std::path::{Path, PathBuf};

use describe::describe;
use files::{copy, open, read_file};
use timestrata_engine::{Access, Io};

fn golden_stores() -> Vec<PathBuf> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let entries = Io::os().disk.list(&fixtures).unwrap();
    let of_models = entries.into_iter().filter(|entry| entry.name.starts_with("models-"));
    of_models.map(|entry| fixtures.join(entry.name)).collect()
}

#[test]
fn stores_that_earlier_builds_wrote_give_the_same_through_the_models() {
    let stores = golden_stores();
    assert!(!stores.is_empty(), "no golden store of the models: see CONTRIBUTING.md");
    for original in stores {
        let name = original.display();
        let expected = String::from_utf8(read_file(&original.join("store.txt"))).unwrap();
        let temporary = tempfile::tempdir().unwrap();
        let dir = temporary.path().join("store");
        copy(&original.join("store"), &dir);
        let reader = open(&dir, Access::Read);
        assert_eq!(describe(&reader), expected, "{name}, read-only");
        drop(reader);
        let store = open(&dir, Access::WriteExisting);
        assert_eq!(describe(&store), expected, "{name}, for writing");
        store.compact(None).unwrap();
        assert_eq!(describe(&store), expected, "{name}, compacted");
        store.close().unwrap();
        let store = open(&dir, Access::WriteExisting);
        assert_eq!(describe(&store), expected, "{name}, opened again");
        assert!(store.check().unwrap().findings.is_empty(), "{name}");
    }
}

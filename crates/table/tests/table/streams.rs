//! The streams of a table come and go together, with one edit of the manifest.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::watched_disk::{Step, WatchedDisk, Watcher};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use timestrata_engine::{Access, Io, Maintenance, Settings, Store};
use timestrata_table::{Table, TableOptions};

/// Counts the syncs of the manifest: one an edit.
#[derive(Debug, Default)]
struct Edits(AtomicU64);

impl Watcher for Edits {
    fn before(&self, step: Step, path: &Path) -> std::io::Result<()> {
        if step == Step::Sync && path.ends_with("MANIFEST") {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
        Ok(())
    }
}

/// With an edit each a crash between the two left an index without its table, or a table of which half was gone.
#[test]
fn a_table_and_its_index_are_made_and_dropped_with_one_edit() {
    let edits = Arc::new(Edits::default());
    let Io { disk, clock, rng } = Io::memory();
    let disk = Arc::new(WatchedDisk::new(disk, Arc::clone(&edits) as _));
    let settings = Settings { maintenance: Maintenance::Manual, ..Settings::default() };
    let io = Io { disk, clock, rng };
    let store = Store::open_with(io, Path::new("store"), Access::Write, settings).unwrap();
    let columns = Arc::new(Schema::new(vec![
        Field::new("time", DataType::Timestamp(TimeUnit::Millisecond, None), false),
        Field::new("id", DataType::Int64, false),
    ]));
    let options = TableOptions { key: vec!["id".into()], ..TableOptions::default() };
    let before = edits.0.load(Ordering::SeqCst);
    Table::create(&store, "t", &columns, &options).unwrap();
    assert_eq!((store.streams().len(), edits.0.load(Ordering::SeqCst) - before), (2, 1));
    Table::drop(&store, "t").unwrap();
    assert_eq!((store.streams().len(), edits.0.load(Ordering::SeqCst) - before), (0, 2));
}

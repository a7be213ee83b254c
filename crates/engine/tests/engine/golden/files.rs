//! Golden stores as files: copied, and opened by this build.

use std::path::Path;

use timestrata_engine::{Access, Io, Maintenance, Settings, Store};
use timestrata_io::OpenMode;

pub(crate) fn read_file(path: &Path) -> Vec<u8> {
    let file = Io::os().disk.open(path, OpenMode::Read).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_at(0, &mut bytes).unwrap();
    bytes
}

pub(crate) fn copy(from: &Path, to: &Path) {
    let disk = Io::os().disk;
    disk.create_dir(to).unwrap();
    for entry in disk.list(from).unwrap() {
        let (source, target) = (from.join(&entry.name), to.join(&entry.name));
        if entry.is_dir {
            copy(&source, &target);
        } else {
            let file = disk.open(&target, OpenMode::CreateNew).unwrap();
            file.write_at(0, &read_file(&source)).unwrap();
        }
    }
}

pub(crate) fn open(dir: &Path, access: Access) -> Store {
    let settings = Settings {
        wal_segment_bytes: 128 << 10,
        maintenance: Maintenance::Manual,
        ..Settings::default()
    };
    Store::open_with(Io::os(), dir, access, settings).unwrap()
}

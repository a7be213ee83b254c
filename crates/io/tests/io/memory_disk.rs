//! What only the disk in memory promises.

use std::path::Path;

use timestrata_io::{Disk, MemoryDisk, OpenMode};

#[test]
fn maps_share_memory_until_the_file_is_written_again() {
    let disk = MemoryDisk::new();
    let file = disk.open(Path::new("/file"), OpenMode::CreateNew).unwrap();
    file.append(b"abc").unwrap();
    let (first, second) = (file.map().unwrap(), file.map().unwrap());
    assert_eq!(first.as_ptr(), second.as_ptr());
    file.append(b"def").unwrap();
    file.write_at(0, b"X").unwrap();
    assert_eq!(&first[..], b"abc");
    assert_eq!(&file.map().unwrap()[..], b"Xbcdef");
}

#[test]
fn paths_have_one_spelling() {
    let disk = MemoryDisk::new();
    disk.create_dir(Path::new("/a/b")).unwrap();
    disk.open(Path::new("/a/./b/../b/file"), OpenMode::CreateNew).unwrap();
    assert!(disk.exists(Path::new("/a/b/file")).unwrap());
    assert!(disk.exists(Path::new("/")).unwrap());
    assert_eq!(disk.list(Path::new("/")).unwrap().len(), 1);
}

#[test]
fn clones_are_the_same_disk() {
    let disk = MemoryDisk::new();
    disk.clone().open(Path::new("/file"), OpenMode::CreateNew).unwrap();
    assert!(disk.exists(Path::new("/file")).unwrap());
}

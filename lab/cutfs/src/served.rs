//! The world as the kernel asks for it.
//!
//! Pages are the kernel's, so files can be mapped and shared; what is stored to through a map arrives here
//! as writes when it is synced, when the map goes, or when the kernel likes. Names and attributes are
//! looked up each time: a cut changes all of them.

use std::ffi::OsStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use fuser::{
    BsdFileFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation,
    INodeNo, LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory,
    ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, Request, TimeOrNow, WriteFlags,
};

use crate::file::File;
use crate::world::{Node, World};

/// Nothing is remembered by the kernel but pages.
const FORGET_AT_ONCE: Duration = Duration::ZERO;
const BLOCK_BYTES: u32 = 4096;
/// What the file system says it has: more than any round writes.
const BLOCKS: u64 = 1 << 20;
/// `fallocate` that leaves the length alone.
const KEEP_SIZE: i32 = 1;

#[derive(Debug)]
pub struct Served(pub Arc<Mutex<World>>);

impl Served {
    fn world(&self) -> MutexGuard<'_, World> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The world, if it may be changed now.
    fn changeable(&self) -> Result<MutexGuard<'_, World>, Errno> {
        let world = self.world();
        if world.is_frozen { Err(Errno::EIO) } else { Ok(world) }
    }

    fn create(&self, parent: INodeNo, name: &OsStr, node: Node) -> Result<FileAttr, Errno> {
        let mut world = self.changeable()?;
        if !matches!(world.node(parent.0), Some(Node::Directory)) {
            return Err(Errno::ENOENT);
        }
        if world.find(parent.0, name).is_some() {
            return Err(Errno::EEXIST);
        }
        let number = world.create(parent.0, name, node);
        attributes(&world, number)
    }

    fn remove(&self, parent: INodeNo, name: &OsStr) -> Result<(), Errno> {
        let mut world = self.changeable()?;
        let number = world.find(parent.0, name).ok_or(Errno::ENOENT)?;
        if world.list(number).next().is_some() {
            return Err(Errno::ENOTEMPTY);
        }
        world.remove(parent.0, name);
        Ok(())
    }

    fn change<T>(&self, ino: INodeNo, change: impl FnOnce(&mut File) -> T) -> Result<T, Errno> {
        self.changeable()?.file(ino.0).map(change).ok_or(Errno::EIO)
    }

    fn sync(&self, ino: INodeNo) -> Result<(), Errno> {
        let mut world = self.changeable()?;
        world.node(ino.0).ok_or(Errno::EIO)?;
        world.sync(ino.0);
        Ok(())
    }
}

fn attributes(world: &World, number: u64) -> Result<FileAttr, Errno> {
    let (kind, size, perm) = match world.node(number).ok_or(Errno::ENOENT)? {
        Node::Directory => (FileType::Directory, 0, 0o755),
        Node::File(file) => (FileType::RegularFile, file.len() as u64, 0o644),
    };
    Ok(FileAttr {
        ino: INodeNo(number),
        size,
        blocks: size.div_ceil(512),
        atime: UNIX_EPOCH,
        mtime: UNIX_EPOCH,
        ctime: UNIX_EPOCH,
        crtime: UNIX_EPOCH,
        kind,
        perm,
        nlink: 1,
        uid: 0,
        gid: 0,
        rdev: 0,
        blksize: BLOCK_BYTES,
        flags: 0,
    })
}

fn answer(reply: ReplyEmpty, result: Result<(), Errno>) {
    match result {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(error),
    }
}

fn entry(reply: ReplyEntry, result: Result<FileAttr, Errno>) {
    match result {
        Ok(found) => reply.entry(&FORGET_AT_ONCE, &found, Generation(0)),
        Err(error) => reply.error(error),
    }
}

impl Filesystem for Served {
    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let world = self.world();
        let number = world.find(parent.0, name).ok_or(Errno::ENOENT);
        entry(reply, number.and_then(|number| attributes(&world, number)));
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match attributes(&self.world(), ino.0) {
            Ok(found) => reply.attr(&FORGET_AT_ONCE, &found),
            Err(error) => reply.error(error),
        }
    }

    fn setattr(
        &self,
        _: &Request,
        ino: INodeNo,
        _mode: Option<u32>,
        _uid: Option<u32>,
        _gid: Option<u32>,
        size: Option<u64>,
        _atime: Option<TimeOrNow>,
        _mtime: Option<TimeOrNow>,
        _ctime: Option<std::time::SystemTime>,
        _fh: Option<FileHandle>,
        _crtime: Option<std::time::SystemTime>,
        _chgtime: Option<std::time::SystemTime>,
        _bkuptime: Option<std::time::SystemTime>,
        _flags: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let changed = match size {
            Some(size) => self.change(ino, |file| file.set_len(size as usize)),
            None => Ok(()),
        };
        match changed.and_then(|()| attributes(&self.world(), ino.0)) {
            Ok(found) => reply.attr(&FORGET_AT_ONCE, &found),
            Err(error) => reply.error(error),
        }
    }

    fn mkdir(&self, _: &Request, parent: INodeNo, name: &OsStr, _: u32, _: u32, reply: ReplyEntry) {
        entry(reply, self.create(parent, name, Node::Directory));
    }

    fn create(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        _mode: u32,
        _umask: u32,
        _flags: i32,
        reply: ReplyCreate,
    ) {
        match self.create(parent, name, Node::File(File::default())) {
            Ok(made) => reply.created(
                &FORGET_AT_ONCE,
                &made,
                Generation(0),
                FileHandle(0),
                FopenFlags::FOPEN_KEEP_CACHE,
            ),
            Err(error) => reply.error(error),
        }
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        answer(reply, self.remove(parent, name));
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        answer(reply, self.remove(parent, name));
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        newparent: INodeNo,
        newname: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let renamed = self.changeable().and_then(|mut world| {
            let number = world.find(parent.0, name).ok_or(Errno::ENOENT)?;
            if flags.contains(RenameFlags::RENAME_EXCHANGE) {
                return Err(Errno::EINVAL);
            }
            if let Some(replaced) = world.find(newparent.0, newname) {
                if flags.contains(RenameFlags::RENAME_NOREPLACE) {
                    return Err(Errno::EEXIST);
                }
                if world.list(replaced).next().is_some() {
                    return Err(Errno::ENOTEMPTY);
                }
            }
            world.rename((parent.0, name.into()), (newparent.0, newname.into()), number);
            Ok(())
        });
        answer(reply, renamed);
    }

    fn open(&self, _: &Request, ino: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        match self.world().node(ino.0) {
            Some(_) => reply.opened(FileHandle(0), FopenFlags::FOPEN_KEEP_CACHE),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn read(
        &self,
        _: &Request,
        ino: INodeNo,
        _fh: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        match self.world().file(ino.0) {
            Some(file) => reply.data(file.read(offset as usize, size as usize)),
            None => reply.error(Errno::EIO),
        }
    }

    fn write(
        &self,
        _: &Request,
        ino: INodeNo,
        _fh: FileHandle,
        offset: u64,
        data: &[u8],
        _write_flags: WriteFlags,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        match self.change(ino, |file| file.write(offset as usize, data)) {
            Ok(()) => reply.written(data.len() as u32),
            Err(error) => reply.error(error),
        }
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn fsync(&self, _: &Request, ino: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        answer(reply, self.sync(ino));
    }

    fn fsyncdir(&self, _: &Request, ino: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        answer(reply, self.sync(ino));
    }

    fn readdir(
        &self,
        _: &Request,
        ino: INodeNo,
        _fh: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let world = self.world();
        for (at, (name, number)) in world.list(ino.0).enumerate().skip(offset as usize) {
            let kind = match world.node(number) {
                Some(Node::Directory) => FileType::Directory,
                _ => FileType::RegularFile,
            };
            if reply.add(INodeNo(number), at as u64 + 1, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn fallocate(
        &self,
        _: &Request,
        ino: INodeNo,
        _fh: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let end = offset.saturating_add(length) as usize;
        match mode {
            0 => answer(reply, self.change(ino, |file| file.set_len(file.len().max(end)))),
            KEEP_SIZE => reply.ok(),
            _ => reply.error(Errno::EOPNOTSUPP),
        }
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        let files = u64::from(u32::MAX);
        reply.statfs(BLOCKS, BLOCKS, BLOCKS, files, files, BLOCK_BYTES, 255, BLOCK_BYTES);
    }
}

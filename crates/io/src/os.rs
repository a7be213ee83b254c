//! stub
use crate::*;
/// stub
#[derive(Debug, Default)]
pub struct OsDisk;
impl OsDisk {
    /// stub
    pub fn new() -> Self {
        Self
    }
}
pub(crate) fn fill_random(_bytes: &mut [u8]) {
    todo!()
}
impl Disk for OsDisk {
    fn open(&self, _path: &Path, _mode: OpenMode) -> io::Result<Arc<dyn DiskFile>> {
        todo!()
    }
    fn open_log(&self, _path: &Path, _bytes: u64) -> io::Result<Arc<dyn DiskFile>> {
        todo!()
    }
    fn rename(&self, _from: &Path, _to: &Path) -> io::Result<()> {
        todo!()
    }
    fn remove(&self, _path: &Path) -> io::Result<()> {
        todo!()
    }
    fn list(&self, _dir: &Path) -> io::Result<Vec<DirEntry>> {
        todo!()
    }
    fn create_dir(&self, _dir: &Path) -> io::Result<()> {
        todo!()
    }
    fn sync_dir(&self, _dir: &Path) -> io::Result<()> {
        todo!()
    }
    fn exists(&self, _path: &Path) -> io::Result<bool> {
        todo!()
    }
    fn try_lock(&self, _path: &Path, _owner: &str) -> io::Result<LockOutcome> {
        todo!()
    }
    fn free_bytes(&self, _path: &Path) -> io::Result<Option<u64>> {
        todo!()
    }
}

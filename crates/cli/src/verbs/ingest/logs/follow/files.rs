//! Which files there are, and which of them is the one that was read before.

use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use globset::{Glob, GlobMatcher};
use indicatif::ProgressBar;

use super::growing::{Growing, Noted, Shared};
use super::not_followed;
use super::places::{HEAD_BYTES, Place};
use crate::failure::Result;
use crate::input::{self, could_not_read};

/// A file is known again in a copy by no fewer bytes than these.
const COPY_HEAD_BYTES: usize = 64;

/// The files and patterns that somebody named.
#[derive(Debug)]
pub(super) struct Watched(Vec<Pattern>);

#[derive(Debug)]
enum Pattern {
    File(PathBuf),
    /// Files of a directory whose names fit.
    Files {
        dir: PathBuf,
        names: GlobMatcher,
    },
}

impl Watched {
    pub(super) fn of(paths: &[PathBuf]) -> Result<Self> {
        let has_stars = |path: &Path| path.to_string_lossy().contains(['*', '?', '[']);
        let one = |path: &PathBuf| {
            let (parent, name) = (path.parent().unwrap_or(Path::new("")), path.file_name());
            let name = name.and_then(|name| name.to_str()).ok_or_else(|| not_followed(path))?;
            if path == Path::new("-") || path.is_dir() || has_stars(parent) {
                return Err(not_followed(path));
            }
            if path.exists() || !has_stars(Path::new(name)) {
                return Ok(Pattern::File(path.clone()));
            }
            let names = Glob::new(name).map_err(|_| not_followed(path))?.compile_matcher();
            let dir = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
            Ok(Pattern::Files { dir: dir.to_owned(), names })
        };
        Ok(Self(paths.iter().map(one).collect::<Result<_>>()?))
    }

    /// Those that are there now.
    pub(super) fn files(&self) -> Vec<Found> {
        let mut found: Vec<Found> = Vec::new();
        for pattern in &self.0 {
            let paths = match pattern {
                Pattern::File(path) => vec![path.clone()],
                Pattern::Files { dir, names } => names_in(dir)
                    .into_iter()
                    .filter(|path| path.file_name().is_some_and(|name| names.is_match(name)))
                    .collect(),
            };
            for one in paths.iter().filter_map(|path| Found::at(path)) {
                // One file may have several names.
                if !found.iter().any(|other| other.device == one.device && other.inode == one.inode)
                {
                    found.push(one);
                }
            }
        }
        found
    }

    /// Whether a path is one of those that are watched, be it there or not.
    pub(super) fn has(&self, path: &Path) -> bool {
        self.0.iter().any(|pattern| match pattern {
            Pattern::File(file) => file == path,
            Pattern::Files { dir, names } => {
                let parent = path.parent().unwrap_or(Path::new(""));
                parent == dir && path.file_name().is_some_and(|name| names.is_match(name))
            }
        })
    }
}

/// The names in a directory, in order; none if it can't be read, as one that isn't there yet.
#[expect(clippy::disallowed_methods, reason = "a user's directory, not one of a store")]
fn names_in(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(dir) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort_unstable();
    paths
}

/// A file that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) path: String,
    device: u64,
    inode: u64,
    length: u64,
    is_packed: bool,
}

impl Found {
    /// The regular file of a name; `None` where there is none.
    pub(super) fn at(path: &Path) -> Option<Self> {
        let metadata = path.metadata().ok().filter(std::fs::Metadata::is_file)?;
        let name = path.to_str()?.to_owned();
        Some(Self {
            is_packed: [".gz", ".zst"].iter().any(|end| name.ends_with(end)),
            path: name,
            device: metadata.dev(),
            inode: metadata.ino(),
            length: metadata.len(),
        })
    }

    /// Whether it has the number of a file. Numbers are used again, for others: whose is it says
    /// [`continues`](Self::continues) too, unless the file is open.
    pub(super) fn is(&self, place: &Place) -> bool {
        (self.device, self.inode) == (place.device, place.inode)
    }

    /// Whether it begins as that file did, and is no shorter than what was read of it.
    pub(super) fn continues(&self, place: &Place) -> Result<bool> {
        Ok(self.length >= place.offset && self.head()?.starts_with(&place.head))
    }

    /// The place of a file that nobody has read before.
    pub(super) fn begin(&self, now_ns: i64) -> Result<Place> {
        Ok(Place {
            id: format!("{:x}-{:x}-{now_ns:x}", self.device, self.inode),
            path: self.path.clone(),
            device: self.device,
            inode: self.inode,
            head: self.head()?,
            format: String::new(),
            offset: 0,
            is_done: false,
        })
    }

    /// Its first bytes, unpacked.
    fn head(&self) -> Result<Vec<u8>> {
        let mut head = Vec::new();
        let reader = input::open(Path::new(&self.path), &ProgressBar::hidden())?.reader;
        let read = reader.take(HEAD_BYTES as u64).read_to_end(&mut head);
        read.map_err(|cause| could_not_read(&self.path, &cause))?;
        Ok(head)
    }
}

/// A file beside the one that was read that is the same under another name, or a copy of it, packed or not; and has
/// more than what was read.
pub(super) fn beside(place: &Place) -> Result<Option<Found>> {
    let path = Path::new(&place.path);
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return Ok(None) };
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let is_like = |other: &PathBuf| {
        let other = other.file_name().and_then(|other| other.to_str());
        other.is_some_and(|other| other != name && other.starts_with(name))
    };
    let others: Vec<Found> = names_in(dir)
        .iter()
        .filter(|other| is_like(other))
        .filter_map(|other| Found::at(other))
        .collect();
    if let Some(renamed) = others.iter().find(|found| found.is(place))
        && renamed.continues(place)?
    {
        return Ok(Some(renamed.clone()));
    }
    if place.head.len() < COPY_HEAD_BYTES {
        return Ok(None);
    }
    for found in others {
        let is_long_enough = found.is_packed || found.length > place.offset;
        // One that can't be read is none.
        if is_long_enough && found.head().is_ok_and(|head| head.starts_with(&place.head)) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Opens a file behind what was read of it, if it is the one that begins so.
#[expect(clippy::disallowed_types, reason = "a user's file, not a file of a store")]
pub(super) fn opener(
    found: Found,
    place: &Place,
    shared: Arc<Shared>,
) -> impl FnOnce() -> Result<Box<dyn Read>> + Send + 'static {
    let (offset, known) = (place.offset, place.head.clone());
    move || {
        let failed = |cause: io::Error| could_not_read(&found.path, &cause);
        if found.is_packed {
            let mut reader = input::open(Path::new(&found.path), &ProgressBar::hidden())?.reader;
            io::copy(&mut reader.by_ref().take(offset), &mut io::sink()).map_err(failed)?;
            return Ok(Box::new(Noted { reader, shared }));
        }
        let mut file = std::fs::File::open(&found.path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        let mut head = Vec::new();
        file.by_ref().take(known.len() as u64).read_to_end(&mut head).map_err(failed)?;
        if (metadata.dev(), metadata.ino()) != (found.device, found.inode) || head != known {
            // Another one has its name by now, which the next look finds.
            shared.is_replaced.store(true, Ordering::Relaxed);
            return Ok(Box::new(io::empty()));
        }
        file.seek(SeekFrom::Start(offset)).map_err(failed)?;
        let length = |file: &std::fs::File| Ok(file.metadata()?.len());
        let reader = Growing::new(file, length, Arc::clone(&shared));
        Ok(Box::new(Noted { reader, shared }))
    }
}

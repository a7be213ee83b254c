//! The sources of a folder: which files there are, and in which language.
//!
//! What people tell their tools to ignore is ignored here. Links aren't followed, so no folder comes
//! twice and none leads out of the tree.

use std::fmt;
use std::path::Path;

use ignore::{DirEntry, Walk, WalkBuilder};

use crate::Language;

/// How a folder is walked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceOptions {
    /// Whether `.gitignore`, `.ignore` and their like are heeded, as they are if not said.
    pub heeds_ignore_files: bool,
    /// Whether files and folders are told whose names begin with a dot; not if not said.
    pub with_hidden: bool,
    /// Whether files without an ending are told too, so that the caller looks at their first line
    /// ([`Language::of_first_line`]); not if not said.
    pub with_scripts: bool,
}

impl Default for SourceOptions {
    fn default() -> Self {
        Self { heeds_ignore_files: true, with_hidden: false, with_scripts: false }
    }
}

/// A file that may be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Its path from the folder that was walked, with `/` between its parts.
    pub path: String,
    /// Its language; none for a file without an ending.
    pub language: Option<Language>,
}

/// A file or folder that can't be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceError {
    /// Why, with its path where that is known.
    pub message: String,
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for SourceError {}

/// The sources below a folder. Names are sorted within each folder.
///
/// # Errors
/// Each item can be one: for a folder that can't be read, an ignore file that makes no sense, or a
/// name that isn't UTF-8. The walk goes on behind it.
pub fn sources(root: &Path, options: &SourceOptions) -> Sources {
    let heeds = options.heeds_ignore_files;
    let walk = WalkBuilder::new(root)
        .hidden(!options.with_hidden)
        .ignore(heeds)
        .git_ignore(heeds)
        .git_exclude(heeds)
        // What a tree holds shall not depend on whose machine it is on, nor on it being a clone.
        .git_global(false)
        .parents(false)
        .require_git(false)
        .follow_links(false)
        .sort_by_file_name(std::ffi::OsStr::cmp)
        .filter_entry(|entry| entry.file_name() != ".git")
        .build();
    Sources { root: root.to_owned(), walk, with_scripts: options.with_scripts, pending: None }
}

/// See [`sources`].
pub struct Sources {
    root: std::path::PathBuf,
    walk: Walk,
    with_scripts: bool,
    /// What is wrong about an entry that was told.
    pending: Option<SourceError>,
}

impl fmt::Debug for Sources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sources").field("root", &self.root).finish_non_exhaustive()
    }
}

impl Sources {
    fn source(&self, entry: &DirEntry) -> Option<Result<Source, SourceError>> {
        if !entry.file_type().is_some_and(|kind| kind.is_file()) {
            return None;
        }
        let path = entry.path();
        let below = path.strip_prefix(&self.root).ok()?;
        let parts: Option<Vec<&str>> = below.iter().map(std::ffi::OsStr::to_str).collect();
        let Some(parts) = parts else {
            let is_wanted =
                self.with_scripts || Language::of_path(&below.to_string_lossy()).is_some();
            let message = format!("{}: the name is not UTF-8", path.display());
            return is_wanted.then_some(Err(SourceError { message }));
        };
        let path = parts.join("/");
        let language = Language::of_path(&path);
        let is_script = parts.last().is_some_and(|name| !name.contains('.'));
        let is_wanted = language.is_some() || (self.with_scripts && is_script);
        is_wanted.then_some(Ok(Source { path, language }))
    }
}

impl Iterator for Sources {
    type Item = Result<Source, SourceError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(error) = self.pending.take() {
                return Some(Err(error));
            }
            let entry = match self.walk.next()? {
                Ok(entry) => entry,
                Err(error) => return Some(Err(SourceError { message: error.to_string() })),
            };
            self.pending = entry.error().map(|error| SourceError { message: error.to_string() });
            if let Some(found) = self.source(&entry) {
                return Some(found);
            }
        }
    }
}

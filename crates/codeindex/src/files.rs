//! The files of a tree: read, and taken apart unless that was done before.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use timestrata_codegraph::{
    FACTS_VERSION, Facts, Language, Source, SourceOptions, extract, sources,
};
use timestrata_engine::{Error, ErrorKind, Io, OpenMode, Result};

use crate::nodes::{self, hash_text};

/// Threads that take files apart at most.
const THREADS_MAX: usize = 8;

/// How far indexing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Files that were read.
    pub files: usize,
    /// Files that there are.
    pub files_all: usize,
}

/// A file that is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Its path in the tree; empty where it can't be told, or where it isn't about a file.
    pub path: String,
    /// Why.
    pub why: String,
}

/// A file that was read.
pub(crate) struct File {
    pub(crate) path: String,
    /// SHA-256 of its bytes, with what else its facts depend on.
    pub(crate) hash: String,
    pub(crate) facts: Facts,
    /// What was made of it; `None` where it is as it was last time.
    pub(crate) fresh: Option<Fresh>,
}

/// What is made of a file that was taken apart.
pub(crate) struct Fresh {
    pub(crate) bytes: Vec<u8>,
    /// Its facts, as they are kept.
    pub(crate) facts: Vec<u8>,
    /// What is said of the file.
    pub(crate) metadata: String,
    /// What is said of each of its symbols.
    pub(crate) of_symbols: Vec<String>,
}

impl Fresh {
    fn new(path: &str, facts: &Facts, bytes: Vec<u8>) -> std::result::Result<Self, String> {
        let mut kept = Vec::new();
        ciborium::into_writer(facts, &mut kept)
            .map_err(|error| format!("its facts can't be written: {error}"))?;
        let metadata = |symbol| nodes::metadata(path, symbol, facts, &bytes);
        let of_symbols = facts.symbols.iter().map(|symbol| metadata(Some(symbol))).collect();
        Ok(Self { facts: kept, metadata: metadata(None), of_symbols, bytes })
    }
}

/// The sources of a folder, and those that can't be told.
pub(crate) fn listed(root: &Path, skipped: &mut Vec<Skipped>) -> Vec<Source> {
    let options = SourceOptions { with_scripts: true, ..SourceOptions::default() };
    let mut found = Vec::new();
    for source in sources(root, &options) {
        match source {
            Ok(source) => found.push(source),
            Err(error) => skipped.push(Skipped { path: String::new(), why: error.to_string() }),
        }
    }
    found.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    found
}

/// Reads files, and takes apart those of which `known` has no facts. In the order of the paths.
pub(crate) fn read(
    io: &Io,
    root: &Path,
    listed: &[Source],
    known: &(dyn Fn(&str, &str) -> Option<Facts> + Sync),
    progress: &(dyn Fn(Progress) + Sync),
) -> Vec<std::result::Result<Option<File>, Skipped>> {
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || {
        let mut results = Vec::new();
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(source) = listed.get(place) else { return results };
            results.push((place, read_one(io, root, source, known)));
            let files = done.fetch_add(1, Ordering::Relaxed) + 1;
            progress(Progress { files, files_all: listed.len() });
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get());
    let mut all: HashMap<usize, _> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads.min(THREADS_MAX)).map(|_| scope.spawn(work)).collect();
        let mut all: HashMap<usize, _> = work().into_iter().collect();
        for other in others {
            all.extend(other.join().unwrap_or_default());
        }
        all
    });
    // A thread that died has taken what it had done with it: it is done here.
    let again = |source| read_one(io, root, source, known);
    let places = listed.iter().enumerate();
    places.map(|(place, source)| all.remove(&place).unwrap_or_else(|| again(source))).collect()
}

/// `None` for what turns out to be no source.
fn read_one(
    io: &Io,
    root: &Path,
    source: &Source,
    known: &dyn Fn(&str, &str) -> Option<Facts>,
) -> std::result::Result<Option<File>, Skipped> {
    let skipped = |why: String| Skipped { path: source.path.clone(), why };
    let bytes = read_file(io, "a source", &root.join(&source.path), u64::MAX)
        .map_err(|error| skipped(error.to_string()))?;
    let Some(language) = source.language.or_else(|| Language::of_first_line(&bytes)) else {
        return Ok(None);
    };
    let hash = format!("{}.{}.{}", hash_text(&bytes), language.name(), FACTS_VERSION);
    if let Some(facts) = known(&source.path, &hash) {
        return Ok(Some(File { path: source.path.clone(), hash, facts, fresh: None }));
    }
    let facts = extract(language, &bytes).map_err(|unparsed| skipped(unparsed.to_string()))?;
    let fresh = Fresh::new(&source.path, &facts, bytes).map_err(skipped)?;
    Ok(Some(File { path: source.path.clone(), hash, facts, fresh: Some(fresh) }))
}

/// The error for what can't be read.
pub(crate) fn unread(what: &str, path: &Path, cause: io::Error) -> Error {
    let kind = match cause.kind() {
        io::ErrorKind::NotFound => ErrorKind::NotFound,
        _ => ErrorKind::Io,
    };
    Error::new(kind, format!("could not read {what}: {cause}")).at(path).caused_by(cause)
}

/// All bytes of a file, once: what is read is what counts, whatever becomes of the file meanwhile.
pub(crate) fn read_file(io: &Io, what: &str, path: &Path, bytes_max: u64) -> Result<Vec<u8>> {
    let failed = |cause| unread(what, path, cause);
    let file = io.disk.open(path, OpenMode::Read).map_err(failed)?;
    let length = file.len().map_err(failed)?;
    if length > bytes_max {
        let message =
            format!("{what} of {length} bytes is too large, at most {bytes_max} are read");
        return Err(Error::new(ErrorKind::TooLarge, message).at(path));
    }
    let mut bytes = vec![0; usize::try_from(length).unwrap_or(usize::MAX).min(isize::MAX as usize)];
    file.read_at(0, &mut bytes).map_err(failed)?;
    Ok(bytes)
}

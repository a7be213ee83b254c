//! What came of a repair.

use std::fmt;
use std::path::PathBuf;

use crate::MissingRange;

/// One stream of a repaired store.
///
/// ```
/// # use timestrata_engine::*;
/// # fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
/// # let temporary = tempfile::tempdir()?;
/// # let dir = temporary.path().join("store");
/// Store::open(&dir, Settings::default())?.close()?;
/// for stream in repair(&Io::os(), &dir, &RepairOptions::default())?.streams {
///     println!("{}: {} rows in {} runs", stream.name, stream.rows, stream.runs);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RepairedStream {
    /// Its name.
    pub name: String,
    /// Runs taken over, whole or in part.
    pub runs: u64,
    /// Rows in them that could be read, delete markers and rows that a later range delete hides included.
    pub rows: u64,
    /// Commits that only the log had.
    pub commits_from_log: u64,
}

/// A file that is not part of the repaired store.
///
/// ```
/// # use timestrata_engine::*;
/// # fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
/// # let temporary = tempfile::tempdir()?;
/// # let dir = temporary.path().join("store");
/// Store::open(&dir, Settings::default())?.close()?;
/// for file in repair(&Io::os(), &dir, &RepairOptions::default())?.left_out {
///     println!("{}: {}", file.path.display(), file.why);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileLeftOut {
    /// The file.
    pub path: PathBuf,
    /// Why.
    pub why: String,
}

/// What a repair found and did. `Display` tells all of it, a line each.
///
/// ```
/// # use timestrata_engine::*;
/// # fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
/// # let temporary = tempfile::tempdir()?;
/// # let dir = temporary.path().join("store");
/// Store::open(&dir, Settings::default())?.close()?;
/// let report = repair(&Io::os(), &dir, &RepairOptions::default())?;
/// assert!(report.lost_nothing() && report.doubts.is_empty());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RepairReport {
    /// The repaired store; `None` after a dry run.
    pub to: Option<PathBuf>,
    /// What was wrong with the manifest, if runs had to say what makes the store; `None` if it was
    /// whole, or its copy was.
    pub manifest_lost: Option<String>,
    /// The streams, by name.
    pub streams: Vec<RepairedStream>,
    /// Pins that were taken over, by name.
    pub pins: Vec<String>,
    /// Rows that could not be read, by stream and keys and file.
    pub missing: Vec<MissingRange>,
    /// Other losses, a sentence each: a part of the log, a run whose file is gone.
    pub lost: Vec<String>,
    /// Files that were left out, each with the reason. Nothing is lost with them but what `missing` and
    /// `lost` say.
    pub left_out: Vec<FileLeftOut>,
    /// What could not be known for certain, a sentence each.
    pub doubts: Vec<String>,
}

impl RepairReport {
    /// Whether all that the store held was there.
    pub fn lost_nothing(&self) -> bool {
        self.missing.is_empty() && self.lost.is_empty()
    }
}

impl fmt::Display for RepairReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(why) = &self.manifest_lost {
            writeln!(f, "manifest made anew from what the runs say: {why}")?;
        }
        for stream in &self.streams {
            writeln!(
                f,
                "stream '{}': {} rows in {} runs, {} commits of the log",
                stream.name, stream.rows, stream.runs, stream.commits_from_log
            )?;
        }
        for pin in &self.pins {
            writeln!(f, "pin '{pin}'")?;
        }
        for missing in &self.missing {
            writeln!(f, "lost: {missing}")?;
        }
        for lost in &self.lost {
            writeln!(f, "lost: {lost}")?;
        }
        for file in &self.left_out {
            writeln!(f, "left out: {}: {}", file.path.display(), file.why)?;
        }
        for doubt in &self.doubts {
            writeln!(f, "in doubt: {doubt}")?;
        }
        match &self.to {
            Some(to) => writeln!(f, "repaired store: {}", to.display()),
            None => writeln!(f, "dry run: nothing was written"),
        }
    }
}

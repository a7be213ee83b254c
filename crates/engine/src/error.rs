//! The engine's one error: what happened, to which file, and what to do.

mod missing;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use timestrata_format::{DecodeError, HeaderError};

pub use self::missing::MissingRange;

/// What the engine's calls return.
pub type Result<T> = std::result::Result<T, Error>;

/// The kinds of failure, each with what the user should do.
///
/// ```
/// # use timestrata_engine::*;
/// # fn main() -> timestrata_engine::Result<()> {
/// let store = Store::memory(Settings::default())?;
/// let error = store.expect_stream("cellar").unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::NotFound);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An argument has no meaning here (empty name, inverted range, wrong option). Mend the call.
    InvalidArgument,
    /// Data does not fit the stream: unknown or missing column, wrong type, null key. Mend the data.
    InvalidData,
    /// A row or commit is larger than the store takes. Split it, or raise the limit named.
    TooLarge,
    /// No such store, stream or pin. Create it, or check the name.
    NotFound,
    /// An offset that is not there: not yet, or not any more. Ask for the offsets there are.
    OutOfRange,
    /// What the store was then is not kept any more. Ask for a later moment, or have the store keep more
    /// (`history_min`, `history_bytes_max`, pins).
    HistoryLost,
    /// What the call counted on has changed meanwhile. Look again, and repeat it if it still holds.
    Conflict,
    /// The name is taken, with another definition. Choose another, or drop it first.
    AlreadyExists,
    /// The directory holds something, but not a store. Choose another directory.
    NotAStore,
    /// Written by a newer version of the software. Upgrade.
    UnsupportedVersion,
    /// Another writer has the store open. Close it, or open read-only.
    Locked,
    /// The store was opened for reading. Open it for writing.
    ReadOnly,
    /// Flushes can't keep up and the busy policy says raise. The commit was *not* made; try later.
    Busy,
    /// The disk is full, and what was asked for has not been done. Free space; writes go on by
    /// themselves then.
    NoSpace,
    /// There is not enough memory for what was asked, and it has not been done. Ask for less at once, or
    /// allow the process more.
    OutOfMemory,
    /// The operating system refused. The source says why.
    Io,
    /// Bytes on disk are not what was written. Nothing was changed; run `check` to see the extent,
    /// restore from a backup, or have [`repair`](crate::repair) save what can be read.
    Corruption,
    /// An earlier write or sync failed, so this store takes no more writes. Reads go on;
    /// reopen to recover.
    Poisoned,
    /// The store has been closed.
    Closed,
    /// A query that was cancelled, or given up by whoever asked. Ask again if it is still wanted.
    Cancelled,
    /// A query that took longer than it may. Ask for less, or allow it more time.
    TimedOut,
}

impl ErrorKind {
    /// What to do about it, in a sentence.
    pub fn hint(self) -> &'static str {
        match self {
            Self::InvalidArgument => "mend the call",
            Self::InvalidData => "mend the data; nothing of this commit was written",
            Self::TooLarge => "split it, or raise the limit",
            Self::NotFound => "create it first, or check the name",
            Self::OutOfRange => "ask for the offsets that there are",
            Self::HistoryLost => {
                "ask for a later moment; 'history_min', 'history_bytes_max' and pins say what is kept"
            }
            Self::Conflict => "look again, and repeat the call if it still holds",
            Self::AlreadyExists => "choose another name, or drop the existing one first",
            Self::NotAStore => "choose an empty directory or an existing store",
            Self::UnsupportedVersion => "upgrade timestrata to open this store",
            Self::Locked => "close the other writer, or open the store read-only",
            Self::ReadOnly => "open the store for writing",
            Self::Busy => "try again later, or use the busy policy 'block' or 'flush'",
            Self::NoSpace => "free space on the disk; writes go on by themselves then",
            Self::OutOfMemory => "write or read less at once, or allow the process more memory",
            Self::Io => "see the cause; reopen the store once it is mended",
            Self::Corruption => {
                "run 'timestrata check' on the directory; restore what it names from a backup, \
                 or save what can be read by 'timestrata repair'; no byte was changed"
            }
            Self::Poisoned => "reopen the store to recover; reads go on",
            Self::Closed => "open the store again",
            Self::Cancelled => "ask again if it is still wanted",
            Self::TimedOut => "ask for less at once, or allow it more time",
        }
    }
}

/// An error of the engine.
///
/// `Display` gives one sentence that names what and where; [`Error::hint`] says what to do.
///
/// ```
/// # use timestrata_engine::*;
/// # fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
/// # let temporary = tempfile::tempdir()?;
/// # let dir = temporary.path().join("store");
/// let error = Store::open_with(Io::os(), &dir, Access::WriteExisting, Settings::default()).unwrap_err();
/// assert_eq!((error.kind(), error.path()), (ErrorKind::NotFound, Some(dir.as_path())));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    path: Option<PathBuf>,
    offset: Option<u64>,
    missing: Option<Box<MissingRange>>,
    hint: Option<&'static str>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// An error with a message.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let message = message.into();
        let (path, offset, missing, hint, source) = (None, None, None, None, None);
        Self { kind, message, path, offset, missing, hint, source }
    }

    /// What sort of failure.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// What happened, without where.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The file or directory concerned.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The byte offset in that file.
    pub fn offset(&self) -> Option<u64> {
        self.offset
    }

    /// Which rows can't be read, where it is damage to a run that says so. Rows around them can:
    /// with [`ScanSpec::skip_damaged`](crate::ScanSpec::skip_damaged), or by reading other ranges.
    pub fn missing(&self) -> Option<&MissingRange> {
        self.missing.as_deref()
    }

    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        self.hint.unwrap_or(self.kind.hint())
    }

    /// The same error with another hint than its kind's, where that doesn't fit.
    #[must_use]
    pub fn hinting(mut self, hint: &'static str) -> Self {
        self.hint = Some(hint);
        self
    }

    /// The same error, naming a file.
    #[must_use]
    pub fn at(mut self, path: impl Into<PathBuf>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// The same error, naming a byte offset in its file.
    #[must_use]
    pub fn at_offset(mut self, offset: u64) -> Self {
        self.offset = Some(offset);
        self
    }

    /// The same error with its cause.
    #[must_use]
    pub fn caused_by(
        mut self,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        self.source = Some(source.into());
        self
    }

    /// The same error, if it is one of damage, saying which rows are missing for it.
    pub(crate) fn with_missing(mut self, missing: impl FnOnce(&Self) -> MissingRange) -> Self {
        if self.kind == ErrorKind::Corruption && self.missing.is_none() {
            let missing = missing(&self);
            self.message = format!(
                "{}: {} rows of stream '{}' with keys {} to {} can't be read",
                self.message, missing.rows, missing.stream, missing.key_min, missing.key_max
            );
            self.missing = Some(Box::new(missing));
        }
        self
    }

    /// The error for rows that are known to be missing.
    pub(crate) fn of_missing(what: &str, missing: &MissingRange) -> Self {
        let error =
            Self::corruption(&missing.file, missing.offset, format!("{what}: {}", missing.why));
        error.with_missing(|_| missing.clone())
    }

    /// An operating system's error while doing `what` to `path`; a full disk gets its own kind.
    ///
    /// ```
    /// use std::io;
    /// use std::path::Path;
    /// use timestrata_engine::{Error, ErrorKind};
    ///
    /// let full = io::Error::from(io::ErrorKind::StorageFull);
    /// let error = Error::io("write the report", Path::new("report.csv"), full);
    /// assert_eq!(error.kind(), ErrorKind::NoSpace);
    /// ```
    pub fn io(what: &str, path: &Path, source: io::Error) -> Self {
        let kind = match source.kind() {
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => ErrorKind::NoSpace,
            _ => ErrorKind::Io,
        };
        Self::new(kind, format!("could not {what}: {source}")).at(path).caused_by(source)
    }

    /// Bytes of `path` that are not what was written.
    pub(crate) fn corruption(path: &Path, offset: u64, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Corruption, message).at(path).at_offset(offset)
    }

    /// A decode error in `path`, whose input began at `base`.
    pub(crate) fn decode(path: &Path, base: u64, source: DecodeError) -> Self {
        let source = source.shifted(base);
        let offset = source.offset;
        let message =
            format!("bad {}: expected {}, found {}", source.what, source.expected, source.found);
        Self::corruption(path, offset, message).caused_by(source)
    }

    /// A file's header that can't be used: damaged, or of a newer version.
    pub(crate) fn header(path: &Path, source: HeaderError) -> Self {
        match source {
            HeaderError::Damaged(error) => Self::decode(path, 0, error),
            HeaderError::NewerVersion { .. } => {
                Self::new(ErrorKind::UnsupportedVersion, source.to_string()).at(path)
            }
        }
    }

    /// What a store says of writes since `cause`, which is named once.
    pub(crate) fn poisoned_by(cause: &Self) -> Self {
        if cause.kind == ErrorKind::Poisoned {
            return cause.duplicate();
        }
        let message =
            format!("the store takes no writes since an earlier failure: {}", cause.message);
        Self { kind: ErrorKind::Poisoned, message, ..cause.duplicate() }
    }

    /// The same failure for another caller who shares its fate (a shared sync): the cause
    /// is kept as text.
    pub(crate) fn duplicate(&self) -> Self {
        Self {
            kind: self.kind,
            message: self.message.clone(),
            path: self.path.clone(),
            offset: self.offset,
            missing: self.missing.clone(),
            hint: self.hint,
            source: None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if let Some(path) = &self.path {
            write!(f, " [{}", path.display())?;
            if let Some(offset) = self.offset {
                write!(f, ", byte {offset}")?;
            }
            f.write_str("]")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

/// Why what was to be made on disk (an edit of the manifest, a segment of the log) is not there.
#[derive(Debug)]
pub(crate) enum NotDurable {
    /// It has not been made, and all is as it was.
    NotMade(Error),
    /// It may be found by the next open, or not.
    InDoubt(Error),
}

impl NotDurable {
    pub(crate) fn into_error(self) -> Error {
        self.failing_in_doubt(|error| error)
    }

    /// The error; where it leaves something in doubt, what `fail` makes of it.
    pub(crate) fn failing_in_doubt(self, fail: impl FnOnce(Error) -> Error) -> Error {
        match self {
            Self::NotMade(error) => error,
            Self::InDoubt(error) => fail(error),
        }
    }
}

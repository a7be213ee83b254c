//! A consistent copy of a store while it is written.

/// What a backup copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BackupReport {
    /// Files in the copy.
    pub files: u64,
    /// Bytes in the copy.
    pub bytes: u64,
    /// The last commit that is in the copy.
    pub seq: timestrata_format::SeqNo,
}

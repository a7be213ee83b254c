//! Entries, as they are written.

use super::{Fields, Level};

/// An entry to be written. The store adds the time of its arrival.
///
/// ```
/// use timestrata_logs::{Level, NewEntry};
///
/// let mut entry = NewEntry::new("disk is full");
/// entry.level = Some(Level::Error);
/// entry.fields.text("device", "sda1").int("free_bytes", 0);
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NewEntry {
    /// When it happened, as its sender says: nanoseconds since 1970-01-01 UTC.
    pub source_time: Option<i64>,
    /// How bad it is, if that is known.
    pub level: Option<Level>,
    /// What happened.
    pub message: String,
    /// What else is known of it.
    pub fields: Fields,
    /// Where it comes from: few keys, each with few values.
    pub labels: super::Labels,
}

impl NewEntry {
    /// An entry with a message alone.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), ..Self::default() }
    }

    /// As new, keeping the memory.
    pub fn clear(&mut self) {
        self.source_time = None;
        self.level = None;
        self.message.clear();
        self.fields.clear();
        self.labels.clear();
    }
}

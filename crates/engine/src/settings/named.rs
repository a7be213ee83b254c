//! The settings by their names, and as text: for faces that take them from files, flags and keywords. What is not in
//! this list no face has; a test holds it against the struct.

use std::time::Duration;

use super::units::{duration_of_text, shown_duration, shown_size, size_of_text};
use super::{BusyPolicy, Maintenance, Settings};
use crate::{Error, ErrorKind, Result};

/// How values of a setting are written.
///
/// ```
/// use timestrata_engine::{Setting, SettingForm};
///
/// let form = |name| Setting::named(name).map(Setting::form);
/// assert_eq!(form("cache_bytes_max"), Some(SettingForm::Size));
/// assert_eq!(form("sync_interval"), Some(SettingForm::Time));
/// assert_eq!(form("cache_size"), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingForm {
    /// Bytes: `64MiB`.
    Size,
    /// Bytes or none: `8MiB`, `none`.
    SizeOrNone,
    /// A whole number.
    Count,
    /// A whole number or none.
    CountOrNone,
    /// A length of time: `100ms`.
    Time,
    /// One of a few words.
    Word,
}

/// One setting of a store.
///
/// ```
/// # use timestrata_engine::*;
/// # fn main() -> timestrata_engine::Result<()> {
/// let cache = Setting::named("cache_bytes_max").ok_or_else(|| Error::new(ErrorKind::NotFound, "no such setting"))?;
/// let mut settings = Settings::default();
/// cache.set(&mut settings, "1GiB")?;
/// assert_eq!((settings.cache_bytes_max, cache.shown(&settings).as_str()), (1 << 30, "1GiB"));
/// assert!(cache.set(&mut settings, "much").is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    name: &'static str,
    about: &'static str,
    place: Place,
}

/// Where a value is in [`Settings`].
#[derive(Debug, Clone, Copy)]
enum Place {
    Size(fn(&mut Settings) -> &mut u64),
    SizeOrNone(fn(&mut Settings) -> &mut Option<u64>),
    Count(fn(&mut Settings) -> &mut usize),
    CountOrNone(fn(&mut Settings) -> &mut Option<usize>),
    Time(fn(&mut Settings) -> &mut Duration),
    Maintenance,
    BusyPolicy,
}

const NONE: &str = "none";
const MAINTENANCE: [(&str, Maintenance); 2] =
    [("background", Maintenance::Background), ("manual", Maintenance::Manual)];
const BUSY_POLICY: [(&str, BusyPolicy); 3] =
    [("block", BusyPolicy::Block), ("raise", BusyPolicy::Raise), ("flush", BusyPolicy::Flush)];

const fn setting(name: &'static str, about: &'static str, place: Place) -> Setting {
    Setting { name, about, place }
}

const ALL: [Setting; 20] = [
    setting(
        "memtable_bytes_max",
        "Rows of one stream in memory before they are flushed",
        Place::Size(|settings| &mut settings.memtable_bytes_max),
    ),
    setting(
        "memtable_rows_max",
        "The same by their number; none: by their bytes alone",
        Place::CountOrNone(|settings| &mut settings.memtable_rows_max),
    ),
    setting(
        "memory_bytes_max",
        "Rows in memory together; behind it is back-pressure",
        Place::Size(|settings| &mut settings.memory_bytes_max),
    ),
    setting(
        "wal_segment_bytes",
        "Length of one segment of the write-ahead log",
        Place::Size(|settings| &mut settings.wal_segment_bytes),
    ),
    setting(
        "wal_bytes_max",
        "Write-ahead log that recovery may have to replay",
        Place::Size(|settings| &mut settings.wal_bytes_max),
    ),
    setting(
        "sync_interval",
        "What is written but not synced is on disk after this at the latest",
        Place::Time(|settings| &mut settings.sync_interval),
    ),
    setting(
        "group_commit_delay",
        "How long the first to ask for a sync waits for others to share it",
        Place::Time(|settings| &mut settings.group_commit_delay),
    ),
    setting(
        "run_batch_rows",
        "Rows of a record batch of a run at most",
        Place::Count(|settings| &mut settings.run_batch_rows),
    ),
    setting(
        "run_bytes_max",
        "A compacted run is cut when it reaches this",
        Place::Size(|settings| &mut settings.run_bytes_max),
    ),
    setting(
        "cache_bytes_max",
        "Decoded blocks of compacted files",
        Place::Size(|settings| &mut settings.cache_bytes_max),
    ),
    setting(
        "level0_runs_max",
        "Flushed runs of a stream before compaction begins",
        Place::Count(|settings| &mut settings.level0_runs_max),
    ),
    setting(
        "compaction_bytes_per_second",
        "What compaction may write a second; none: no limit",
        Place::SizeOrNone(|settings| &mut settings.compaction_bytes_per_second),
    ),
    setting(
        "scrub_bytes_per_second",
        "What is read a second to compare runs with their checksums; none: never",
        Place::SizeOrNone(|settings| &mut settings.scrub_bytes_per_second),
    ),
    setting(
        "quarantine_bytes_max",
        "Run files that no version names are kept up to so much, the newest",
        Place::Size(|settings| &mut settings.quarantine_bytes_max),
    ),
    setting(
        "quarantine_age_max",
        "And for so long",
        Place::Time(|settings| &mut settings.quarantine_age_max),
    ),
    setting(
        "history_min",
        "For so long it can be read how the store was, if that takes no more than history_bytes_max; 0s: not at all",
        Place::Time(|settings| &mut settings.history_min),
    ),
    setting(
        "history_bytes_max",
        "What of the past is kept takes so much at most, the newest",
        Place::Size(|settings| &mut settings.history_bytes_max),
    ),
    setting(
        "followed_bytes_max",
        "What followers by name have not seen yet takes so much at most",
        Place::Size(|settings| &mut settings.followed_bytes_max),
    ),
    setting(
        "maintenance",
        "Who flushes and compacts: background, or manual, which is nobody but whoever asks for it",
        Place::Maintenance,
    ),
    setting(
        "busy_policy",
        "What a write does when flushes have fallen behind: block, raise or flush",
        Place::BusyPolicy,
    ),
];

impl Setting {
    /// All of them, in the order of [`Settings`].
    pub fn all() -> &'static [Setting] {
        &ALL
    }

    /// The one of a name.
    pub fn named(name: &str) -> Option<&'static Setting> {
        ALL.iter().find(|setting| setting.name == name)
    }

    /// Its name, which is that of its field.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// What it is, in a line.
    pub fn about(&self) -> &'static str {
        self.about
    }

    /// How its values are written.
    pub fn form(&self) -> SettingForm {
        match self.place {
            Place::Size(_) => SettingForm::Size,
            Place::SizeOrNone(_) => SettingForm::SizeOrNone,
            Place::Count(_) => SettingForm::Count,
            Place::CountOrNone(_) => SettingForm::CountOrNone,
            Place::Time(_) => SettingForm::Time,
            Place::Maintenance | Place::BusyPolicy => SettingForm::Word,
        }
    }

    /// What a value must be, for messages.
    pub fn expected(&self) -> String {
        match self.place {
            Place::Size(_) => "a size such as \"64MiB\"".to_owned(),
            Place::SizeOrNone(_) => "a size such as \"64MiB\", or \"none\"".to_owned(),
            Place::Count(_) => "a whole number, at least 1".to_owned(),
            Place::CountOrNone(_) => "a whole number, at least 1, or \"none\"".to_owned(),
            Place::Time(_) => "a duration such as \"500ms\"".to_owned(),
            Place::Maintenance => words(&MAINTENANCE),
            Place::BusyPolicy => words(&BUSY_POLICY),
        }
    }

    /// Its value, as [`set`](Self::set) reads it.
    pub fn shown(&self, settings: &Settings) -> String {
        let mut settings = settings.clone();
        match self.place {
            Place::Size(of) => shown_size(*of(&mut settings)),
            Place::SizeOrNone(of) => of(&mut settings).map_or_else(|| NONE.to_owned(), shown_size),
            Place::Count(of) => of(&mut settings).to_string(),
            Place::CountOrNone(of) => {
                of(&mut settings).map_or_else(|| NONE.to_owned(), |count| count.to_string())
            }
            Place::Time(of) => shown_duration(*of(&mut settings)),
            Place::Maintenance => word_of(&MAINTENANCE, settings.maintenance),
            Place::BusyPolicy => word_of(&BUSY_POLICY, settings.busy_policy),
        }
    }

    /// Sets it to the value that a text names.
    ///
    /// # Errors
    /// `InvalidArgument` for text that names none. What can't work together [`Settings::validate`] refuses.
    pub fn set(&self, settings: &mut Settings, text: &str) -> Result<()> {
        let done = match self.place {
            Place::Size(of) => put(of(settings), size_of_text(text)),
            Place::SizeOrNone(of) => {
                let value = if text == NONE { Some(None) } else { size_of_text(text).map(Some) };
                put(of(settings), value)
            }
            Place::Count(of) => put(of(settings), text.parse().ok().filter(|count| *count > 0)),
            Place::CountOrNone(of) => {
                let count = text.parse().ok().filter(|count| *count > 0).map(Some);
                put(of(settings), if text == NONE { Some(None) } else { count })
            }
            Place::Time(of) => put(of(settings), duration_of_text(text)),
            Place::Maintenance => put(&mut settings.maintenance, value_of(&MAINTENANCE, text)),
            Place::BusyPolicy => put(&mut settings.busy_policy, value_of(&BUSY_POLICY, text)),
        };
        done.ok_or_else(|| {
            let shown: String = text.chars().take(60).collect();
            let message = format!("{} = {shown:?}: it must be {}", self.name, self.expected());
            Error::new(ErrorKind::InvalidArgument, message)
        })
    }
}

fn put<T>(into: &mut T, value: Option<T>) -> Option<()> {
    *into = value?;
    Some(())
}

fn words<T>(words: &[(&str, T)]) -> String {
    words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(" or ")
}

fn word_of<T: PartialEq>(words: &[(&str, T)], value: T) -> String {
    words
        .iter()
        .find(|(_, known)| *known == value)
        .map_or_else(String::new, |(word, _)| (*word).to_owned())
}

fn value_of<T: Copy>(words: &[(&str, T)], text: &str) -> Option<T> {
    words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value)
}

#[cfg(test)]
mod tests;

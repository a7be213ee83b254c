//! The store that calls ask about: opened for reading, and brought up to date before each of them.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use timestrata::sql::{Sql, SqlOptions};
use timestrata::values::moment_of_text;
use timestrata::{Access, Io, Moment, Settings, Store};

use crate::failure::{Failure, Result};

/// A store, and SQL over it.
#[derive(Clone)]
pub(crate) struct Opened {
    pub(crate) store: Store,
    pub(crate) sql: Sql,
}

impl Opened {
    fn open(dir: &Path, memory_bytes_max: usize) -> timestrata::Result<Self> {
        let store = Store::open_with(Io::os(), dir, Access::Read, Settings::default())?;
        let options = SqlOptions { memory_bytes_max, read_only: true, ..SqlOptions::default() };
        let sql = Sql::new(&store, options)?;
        Ok(Self { store, sql })
    }

    /// The same as it was.
    fn then(&self, moment: &Moment) -> timestrata::Result<Self> {
        let store = self.store.at(moment)?;
        let sql = self.sql.at_snapshot(store.snapshot()?);
        Ok(Self { store, sql })
    }
}

pub(crate) struct Source {
    dir: PathBuf,
    memory_bytes_max: usize,
    /// The store as all calls read it, where that is not as it is now.
    fixed: Option<Opened>,
    /// The store as it was when the last call came.
    followed: Mutex<Followed>,
}

struct Followed {
    opened: Opened,
    /// Which directory it is, whatever is at its path later.
    directory: Option<(u64, u64)>,
}

impl Followed {
    fn open(dir: &Path, memory_bytes_max: usize) -> timestrata::Result<Self> {
        // Told before the store is opened: if another one is put there meanwhile, that is noticed.
        let directory = directory_at(dir);
        Ok(Self { opened: Opened::open(dir, memory_bytes_max)?, directory })
    }
}

/// Device and number of what is at a path.
fn directory_at(path: &Path) -> Option<(u64, u64)> {
    path.metadata().ok().map(|found| (found.dev(), found.ino()))
}

impl Source {
    pub(crate) fn open(
        dir: &Path,
        at: Option<&Moment>,
        memory_bytes_max: usize,
    ) -> timestrata::Result<Self> {
        let followed = Followed::open(dir, memory_bytes_max)?;
        let fixed = at.map(|moment| followed.opened.then(moment)).transpose()?;
        let dir = dir.to_owned();
        Ok(Self { dir, memory_bytes_max, fixed, followed: Mutex::new(followed) })
    }

    /// The store as a call wants it: as it is now, or as it was.
    pub(crate) fn opened(&self, at: Option<&str>) -> Result<Opened> {
        if let Some(fixed) = &self.fixed {
            return match at {
                None => Ok(fixed.clone()),
                Some(_) => Err(Failure::new(
                    "at: these tools were started with --at, and read the store as it was then",
                    "leave 'at' out",
                )),
            };
        }
        let moment = at.map(moment_of_text).transpose();
        let moment = moment.map_err(|error| {
            Failure::from(error).hinting("give at=1200 (a commit), at='pin=monday' or a time")
        })?;
        let now = self.now()?;
        match moment {
            None => Ok(now),
            Some(moment) => Ok(now.then(&moment)?),
        }
    }

    /// The store as it is now. Another one that was put in its place, such as a backup, is opened anew; so is one
    /// that can't be followed any more.
    fn now(&self) -> Result<Opened> {
        let mut followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
        let is_there = followed.directory == directory_at(&self.dir);
        let refreshed = is_there.then(|| followed.opened.store.refresh());
        if !matches!(refreshed, Some(Ok(_))) {
            tracing::warn!(
                ?refreshed,
                "the store can't be followed; what is at its path is opened"
            );
            *followed = Followed::open(&self.dir, self.memory_bytes_max)?;
        }
        Ok(followed.opened.clone())
    }

    /// Gives up what is still worked on, and closes the store.
    pub(crate) fn close(&self) -> timestrata::Result<()> {
        let followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
        for opened in self.fixed.iter().chain([&followed.opened]) {
            for query in opened.store.queries() {
                opened.store.cancel_query(query.id);
            }
        }
        followed.opened.store.close()
    }
}

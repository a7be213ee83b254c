//! Backups, as users ask for them.

use std::path::Path;

use super::Store;
use crate::{BackupOptions, BackupReport, Result};

impl Store {
    /// Copies the store to the directory `destination`, which must be missing or empty,
    /// consistently, while writing goes on. Pins are not copied.
    ///
    /// ```
    /// # use timestrata_engine::*;
    /// # fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    /// # let temporary = tempfile::tempdir()?;
    /// # let dir = temporary.path().join("store");
    /// let store = Store::open(&dir, Settings::default())?;
    /// let report = store.backup(&temporary.path().join("copy"))?;
    /// assert_eq!(report.seq, store.stats().last_seq);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `AlreadyExists` if the destination holds something; `Corruption`, which says which rows of which stream are
    /// missing, where a run is damaged or missing: then there is no copy. See [`Store::backup_with`].
    pub fn backup(&self, destination: &Path) -> Result<BackupReport> {
        self.backup_with(destination, BackupOptions::default())
    }

    /// As [`Store::backup`], with options.
    ///
    /// ```
    /// # use timestrata_engine::{BackupOptions, Settings, Store};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let temporary = tempfile::tempdir()?;
    /// # let store = Store::open(temporary.path().join("store"), Settings::default())?;
    /// # let destination = temporary.path().join("copy");
    /// let report = store.backup_with(&destination, BackupOptions { with_damage: true })?;
    /// for missing in &report.damaged {
    ///     println!("damaged in the copy too: {missing}");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Store::backup`]; with `with_damage` none of damage.
    pub fn backup_with(&self, destination: &Path, options: BackupOptions) -> Result<BackupReport> {
        self.engine().check_open()?;
        self.engine().backup(destination, options)
    }
}

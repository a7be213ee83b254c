//! Keys that sign checkpoints, each in a file outside of the store.
//!
//! Beside a key is what it signed last of each log. A store that was put back to an older copy has
//! forgotten its own last checkpoint: then this one says so.

use std::path::{Path, PathBuf};

use timestrata_engine::{Error, ErrorKind, Io, OpenMode, Result};
use timestrata_merkle::{KeyName, Signer};

use super::{Topic, files};

/// A private key in a file.
///
/// ```
/// use timestrata_engine::{Settings, Store};
/// use timestrata_engine::Io;
/// use timestrata_topic::KeyFile;
/// # use timestrata_topic::{Record, SendOptions, Topic, TopicOptions};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let store = Store::memory(Settings::default())?;
/// # let events = Topic::create(&store, "events", &TopicOptions::default())?;
/// # let opened = Record { key: Some(b"door"), value: Some(b"opened"), ..Record::default() };
/// # events.send(&opened, &SendOptions::default())?;
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("log.key");
/// let key = KeyFile::generate(&Io::os(), &path, "example.org/log")?;
/// let note = events.checkpoint_by(0, &key)?;
/// assert!(note.starts_with("example.org/log/events/0\n1\n"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct KeyFile {
    io: Io,
    path: PathBuf,
    signer: Signer,
}

impl KeyFile {
    /// Makes a new key of this name in a file that isn't there yet, and that nobody else may read.
    ///
    /// # Errors
    /// `InvalidArgument` for a name that a key can't have, `AlreadyExists` for a file that is there.
    pub fn generate(io: &Io, path: &Path, name: &str) -> Result<Self> {
        let name = KeyName::new(name).map_err(|error| {
            Error::new(ErrorKind::InvalidArgument, error.to_string()).caused_by(error)
        })?;
        let mut seed = [0; 32];
        io.rng.fill(&mut seed);
        let signer = Signer::from_seed(name, seed);
        let text = format!("{}\n", signer.secret_text());
        files::create(&*io.disk, path, OpenMode::CreatePrivate, text.as_bytes())?;
        Ok(Self { io: io.clone(), path: path.to_owned(), signer })
    }

    /// The key in a file, as [`KeyFile::generate`] or Go's `note` wrote it.
    ///
    /// # Errors
    /// `NotFound`, and `InvalidArgument` for a file without a private key.
    pub fn open(io: &Io, path: &Path) -> Result<Self> {
        let bytes = files::read(&*io.disk, path)?.ok_or_else(|| {
            Error::new(ErrorKind::NotFound, format!("there is no key in {}", path.display()))
        })?;
        let text = String::from_utf8_lossy(&bytes);
        let signer = text.trim().parse().map_err(|error: timestrata_merkle::TextError| {
            let what = format!("{}: {error}", path.display());
            Error::new(ErrorKind::InvalidArgument, what).caused_by(error)
        })?;
        Ok(Self { io: io.clone(), path: path.to_owned(), signer })
    }

    /// The key.
    #[must_use]
    pub fn signer(&self) -> &Signer {
        &self.signer
    }

    /// Where the last checkpoint of a partition is kept: topics' names are names of files.
    fn checkpoint_path(&self, topic: &str, partition: u32) -> PathBuf {
        let mut folder = self.path.as_os_str().to_owned();
        folder.push(".checkpoints");
        PathBuf::from(folder).join(topic).join(partition.to_string())
    }

    /// What was signed last of a partition, as it is kept beside the key.
    pub(super) fn known(&self, topic: &str, partition: u32) -> Result<Option<Vec<u8>>> {
        files::read(&*self.io.disk, &self.checkpoint_path(topic, partition))
    }

    /// Keeps what was signed of a partition, durably.
    pub(super) fn remember(&self, topic: &str, partition: u32, note: &str) -> Result<()> {
        files::replace(&*self.io.disk, &self.checkpoint_path(topic, partition), note.as_bytes())
    }
}

impl Topic {
    /// As [`Topic::checkpoint`], by a key in a file, which knows what it signed last and remembers this.
    ///
    /// # Errors
    /// As [`Topic::checkpoint`].
    pub fn checkpoint_by(&self, partition: u32, key: &KeyFile) -> Result<String> {
        self.partition(partition)?;
        // What is kept beside the key is the last one too: nobody else signs before that is so.
        let _signing = self.shared.signing.lock();
        let known = key.known(self.name(), partition)?;
        let note = self.checkpoint_alone(partition, &key.signer, known.as_deref())?;
        key.remember(self.name(), partition, &note)?;
        Ok(note)
    }
}

//! The tokens of a store: `DIR/tokens`, a file each, for the eyes of the store's owner only.
//!
//! Invariant: a file is there whole or not at all, and never changed, so that processes can make and revoke
//! tokens beside each other and beside a server without a lock: what there is, is what is listed. The
//! folder stays when its last token goes: who once asked for tokens goes on asking.

use std::path::{Path, PathBuf};

use timestrata_engine::{Error, ErrorKind, Io, OpenMode, Result, Store, TOKENS_DIR};

use super::token::{NewToken, Secret, Token, is_id};

const SUFFIX: &str = ".json";
/// More than people look after; each is looked at for each request.
const TOKENS_MAX: usize = 1_000;
/// A hundred scopes with the longest names are less.
const FILE_BYTES_MAX: u64 = 64 << 10;

/// Where the tokens of a store are.
///
/// ```
/// use timestrata_engine::{Io, Settings, Store};
/// use timestrata_server::{NewToken, TokenFolder};
///
/// # let temporary = tempfile::tempdir()?;
/// # let dir = temporary.path().join("store");
/// let store = Store::open(&dir, Settings::default())?;
/// let tokens = TokenFolder::in_dir(&Io::os(), &dir);
/// let (token, secret) = tokens.create(NewToken::new("shipper", &["write:logs-*"])?)?;
/// println!("{}", secret.reveal());
/// assert_eq!(tokens.list()?[0].1.as_ref().map(|token| token.name()), Ok("shipper"));
/// tokens.revoke(token.id())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct TokenFolder {
    io: Io,
    /// The store's.
    dir: PathBuf,
}

/// A token's id, and the token; or why its file is none.
pub type Listed = (String, std::result::Result<Token, String>);

impl TokenFolder {
    /// Those of the store in a directory.
    #[must_use]
    pub fn in_dir(io: &Io, dir: &Path) -> Self {
        Self { io: io.clone(), dir: dir.to_owned() }
    }

    /// Those of an open store; of one in memory they are gone with this.
    pub(crate) fn of(store: &Store) -> Self {
        match store.path() {
            Some(dir) => Self::in_dir(&Io::os(), dir),
            None => Self::in_dir(&Io::memory(), Path::new("memory")),
        }
    }

    fn folder(&self) -> PathBuf {
        self.dir.join(TOKENS_DIR)
    }

    fn path(&self, id: &str) -> PathBuf {
        self.folder().join(format!("{id}{SUFFIX}"))
    }

    /// Makes a token, durably. Its secret is told here and never again.
    ///
    /// # Errors
    /// `InvalidArgument` if there are 1,000 already, or it would have expired; `Io` and `NoSpace` from the disk.
    pub fn create(&self, new: NewToken) -> Result<(Token, Secret)> {
        let (token, secret) = Token::make(&self.io, new);
        if token.has_expired(token.created_ns()) {
            let why = "a token that is made now can't have expired already: give a later time";
            return Err(Error::new(ErrorKind::InvalidArgument, why));
        }
        if self.ids()?.len() >= TOKENS_MAX {
            let why = format!("there are {TOKENS_MAX} tokens already: revoke some");
            return Err(Error::new(ErrorKind::InvalidArgument, why).at(self.folder()));
        }
        let (path, text) = (self.path(token.id()), token.to_text()?);
        let failed = |error| Error::io("write the token", &path, error);
        self.write(&path, text.as_bytes()).map_err(failed)?;
        Ok((token, secret))
    }

    fn write(&self, path: &Path, text: &[u8]) -> std::io::Result<()> {
        let (disk, folder) = (&self.io.disk, self.folder());
        let new = path.with_extension("new");
        disk.create_dir(&folder)?;
        let file = disk.open(&new, OpenMode::CreatePrivate)?;
        let placed = file
            .append(text)
            .and_then(|_| file.sync_all())
            .and_then(|()| disk.rename(&new, path))
            .and_then(|()| disk.sync_dir(&folder))
            .and_then(|()| disk.sync_dir(&self.dir));
        if placed.is_err() {
            // Nobody has the secret of a token that wasn't told.
            let _ = disk.remove(&new).and_then(|()| disk.remove(path));
        }
        placed
    }

    /// The ids of those that there are, in order.
    pub(super) fn ids(&self) -> Result<Vec<String>> {
        let folder = self.folder();
        let entries = self.io.disk.list_if_there(&folder);
        let entries = entries.map_err(|error| Error::io("list the tokens", &folder, error))?;
        let ids = entries.into_iter().filter(|entry| !entry.is_dir).filter_map(|entry| {
            entry.name.strip_suffix(SUFFIX).filter(|id| is_id(id)).map(str::to_owned)
        });
        Ok(ids.collect())
    }

    /// Whether this store ever had a token.
    pub(super) fn is_there(&self) -> Result<bool> {
        let folder = self.folder();
        let there = self.io.disk.exists(&folder);
        there.map_err(|error| Error::io("look for the tokens", &folder, error))
    }

    /// One of these; `None` if it was revoked meanwhile.
    pub(super) fn read(&self, id: &str) -> Result<Option<std::result::Result<Token, String>>> {
        let path = self.path(id);
        let read = || -> std::io::Result<std::result::Result<Token, String>> {
            let file = self.io.disk.open(&path, OpenMode::Read)?;
            let length = file.len()?;
            if length > FILE_BYTES_MAX {
                return Ok(Err(format!("{length} bytes are too long for a token")));
            }
            let mut text = vec![0; usize::try_from(length).unwrap_or_default()];
            file.read_at(0, &mut text)?;
            Ok(Token::from_text(&text, id))
        };
        match read() {
            Ok(token) => Ok(Some(token)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io("read the token", &path, error)),
        }
    }

    /// All of them, the oldest first; those whose files are damaged come last.
    ///
    /// # Errors
    /// `Io`.
    pub fn list(&self) -> Result<Vec<Listed>> {
        let mut tokens = Vec::new();
        for id in self.ids()? {
            if let Some(token) = self.read(&id)? {
                tokens.push((id, token));
            }
        }
        tokens.sort_by_key(|(_, token)| token.as_ref().map_or(i64::MAX, Token::created_ns));
        Ok(tokens)
    }

    /// Revokes a token, durably: nobody is let in by it any more. A server that runs hears of it within
    /// a second.
    ///
    /// # Errors
    /// `NotFound`, and `Io`.
    pub fn revoke(&self, id: &str) -> Result<()> {
        let missing = || {
            let shown: String = id.chars().take(60).collect();
            Error::new(ErrorKind::NotFound, format!("there is no token {shown:?}"))
        };
        if !is_id(id) {
            return Err(missing());
        }
        let path = self.path(id);
        match self.io.disk.remove(&path).and_then(|()| self.io.disk.sync_dir(&self.folder())) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(missing()),
            Err(error) => Err(Error::io("revoke the token", &path, error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> TokenFolder {
        let io = Io::memory();
        io.disk.create_dir(Path::new("store")).unwrap();
        TokenFolder::in_dir(&io, Path::new("store"))
    }

    #[test]
    fn a_token_is_listed_until_it_is_revoked_and_the_folder_stays() {
        let tokens = folder();
        assert!(!tokens.is_there().unwrap() && tokens.list().unwrap().is_empty());
        let (token, _) = tokens.create(NewToken::new("a", &["read"]).unwrap()).unwrap();
        let listed = tokens.list().unwrap();
        assert_eq!(listed[0].1.as_ref().unwrap().id(), token.id());
        tokens.revoke(token.id()).unwrap();
        for id in [token.id(), "../../etc/passwd", ""] {
            assert_eq!(tokens.revoke(id).unwrap_err().kind(), ErrorKind::NotFound);
        }
        assert!(tokens.is_there().unwrap() && tokens.list().unwrap().is_empty());
    }

    #[test]
    fn a_damaged_file_is_told_and_can_be_revoked_and_what_is_no_token_s_is_left_alone() {
        let tokens = folder();
        let (token, _) = tokens.create(NewToken::new("a", &["read"]).unwrap()).unwrap();
        for name in ["0123456789abcdef.json", "0123456789abcdef.new", "README", "0123.json"] {
            let path = tokens.folder().join(name);
            tokens.io.disk.open(&path, OpenMode::CreateNew).unwrap().append(b"{").unwrap();
        }
        let listed = tokens.list().unwrap();
        assert_eq!((listed.len(), listed[0].0.as_str()), (2, token.id()));
        assert!(listed[1].1.as_ref().unwrap_err().contains("no token"));
        tokens.revoke("0123456789abcdef").unwrap();
        assert_eq!(tokens.list().unwrap().len(), 1);
    }

    #[test]
    fn there_is_a_bound_and_no_token_is_born_dead() {
        let tokens = folder();
        let new = || NewToken::new("a", &["read"]).unwrap();
        assert!(tokens.create(new().expiring_ns(1)).unwrap_err().to_string().contains("expired"));
        tokens.io.disk.create_dir(&tokens.folder()).unwrap();
        for number in 0..TOKENS_MAX {
            let path = tokens.path(&format!("{number:016x}"));
            tokens.io.disk.open(&path, OpenMode::CreateNew).unwrap();
        }
        assert!(tokens.create(new()).unwrap_err().to_string().contains("revoke some"));
    }
}

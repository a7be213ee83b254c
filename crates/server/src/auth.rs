//! Who may ask, and for what: whoever brings a token, if there are any.
//!
//! Tokens come from a file that the server was started with, of whom each may do everything, and from the
//! store's own folder ([`TokenFolder`]), where each has its scopes and may have an end. The folder may be
//! changed beside the server, so it is looked at again for requests that come [`LOOK_INTERVAL`] after the
//! last look, for tokens that nobody knows, and now and then for those whose requests are under way.
//!
//! Invariant: a door that was once closed stays closed, whatever becomes of the folder. No token is in a
//! log or an answer, but for the answer that tells a new one.

mod folder;
mod scope;
mod scram;
mod token;
mod token_file;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use subtle::{ConditionallySelectable, ConstantTimeEq};
use timestrata_engine::locks::{Mutex, RwLock};
use timestrata_engine::{Clock, Result, Store};

pub use folder::{Listed, TokenFolder};
pub use scope::{Right, Scope};
use token::SecretHash;
pub use token::{NewToken, Secret, Token};
pub(crate) use token_file::Tokens;

/// How long a token that was revoked by another process may still be taken.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// Whoever asks.
#[derive(Debug, Clone)]
pub(crate) enum Caller {
    /// They may do everything: no token is asked for, or theirs stands in the file of tokens.
    Trusted,
    Holder(Arc<Token>),
}

impl Caller {
    /// Whether they have a right over a stream; over the whole store where none is named.
    pub(crate) fn may(&self, right: Right, stream: Option<&str>) -> bool {
        match self {
            Self::Trusted => true,
            Self::Holder(token) => token.gives(right, stream),
        }
    }

    /// Those of some streams that they have any right over.
    pub(crate) fn known(&self, mut names: Vec<String>) -> Vec<String> {
        if let Self::Holder(token) = self {
            names.retain(|name| token.scopes().iter().any(|scope| scope.covers(Some(name))));
        }
        names
    }

    /// What a line of the log calls them by.
    pub(crate) fn shown(&self) -> &str {
        match self {
            Self::Trusted => "",
            Self::Holder(token) => token.id(),
        }
    }
}

/// Why somebody is not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    /// They bring no token.
    Nameless,
    /// They bring one that nobody knows, or that was revoked.
    Unknown,
    /// It was good until a time that is over.
    Expired,
}

/// The tokens that open the door.
#[derive(Debug)]
pub(crate) struct Door {
    file: Tokens,
    pub(crate) folder: TokenFolder,
    clock: Arc<dyn Clock>,
    known: RwLock<Vec<Arc<Token>>>,
    /// Whether a token is asked for.
    is_closed: AtomicBool,
    /// When somebody last began to look at the folder, by the clock that only goes forward.
    looked_ns: AtomicU64,
    /// Held by who looks, so that no earlier look takes the place of a later one: the files of which it was told that
    /// they can't be read.
    looking: Mutex<BTreeSet<String>>,
}

impl Door {
    pub(crate) fn new(store: &Store, file: Tokens, clock: Arc<dyn Clock>) -> Result<Self> {
        let door = Self {
            is_closed: AtomicBool::new(!file.is_empty()),
            file,
            folder: TokenFolder::of(store),
            clock,
            known: RwLock::default(),
            looked_ns: AtomicU64::new(0),
            looking: Mutex::default(),
        };
        door.look()?;
        Ok(door)
    }

    /// Whether nobody is asked for a token.
    pub(crate) fn is_open(&self) -> bool {
        !self.is_closed.load(Ordering::Acquire)
    }

    /// Whether somebody has a token.
    pub(crate) fn has_tokens(&self) -> bool {
        !self.file.is_empty() || !self.known.read().is_empty()
    }

    /// Whether the last look is so long ago that the caller should take another: one of those who ask at a time.
    pub(crate) fn is_due(&self) -> bool {
        let (now_ns, looked_ns) =
            (self.clock.monotonic_ns(), self.looked_ns.load(Ordering::Acquire));
        u128::from(now_ns.saturating_sub(looked_ns)) >= LOOK_INTERVAL.as_nanos()
            && self
                .looked_ns
                .compare_exchange(looked_ns, now_ns, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok()
    }

    /// Looks at the store's folder: which tokens were made, and which revoked. May wait for the disk. A file that
    /// can't be read keeps no other from being heeded, and opens nothing.
    ///
    /// # Errors
    /// `Io` where the folder can't be listed: then it is as it was before.
    pub(crate) fn look(&self) -> Result<()> {
        let mut unreadable = self.looking.lock();
        self.looked_ns.store(self.clock.monotonic_ns(), Ordering::Release);
        let ids = self.folder.ids()?;
        if self.is_open() && self.folder.is_there()? {
            self.is_closed.store(true, Ordering::Release);
        }
        let before = self.known.read().clone();
        let mut known = Vec::with_capacity(ids.len());
        unreadable.retain(|id| ids.contains(id));
        for id in ids {
            if let Some(token) = before.iter().find(|token| token.id() == id) {
                known.push(Arc::clone(token));
                continue;
            }
            let why = match self.folder.read(&id) {
                Ok(None) => continue,
                Ok(Some(Ok(token))) => {
                    known.push(Arc::new(token));
                    continue;
                }
                Ok(Some(Err(why))) => why,
                Err(error) => error.to_string(),
            };
            if unreadable.insert(id.clone()) {
                tracing::warn!(%id, %why, "a token can't be read, and opens nothing");
            }
        }
        *self.known.write() = known;
        Ok(())
    }

    /// Who brings this token, as far as was seen at the last look.
    pub(crate) fn admit(&self, given: Option<&str>) -> std::result::Result<Caller, Refused> {
        if self.is_open() {
            return Ok(Caller::Trusted);
        }
        let given = given.ok_or(Refused::Nameless)?;
        if self.file.hold(given) {
            return Ok(Caller::Trusted);
        }
        match self.find(given) {
            None => Err(Refused::Unknown),
            Some(token) if token.has_expired(self.clock.wall_ns()) => Err(Refused::Expired),
            Some(token) => Ok(Caller::Holder(token)),
        }
    }

    /// Whether what somebody was let in by is good now as well, as far as was seen at the last look.
    pub(crate) fn check(&self, caller: &Caller) -> std::result::Result<(), Refused> {
        let Caller::Holder(token) = caller else { return Ok(()) };
        if token.has_expired(self.clock.wall_ns()) {
            return Err(Refused::Expired);
        }
        match self.known.read().iter().any(|known| known.id() == token.id()) {
            true => Ok(()),
            false => Err(Refused::Unknown),
        }
    }

    /// Takes as long whichever it is.
    fn find(&self, given: &str) -> Option<Arc<Token>> {
        let hash = SecretHash::of(given);
        let known = self.known.read();
        let mut place = u64::MAX;
        for (index, token) in (0_u64..).zip(known.iter()) {
            place.conditional_assign(&index, token.hash().ct_eq(&hash));
        }
        usize::try_from(place).ok().and_then(|place| known.get(place).cloned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use timestrata_engine::{Io, Settings};

    fn door(clock: Arc<dyn Clock>) -> Door {
        let store = Store::memory(Settings::default()).unwrap();
        Door::new(&store, Tokens::default(), clock).unwrap()
    }

    #[test]
    fn the_first_token_closes_the_door_and_no_revocation_opens_it() {
        let door = door(Io::os().clock);
        assert!(matches!(door.admit(None), Ok(Caller::Trusted)));
        let made = |scope: &str| door.folder.create(NewToken::new("a", &[scope]).unwrap()).unwrap();
        let ((token, secret), (_, other)) = (made("read"), made("write:a"));
        door.look().unwrap();
        assert_eq!(door.admit(None).unwrap_err(), Refused::Nameless);
        assert_eq!(door.admit(Some("guessed")).unwrap_err(), Refused::Unknown);
        let caller = door.admit(Some(secret.reveal())).unwrap();
        assert!(caller.may(Right::Read, None) && !caller.may(Right::Write, Some("a")));
        assert_eq!(caller.shown(), token.id());
        assert_eq!(door.check(&caller), Ok(()));
        let kept = caller;
        let caller = door.admit(Some(other.reveal())).unwrap();
        assert_eq!(caller.known(vec!["a".to_owned(), "b".to_owned()]), ["a"]);
        door.folder.revoke(token.id()).unwrap();
        door.look().unwrap();
        assert_eq!(door.admit(Some(secret.reveal())).unwrap_err(), Refused::Unknown);
        assert!(door.admit(Some(other.reveal())).is_ok());
        assert_eq!((door.check(&kept), door.check(&caller)), (Err(Refused::Unknown), Ok(())));
        assert_eq!(door.check(&Caller::Trusted), Ok(()));
    }

    #[test]
    fn a_token_opens_nothing_from_the_moment_on_at_which_it_expires() {
        let clock = Arc::new(timestrata_io::ManualClock::new(1));
        let door = door(Arc::<timestrata_io::ManualClock>::clone(&clock));
        // Made by the real clock, as the folder has it.
        let expires_ns = i64::MAX - 1;
        let new = NewToken::new("a", &["read"]).unwrap().expiring_ns(expires_ns);
        let (_, secret) = door.folder.create(new).unwrap();
        door.look().unwrap();
        let caller = door.admit(Some(secret.reveal())).unwrap();
        assert_eq!(door.check(&caller), Ok(()));
        clock.advance_ns(expires_ns - 1);
        assert_eq!(door.check(&caller), Err(Refused::Expired));
        assert_eq!(door.admit(Some(secret.reveal())).unwrap_err(), Refused::Expired);
    }

    #[test]
    fn a_file_that_can_not_be_read_opens_nothing_and_keeps_no_other_from_being_heeded() {
        let store = Store::memory(Settings::default()).unwrap();
        let io = Io::memory();
        let door = Door::new(&store, Tokens::default(), Io::os().clock).unwrap();
        let dir = std::path::Path::new("store");
        let door = Door { folder: TokenFolder::in_dir(&io, dir), ..door };
        let new = || NewToken::new("a", &["read"]).unwrap();
        let (_, secret) = door.folder.create(new()).unwrap();
        let damaged = dir.join(timestrata_engine::TOKENS_DIR).join("0123456789abcdef.json");
        io.disk.open(&damaged, timestrata_engine::OpenMode::CreateNew).unwrap();
        door.look().unwrap();
        assert!(door.admit(Some(secret.reveal())).is_ok());
        let (_, later) = door.folder.create(new()).unwrap();
        door.look().unwrap();
        assert!(door.admit(Some(later.reveal())).is_ok() && door.admit(Some("")).is_err());
    }
}

//! Newtypes for identities and orders. On disk each is a little-endian integer.

use std::fmt;

macro_rules! number_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(pub u64);

        impl $name {
            /// The one after this.
            #[must_use]
            pub fn next(self) -> Self {
                Self(self.0.saturating_add(1))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

number_id!(
    /// Place of a commit in the order of commits; the first commit of a store is 1, 0 is
    /// "before any commit".
    SeqNo
);
number_id!(
    /// Identity of a run file; never used twice in a store.
    RunId
);
number_id!(
    /// Identity of a write-ahead log segment; rises by one from segment to segment.
    WalId
);
number_id!(
    /// Identity of a stream; never used twice in a store.
    StreamId
);

/// Random identity of a store: tells its files from another store's.
///
/// ```
/// # use timestrata_format::StoreId;
/// assert_eq!(StoreId([7; 16]).0[0], 7);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct StoreId(pub [u8; 16]);

impl fmt::Display for StoreId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

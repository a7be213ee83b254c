//! The tools, a question each.

mod code;
mod log;
mod proof;
mod read;
mod schema;
mod sql;

use crate::tool::Offered;

/// All tools, in the order in which they are listed.
///
/// # Errors
/// For a tool whose arguments are no object, which a test of any tool finds.
pub(crate) fn all() -> Result<Vec<Offered>, String> {
    Ok(vec![
        Offered::of::<schema::Schema>()?,
        Offered::of::<sql::SqlQuery>()?,
        Offered::of::<log::Search>()?,
        Offered::of::<log::Context>()?,
        Offered::of::<log::Histogram>()?,
        Offered::of::<log::Facets>()?,
        Offered::of::<read::Read>()?,
        Offered::of::<proof::Verify>()?,
        Offered::of::<code::Definition>()?,
        Offered::of::<code::Callers>()?,
        Offered::of::<code::Callees>()?,
        Offered::of::<code::Show>()?,
        Offered::of::<code::Path>()?,
    ])
}

/// Arguments of a tool whose only bound of their own is the moment, or the moment and the time.
macro_rules! arguments {
    ($name:ident) => {
        impl crate::tool::Arguments for $name {
            fn at(&self) -> Option<&str> {
                self.at.as_deref()
            }
        }
    };
    ($name:ident, timeout) => {
        impl crate::tool::Arguments for $name {
            fn at(&self) -> Option<&str> {
                self.at.as_deref()
            }

            fn timeout(&self) -> Option<&str> {
                self.timeout.as_deref()
            }
        }
    };
}
use arguments;

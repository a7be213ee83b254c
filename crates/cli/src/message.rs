//! Messages to the user, on stderr.

use std::fmt::Display;
use std::io::{self, Write};

/// Tells the user something. Nobody may be listening (`2>&1 | head`), which is no failure.
pub(crate) fn tell(message: impl Display) {
    let _ = writeln!(io::stderr(), "{message}");
}

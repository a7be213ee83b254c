//! Words of the command line that are called otherwise now: who still says one is told which it is.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Options and values, old and new. `docs/reference/words.md` has them too.
const OLD_WORDS: [(&str, &str); 4] =
    [("--lines", "--last"), ("--newest", "--reverse"), ("--unit", "--time-unit"), ("stop", "fail")];

/// The old word that an error is about, and what it is called now.
pub(crate) fn in_error(error: &clap::Error) -> Option<(&'static str, &'static str)> {
    let kind = match error.kind() {
        ErrorKind::UnknownArgument => ContextKind::InvalidArg,
        ErrorKind::InvalidValue => ContextKind::InvalidValue,
        _ => return None,
    };
    let Some(ContextValue::String(found)) = error.get(kind) else { return None };
    let word = found.split('=').next().unwrap_or_default();
    OLD_WORDS.into_iter().find(|(old, _)| *old == word)
}

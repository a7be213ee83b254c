//! Why a line of the protocol is not taken.

use jiter::JiterError;
use timestrata_ingest::lines::JsonFlaw;

/// Why a text is not taken.
#[derive(Debug)]
pub(super) enum Unread {
    /// It is no JSON.
    Json(JiterError),
    /// It is JSON, but cannot be kept as it is.
    Unfit(&'static str),
}

impl From<JiterError> for Unread {
    fn from(error: JiterError) -> Self {
        Self::Json(error)
    }
}

impl From<JsonFlaw> for Unread {
    fn from(flaw: JsonFlaw) -> Self {
        match flaw {
            JsonFlaw::Malformed(error) => Self::Json(error),
            JsonFlaw::TooDeep => Self::Unfit("nested more than 128 deep"),
            JsonFlaw::NumberOutOfRange => Self::Unfit("number out of range"),
        }
    }
}

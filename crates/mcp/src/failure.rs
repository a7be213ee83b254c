//! Why a call has no answer, as an agent reads it.

use timestrata::{Error, ErrorKind};

pub(crate) type Result<T> = std::result::Result<T, Failure>;

/// What went wrong and where, and what to do.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    hint: String,
}

impl Failure {
    pub(crate) fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into() }
    }

    /// Where something of a name can't be opened; if nothing has that name, with those that there are.
    pub(crate) fn of_name(error: Error, models: &str, names: &[String]) -> Self {
        match (error.kind(), names.is_empty()) {
            (ErrorKind::NotFound, true) => Self::new(
                error.to_string(),
                format!("this store has no {models}; 'schema' tells what it has"),
            ),
            (ErrorKind::NotFound, false) => Self::new(
                error.to_string(),
                format!("{models} of this store: {}", names.join(", ")),
            ),
            _ => error.into(),
        }
    }

    /// The same, with what to do where an agent has more to go by than a program.
    pub(crate) fn hinting(self, hint: impl Into<String>) -> Self {
        Self { hint: hint.into(), ..self }
    }

    pub(crate) fn text(&self) -> String {
        format!("{}\nhint: {}", self.message, self.hint)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let hint = match error.kind() {
            // What errors ask of programs that hold the store open is not for who calls a tool.
            ErrorKind::ReadOnly => "these tools only read; ask in SQL with SELECT",
            ErrorKind::NotFound => "call 'schema' without a name: it lists what there is",
            _ => error.hint(),
        };
        Self::new(error.to_string(), hint)
    }
}

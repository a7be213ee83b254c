//! Why a verb didn't do what was asked, and how the user hears of it.

use std::io;

use timestrata::ErrorKind;

use crate::message::tell;

/// What a verb returns.
pub(crate) type Result<T> = std::result::Result<T, Failure>;

const FAILED: u8 = 1;
pub(crate) const USAGE: u8 = 2;

/// A verb's failure.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line asks for something that has no meaning.
    Usage { message: String, hint: String },
    /// It couldn't be done.
    Failed { message: String, hint: Option<String> },
    /// Whoever read our output has had enough (`| head`): nothing went wrong.
    OutputClosed,
}

impl Failure {
    /// A command line that has no meaning.
    pub(crate) fn usage(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Usage { message: message.into(), hint: hint.into() }
    }

    /// A failure, and what to do about it.
    pub(crate) fn failed(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Failed { message: message.into(), hint: Some(hint.into()) }
    }

    /// A failure that says all there is to say.
    pub(crate) fn plain(message: impl Into<String>) -> Self {
        Self::Failed { message: message.into(), hint: None }
    }

    /// What went wrong, without what to do.
    pub(crate) fn message(&self) -> &str {
        match self {
            Self::Usage { message, .. } | Self::Failed { message, .. } => message,
            Self::OutputClosed => "",
        }
    }

    /// The same failure, and what of the work was done nevertheless.
    pub(crate) fn with_note(self, note: &str) -> Self {
        match self {
            Self::Failed { message, hint } => {
                Self::Failed { message: format!("{message}\nnote: {note}"), hint }
            }
            other => other,
        }
    }

    /// A failed write to stdout.
    pub(crate) fn output(cause: io::Error) -> Self {
        match cause.kind() {
            io::ErrorKind::BrokenPipe => Self::OutputClosed,
            _ => Self::plain(format!("could not write the output: {cause}")),
        }
    }

    /// The same for a program that calls this as a library.
    pub(crate) fn into_error(self) -> timestrata::Error {
        let message = match &self {
            Self::Usage { message, hint } | Self::Failed { message, hint: Some(hint) } => {
                format!("{message}: {hint}")
            }
            other => other.message().to_owned(),
        };
        timestrata::Error::new(timestrata::ErrorKind::InvalidArgument, message)
    }

    /// Tells the user; gives the exit code.
    pub(crate) fn report(self) -> u8 {
        let (message, hint, code) = match self {
            Self::OutputClosed => return 0,
            Self::Usage { message, hint } => (message, Some(hint), USAGE),
            Self::Failed { message, hint } => (message, hint, FAILED),
        };
        tell(format_args!("error: {message}"));
        if let Some(hint) = hint {
            tell(format_args!("hint: {hint}"));
        }
        code
    }
}

impl From<timestrata::Error> for Failure {
    fn from(error: timestrata::Error) -> Self {
        // Who types a line makes no call; what is wrong with the line is said.
        match error.hint() {
            hint if hint == ErrorKind::InvalidArgument.hint() => Self::plain(error.to_string()),
            hint => Self::failed(error.to_string(), hint),
        }
    }
}

//! Why a body could not be read to its end. It goes as an error's cause through whatever reads the body, and is
//! found again where the error is answered.

use std::error::Error as StdError;
use std::io;

use axum::http::StatusCode;
use timestrata_engine::Error;

/// Whose fault it is, and what happened.
#[derive(Debug)]
pub(crate) struct Fault(pub(crate) StatusCode, pub(crate) String);

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.1)
    }
}

impl StdError for Fault {}

impl Fault {
    pub(crate) fn io(self, kind: io::ErrorKind) -> io::Error {
        io::Error::new(kind, self)
    }

    /// The status and the message, if an error comes of a body that could not be read to its end.
    pub(crate) fn of(error: &Error) -> Option<(StatusCode, String)> {
        let mut source: Option<&(dyn StdError + 'static)> = StdError::source(error);
        while let Some(cause) = source {
            // An error of the operating system's kind keeps its own cause apart.
            let inner = cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
            let fault = cause
                .downcast_ref::<Self>()
                .or_else(|| inner.and_then(|inner| inner.downcast_ref::<Self>()));
            if let Some(Self(status, why)) = fault {
                return Some((*status, why.clone()));
            }
            source = cause.source();
        }
        None
    }
}

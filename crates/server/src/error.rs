//! Errors as answers: a status, and a problem as RFC 9457 has it, in JSON, that says what, where and what to do. It also
//! has the members that a success has: `success`, `data` and `error`.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::json;
use timestrata_engine::{Error, ErrorKind};

use crate::fault::Fault;
use crate::request_id;

/// Seconds after which a client that was told to wait may try again.
const RETRY_SECONDS: HeaderValue = HeaderValue::from_static("1");

/// What a handler fails with.
#[derive(Debug)]
pub(crate) struct Failure {
    status: StatusCode,
    message: String,
    /// What the store calls it, if it comes from there.
    kind: Option<ErrorKind>,
    /// Whether it may be otherwise in a moment.
    is_for_now: bool,
    /// What is said of tokens, where it is one that is missing or lacks a scope (RFC 6750).
    challenge: Option<&'static str>,
}

pub(crate) type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), kind: None, is_for_now: false, challenge: None }
    }

    /// For what is refused because of what else is under way, and may be taken in a moment.
    pub(crate) fn for_now(message: impl Into<String>) -> Self {
        Self { is_for_now: true, ..Self::new(StatusCode::SERVICE_UNAVAILABLE, message) }
    }

    /// For whom nobody knows, or who lacks a scope; `challenge` is what RFC 6750 has them told.
    pub(crate) fn of_token(
        status: StatusCode,
        message: impl Into<String>,
        challenge: &'static str,
    ) -> Self {
        Self { challenge: Some(challenge), ..Self::new(status, message) }
    }

    /// A bug of ours: what it is stands in the log.
    pub(crate) fn of_a_bug() -> Self {
        let message = "the server failed to answer; its log says more";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, message)
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    /// The same, of a part of what was asked for.
    pub(crate) fn within(self, part: &str) -> Self {
        Self { message: format!("{part}: {}", self.message), ..self }
    }

    /// The same, for what went wrong after so many entries had been written for good.
    pub(crate) fn behind(self, written: u64) -> Self {
        match written {
            0 => self,
            _ => Self {
                message: format!("{}; {written} entries before were written", self.message),
                ..self
            },
        }
    }
}

impl Failure {
    /// The same as an error of the store's, for those who are no client.
    pub(crate) fn into_error(self) -> Error {
        let kind = match self.status {
            StatusCode::PAYLOAD_TOO_LARGE => ErrorKind::TooLarge,
            _ => self.kind.unwrap_or(ErrorKind::InvalidArgument),
        };
        Error::new(kind, self.message)
    }
}

/// The type of a problem's body.
pub(crate) const PROBLEM: &str = "application/problem+json";

impl Failure {
    /// What the answer says.
    fn problem(&self) -> serde_json::Value {
        let kind = self.kind.map_or("about:blank".to_owned(), |kind| {
            format!("urn:timestrata:error:{}", kebab_case(&format!("{kind:?}")))
        });
        json!({
            "type": kind,
            "title": self.status.canonical_reason(),
            "status": self.status.as_u16(),
            "detail": self.message,
            "success": false,
            "data": null,
            "error": self.message,
            "request_id": request_id::current(),
        })
    }
}

/// `NotFound` as `not-found`.
fn kebab_case(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !out.is_empty() {
            out.push('-');
        }
        out.push(letter.to_ascii_lowercase());
    }
    out
}

fn status_of(kind: ErrorKind) -> StatusCode {
    match kind {
        ErrorKind::InvalidArgument | ErrorKind::InvalidData => StatusCode::BAD_REQUEST,
        ErrorKind::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        ErrorKind::NotFound | ErrorKind::OutOfRange => StatusCode::NOT_FOUND,
        // Cancelled by another request: who repeats by themselves must not.
        ErrorKind::AlreadyExists | ErrorKind::Conflict | ErrorKind::Cancelled => {
            StatusCode::CONFLICT
        }
        ErrorKind::TimedOut => StatusCode::GATEWAY_TIMEOUT,
        ErrorKind::ReadOnly => StatusCode::FORBIDDEN,
        ErrorKind::HistoryLost => StatusCode::GONE,
        ErrorKind::Busy | ErrorKind::Poisoned | ErrorKind::Closed | ErrorKind::OutOfMemory => {
            StatusCode::SERVICE_UNAVAILABLE
        }
        ErrorKind::NoSpace => StatusCode::INSUFFICIENT_STORAGE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        if let Some((status, why)) = Fault::of(&error) {
            return Self::new(status, why);
        }
        let status = status_of(error.kind());
        let is_ended = matches!(error.kind(), ErrorKind::Cancelled | ErrorKind::TimedOut);
        if status.is_server_error() && !is_ended {
            tracing::error!(%error, "a request failed");
        }
        let (kind, is_for_now) = (Some(error.kind()), error.kind() == ErrorKind::Busy);
        Self { kind, is_for_now, ..Self::new(status, format!("{error}; {}", error.hint())) }
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let body = self.problem().to_string();
        self.with_headers((self.status, [(header::CONTENT_TYPE, PROBLEM)], body).into_response())
    }
}

/// What an answer of another form is made of.
impl Failure {
    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Whether it comes from the store, and not from how the request was made.
    pub(crate) fn is_of_store(&self) -> bool {
        self.kind.is_some()
    }

    /// The same answer, with what its headers say of this.
    pub(crate) fn with_headers(&self, mut response: Response) -> Response {
        if self.is_for_now {
            response.headers_mut().insert(header::RETRY_AFTER, RETRY_SECONDS);
        }
        if let Some(challenge) = self.challenge {
            let challenge = HeaderValue::from_static(challenge);
            response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
        }
        response
    }
}

/// An answer that is not rows: `{"success": true, "data": ..., "error": null}`.
pub(crate) fn success(data: serde_json::Value) -> Response {
    success_of(data)
}

/// The same of what is written at once, without a tree of it.
pub(crate) fn success_of(data: impl Serialize) -> Response {
    #[derive(Serialize)]
    struct Answer<T> {
        data: T,
        error: Option<()>,
        success: bool,
    }
    Json(Answer { data, error: None, success: true }).into_response()
}

//! What a server refuses, as the error that a store in this process would give (RFC 9457).

use serde_json::Value;
use timestrata_engine::{Error, ErrorKind};

/// What the type of a problem begins with, where a store says what it is.
const URN: &str = "urn:timestrata:error:";

/// The kinds of errors by the names that problems have for them.
const KINDS: [(&str, ErrorKind); 21] = [
    ("invalid-argument", ErrorKind::InvalidArgument),
    ("invalid-data", ErrorKind::InvalidData),
    ("too-large", ErrorKind::TooLarge),
    ("not-found", ErrorKind::NotFound),
    ("out-of-range", ErrorKind::OutOfRange),
    ("history-lost", ErrorKind::HistoryLost),
    ("conflict", ErrorKind::Conflict),
    ("already-exists", ErrorKind::AlreadyExists),
    ("not-a-store", ErrorKind::NotAStore),
    ("unsupported-version", ErrorKind::UnsupportedVersion),
    ("locked", ErrorKind::Locked),
    ("read-only", ErrorKind::ReadOnly),
    ("busy", ErrorKind::Busy),
    ("no-space", ErrorKind::NoSpace),
    ("out-of-memory", ErrorKind::OutOfMemory),
    ("io", ErrorKind::Io),
    ("corruption", ErrorKind::Corruption),
    ("poisoned", ErrorKind::Poisoned),
    ("closed", ErrorKind::Closed),
    ("cancelled", ErrorKind::Cancelled),
    ("timed-out", ErrorKind::TimedOut),
];

/// The error of an answer's status and body.
pub(crate) fn error_of(status: u16, body: &[u8]) -> Error {
    let problem: Value = serde_json::from_slice(body).unwrap_or_default();
    let text = |name: &str| problem.get(name).and_then(Value::as_str);
    let known = text("type")
        .and_then(|kind| kind.strip_prefix(URN))
        .and_then(|name| KINDS.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind));
    let kind = known.unwrap_or_else(|| kind_of(status));
    let detail = text("detail").or_else(|| text("error")).map_or_else(
        || format!("the server answered {status}, and not as Timestrata does"),
        str::to_owned,
    );
    // What to do stands behind what is wrong; here it is told apart.
    let told_hint = detail.strip_suffix(kind.hint()).and_then(|rest| rest.strip_suffix("; "));
    let error = Error::new(kind, told_hint.unwrap_or(&detail));
    match (status, known) {
        (401, _) => error.hinting("give a token that the server knows"),
        (421, _) => error.hinting("call the server by a name that it knows ('server.hosts')"),
        (_, None) => error.hinting("see what the server says"),
        _ => error,
    }
}

/// The kind of what no store refused.
fn kind_of(status: u16) -> ErrorKind {
    match status {
        404 => ErrorKind::NotFound,
        403 => ErrorKind::ReadOnly,
        409 => ErrorKind::Conflict,
        410 => ErrorKind::HistoryLost,
        413 => ErrorKind::TooLarge,
        503 => ErrorKind::Busy,
        504 => ErrorKind::TimedOut,
        507 => ErrorKind::NoSpace,
        400..500 => ErrorKind::InvalidArgument,
        _ => ErrorKind::Io,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_called_as_servers_call_them() {
        for (name, kind) in KINDS {
            let spelled: String = name
                .split('-')
                .map(|word| {
                    let (first, rest) = word.split_at(1);
                    first.to_uppercase() + rest
                })
                .collect();
            assert_eq!(spelled, format!("{kind:?}"));
        }
    }

    #[test]
    fn a_problem_becomes_the_error_that_it_was() {
        let body = br#"{"type":"urn:timestrata:error:not-found","status":404,
            "detail":"no stream 'x'; create it first, or check the name"}"#;
        let error = error_of(404, body);
        assert_eq!((error.kind(), error.message()), (ErrorKind::NotFound, "no stream 'x'"));
        assert_eq!(error.hint(), ErrorKind::NotFound.hint());
    }

    #[test]
    fn what_is_no_problem_is_told_by_its_status() {
        for body in [&b""[..], b"<html>", b"[1]", b"{\"detail\": 7}"] {
            let error = error_of(502, body);
            assert_eq!(error.kind(), ErrorKind::Io);
            assert!(error.message().contains("502"), "{error}");
        }
        assert_eq!(error_of(401, b"").hint(), "give a token that the server knows");
    }
}

//! What a body is by its `Content-Type`, and where that says nothing: `curl -d` calls everything a web form,
//! which nothing here reads. JSON shows by how it begins; what else it may be is asked for.
//!
//! A page of another place could send the same without being asked: `hosts` refuses it where there are no
//! tokens.

use std::io::{Cursor, Read};

use axum::http::{HeaderMap, StatusCode, header};
use timestrata_engine::{Error, ErrorKind};

use crate::body::{BodyReader, unread};
use crate::error::{Failure, Result};

const WEB_FORM: &str = "application/x-www-form-urlencoded";
/// White space that may stand before JSON.
const BLANK_BYTES_MAX: usize = 4 << 10;

/// What the headers call the body, in small letters and without parameters; empty where they don't.
pub(crate) fn kind(headers: &HeaderMap) -> String {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    value.and_then(|kind| kind.split(';').next()).unwrap_or_default().trim().to_ascii_lowercase()
}

/// Whether the kind of a body says nothing of it.
pub(crate) fn is_web_form(kind: &str) -> bool {
    kind == WEB_FORM
}

/// Whether a body is JSON, a list or one of its things, and not one of them a line. `things` is what they are called.
///
/// # Errors
/// 415 for what is neither.
pub(crate) fn is_document(headers: &HeaderMap, things: &str) -> Result<bool> {
    let kind = kind(headers);
    match kind.as_str() {
        "application/x-ndjson" | "application/jsonl" => Ok(false),
        _ if is_web_form(&kind) || kind.ends_with("json") => Ok(true),
        _ => {
            let why = format!(
                "Content-Type: {kind:?}: {things} are application/x-ndjson or application/json"
            );
            Err(Failure::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, why))
        }
    }
}

/// Whether text is JSON, if it is one of the things that can be sent.
pub(crate) fn begins_json(text: &[u8]) -> bool {
    matches!(text.trim_ascii_start().first(), Some(b'{' | b'['))
}

/// The same bytes, if they begin as JSON does. `otherwise` says how else to send what is none.
///
/// # Errors
/// 415 for other bytes, and what reading the body fails with.
pub(crate) fn json_only(mut body: BodyReader, otherwise: &str) -> Result<impl Read + Send + use<>> {
    let mut start = Vec::new();
    let mut part = [0; 512];
    while start.trim_ascii_start().is_empty() && start.len() < BLANK_BYTES_MAX {
        let read = body.read(&mut part).map_err(|cause| {
            unread(Error::new(ErrorKind::Io, "the body could not be read").caused_by(cause))
        })?;
        if read == 0 {
            break;
        }
        start.extend_from_slice(part.get(..read).unwrap_or_default());
    }
    match begins_json(&start) {
        true => Ok(Cursor::new(start).chain(body)),
        false => Err(Failure::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            format!(
                "Content-Type: {WEB_FORM}, which is what curl's -d says, and the body is no JSON: {otherwise}"
            ),
        )),
    }
}

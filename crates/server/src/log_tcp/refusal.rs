//! Why a request is refused: a code and its detail, as an answer's line.

use serde::Serialize;
use serde_json::{Value, json};

use super::lines::LINE_BYTES_MAX;

/// What actions there are, as an answer names them.
const ACTIONS: &str = "write,read";

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "errcode", rename_all = "snake_case")]
pub(super) enum Refusal {
    RequestTooLarge,
    /// What went wrong is in the server's log.
    ReadError,
    InvalidJson(#[serde(skip)] String),
    WriteLogError(#[serde(skip)] String),
    MissingAction,
    UnknownAction(#[serde(skip)] String),
    MissingSourceTs,
    MissingMessage,
    InvalidSourceTs,
    MessageTooLarge {
        #[serde(skip)]
        bytes_max: usize,
    },
    MissingStartTs,
    MissingEndTs,
    InvalidStartTs,
    InvalidEndTs,
    TooManyClients {
        #[serde(skip)]
        clients_max: usize,
    },
}

/// A refusal as it is sent.
#[derive(Debug, Serialize)]
struct Answer<'a> {
    status: &'static str,
    /// Its code, which is its name.
    #[serde(flatten)]
    refusal: &'a Refusal,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<Value>,
}

impl Refusal {
    fn detail(&self) -> Option<Value> {
        Some(match self {
            Self::RequestTooLarge => json!({ "max_size": LINE_BYTES_MAX, "unit": "byte" }),
            Self::MessageTooLarge { bytes_max } => json!({ "max_size": bytes_max, "unit": "byte" }),
            Self::InvalidJson(message) | Self::WriteLogError(message) => {
                json!({ "message": message })
            }
            Self::UnknownAction(given) => {
                json!({ "given_action": given, "supported_actions": ACTIONS })
            }
            Self::InvalidSourceTs => json!({ "message": "InvalidU64" }),
            Self::TooManyClients { clients_max } => json!({ "max_clients": clients_max }),
            Self::ReadError
            | Self::MissingAction
            | Self::MissingSourceTs
            | Self::MissingMessage
            | Self::MissingStartTs
            | Self::MissingEndTs
            | Self::InvalidStartTs
            | Self::InvalidEndTs => return None,
        })
    }

    /// Appends its line.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let answer = Answer { status: "error", refusal: self, detail: self.detail() };
        // Memory takes what is written to it, and all of this has a form in JSON.
        let _ = serde_json::to_writer(&mut *out, &answer);
        out.push(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_details_are_those_of_the_protocol() {
        let line = |refusal: Refusal| {
            let mut out = Vec::new();
            refusal.write(&mut out);
            String::from_utf8(out).unwrap()
        };
        let plain = |code: &str| format!("{{\"status\":\"error\",\"errcode\":\"{code}\"}}\n");
        for (refusal, code) in [
            (Refusal::ReadError, "read_error"),
            (Refusal::MissingAction, "missing_action"),
            (Refusal::MissingSourceTs, "missing_source_ts"),
            (Refusal::MissingMessage, "missing_message"),
            (Refusal::MissingStartTs, "missing_start_ts"),
            (Refusal::MissingEndTs, "missing_end_ts"),
            (Refusal::InvalidStartTs, "invalid_start_ts"),
            (Refusal::InvalidEndTs, "invalid_end_ts"),
        ] {
            assert_eq!(line(refusal), plain(code));
        }
        let detailed = |code: &str, detail: &str| {
            format!("{{\"status\":\"error\",\"errcode\":\"{code}\",\"detail\":{detail}}}\n")
        };
        for (refusal, code, detail) in [
            (
                Refusal::RequestTooLarge,
                "request_too_large",
                r#"{"max_size":1050624,"unit":"byte"}"#,
            ),
            (
                Refusal::MessageTooLarge { bytes_max: 1_048_576 },
                "message_too_large",
                r#"{"max_size":1048576,"unit":"byte"}"#,
            ),
            (Refusal::InvalidJson("a \"b\"".into()), "invalid_json", r#"{"message":"a \"b\""}"#),
            (Refusal::WriteLogError("full".into()), "write_log_error", r#"{"message":"full"}"#),
            (
                Refusal::UnknownAction("erase".into()),
                "unknown_action",
                r#"{"given_action":"erase","supported_actions":"write,read"}"#,
            ),
            (Refusal::InvalidSourceTs, "invalid_source_ts", r#"{"message":"InvalidU64"}"#),
        ] {
            assert_eq!(line(refusal), detailed(code, detail));
        }
    }
}

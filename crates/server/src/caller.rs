//! Who asks, as handlers and layers have it: let in already, and told which scope they lack.

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;

use crate::auth::{Caller, Refused, Right};
use crate::endpoint::shown;
use crate::error::{Failure, Result};

const UNKNOWN: &str = r#"Bearer error="invalid_token""#;

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self> {
        parts.extensions.get().cloned().ok_or_else(Failure::of_a_bug)
    }
}

impl Caller {
    /// An error where they haven't a right over a stream; over the whole store where none is named.
    ///
    /// # Errors
    /// `403` that names the scope.
    pub(crate) fn expect(&self, right: Right, stream: Option<&str>) -> Result<()> {
        if self.may(right, stream) {
            return Ok(());
        }
        let message = match stream {
            Some(stream) => format!("this token lacks the scope {right}:{}", shown(stream)),
            None => format!("this token lacks the scope {right}, of all streams"),
        };
        let challenge = match right {
            Right::Read => r#"Bearer error="insufficient_scope", scope="read""#,
            Right::Write => r#"Bearer error="insufficient_scope", scope="write""#,
            Right::Admin => r#"Bearer error="insufficient_scope", scope="admin""#,
        };
        Err(Failure::of_token(StatusCode::FORBIDDEN, message, challenge))
    }
}

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Self {
        let (why, challenge) = match refused {
            Refused::Nameless => {
                ("a token is needed: send 'Authorization: Bearer TOKEN'", "Bearer")
            }
            Refused::Unknown => ("the token is not known here", UNKNOWN),
            Refused::Expired => ("the token has expired", UNKNOWN),
        };
        Self::of_token(StatusCode::UNAUTHORIZED, why, challenge)
    }
}

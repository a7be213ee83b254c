//! Errors as these clients know them: a status, and `success`, `data` and `error` alone.
//!
//! That server tells what it could not take or find by 500; 400 is for a request that it can't read.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

use super::Envelope;
use crate::error::Failure;

/// What a handler fails with.
#[derive(Debug)]
pub(super) struct Refusal(Failure);

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Self(failure)
    }
}

impl From<timestrata_engine::Error> for Refusal {
    fn from(error: timestrata_engine::Error) -> Self {
        Self(error.into())
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let Self(failure) = self;
        let status = match failure.status() {
            status if failure.is_of_store() && status.is_client_error() => {
                match status {
                    // A body that is too long is too long there too, and a store that can't be written to is ours.
                    StatusCode::PAYLOAD_TOO_LARGE | StatusCode::FORBIDDEN => status,
                    _ => StatusCode::INTERNAL_SERVER_ERROR,
                }
            }
            status => status,
        };
        let body =
            Json(Envelope::<()> { success: false, data: None, error: Some(failure.message()) });
        failure.with_headers((status, body).into_response())
    }
}

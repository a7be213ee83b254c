//! What stands behind the path of a request, by name. What can't be read is refused as all else is, in
//! JSON.

use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Json, Query, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use crate::error::{Failure, Result};

#[derive(Debug)]
pub(super) struct Parameters<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Parameters<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self> {
        let read = Query::<T>::from_request_parts(parts, state).await;
        let refused = |error: QueryRejection| {
            Failure::bad_request(format!("what stands behind the path: {}", error.body_text()))
        };
        read.map(|Query(read)| Self(read)).map_err(refused)
    }
}

/// A body in JSON.
#[derive(Debug)]
pub(super) struct JsonBody<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, state: &S) -> Result<Self> {
        let read = Json::<T>::from_request(request, state).await;
        read.map(|Json(read)| Self(read)).map_err(refused)
    }
}

fn refused(error: JsonRejection) -> Failure {
    let status = match &error {
        // JSON of another shape is the client's mistake as JSON with a mistake is.
        JsonRejection::JsonDataError(_) => StatusCode::BAD_REQUEST,
        other => other.status(),
    };
    let mut why = error.body_text();
    // Axum says that it was JSON, and serde says what was wrong with it.
    if let Some(said) = std::error::Error::source(&error)
        && !why.contains(&said.to_string())
    {
        why = format!("{why}: {said}");
    }
    Failure::new(status, why)
}

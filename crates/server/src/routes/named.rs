//! What the path of a request names. One that can't be read is refused as all else is, in JSON.

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use crate::error::{Failure, Result};

#[derive(Debug)]
pub(super) struct Named<T>(pub(super) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Named<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self> {
        let read = Path::<T>::from_request_parts(parts, state).await;
        let refused = |error: axum::extract::rejection::PathRejection| {
            Failure::new(error.status(), error.body_text())
        };
        read.map(|Path(named)| Self(named)).map_err(refused)
    }
}

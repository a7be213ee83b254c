//! What stands behind the path of a request, by name, and bodies in JSON. What can't be read is refused as all
//! else is, in JSON.

use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Json, Query, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use timestrata_engine::duration_of_text;

use crate::content_type;
use crate::endpoint::{Description, Takes, expect_known, shown};
use crate::error::{Failure, Result};
use crate::state::AppState;

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

/// The members of the JSON object that a body is, those that the endpoint lists; none of an empty body.
#[derive(Debug)]
pub(super) struct Members(Map<String, Value>);

impl FromRequest<AppState> for Members {
    type Rejection = Failure;

    async fn from_request(request: Request, state: &AppState) -> Result<Self> {
        let known = match state.endpoints.of(request.method(), request.extensions()) {
            Some(Description { takes: Takes::Members(members), .. }) => *members,
            _ => &[][..],
        };
        let kind = content_type::kind(request.headers());
        let is_unsaid = kind.is_empty() || content_type::is_web_form(&kind);
        let text = String::from_request(request, state)
            .await
            .map_err(|error| Failure::new(error.status(), error.body_text()))?;
        if text.trim_ascii().is_empty() {
            return Ok(Self(Map::new()));
        }
        if !is_unsaid && kind != "application/json" && !kind.ends_with("+json") {
            return Err(Failure::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                format!("Content-Type: {kind:?}: the body is an object as application/json"),
            ));
        }
        let members: Map<String, Value> = serde_json::from_str(&text).map_err(|error| {
            Failure::bad_request(format!("the body is no JSON object: {error}"))
        })?;
        expect_known("member", members.keys().map(String::as_str), known)?;
        Ok(Self(members))
    }
}

impl Members {
    /// Whether a member is there, be it null.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// A member; `None` where it is missing or null.
    pub(super) fn take(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name).filter(|value| !value.is_null())
    }

    fn read<T>(
        &mut self,
        name: &str,
        expected: &str,
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Result<Option<T>> {
        let Some(value) = self.take(name) else { return Ok(None) };
        read(&value).map(Some).ok_or_else(|| {
            let found = shown(&value.to_string());
            Failure::bad_request(format!("{name} must be {expected}, not {found}"))
        })
    }

    pub(super) fn text(&mut self, name: &str) -> Result<Option<String>> {
        self.read(name, "text", |value| value.as_str().map(str::to_owned))
    }

    pub(super) fn truth(&mut self, name: &str) -> Result<Option<bool>> {
        self.read(name, "true or false", Value::as_bool)
    }

    /// A whole number from 0 on.
    pub(super) fn number<T: TryFrom<u64>>(&mut self, name: &str) -> Result<Option<T>> {
        self.read(name, "a whole number from 0 on that is not too large", |value| {
            T::try_from(value.as_u64()?).ok()
        })
    }

    /// A whole number, which may be less than 0.
    pub(super) fn integer(&mut self, name: &str) -> Result<Option<i64>> {
        self.read(name, "a whole number of 64 bits", Value::as_i64)
    }

    /// A length of time: seconds, or a text such as `30d`. In nanoseconds.
    pub(super) fn duration_ns(&mut self, name: &str) -> Result<Option<u64>> {
        self.read(name, "seconds, or a duration such as \"12h\"", |value| match value {
            Value::String(text) => u64::try_from(duration_of_text(text)?.as_nanos()).ok(),
            Value::Number(seconds) => {
                let duration = std::time::Duration::try_from_secs_f64(seconds.as_f64()?).ok()?;
                u64::try_from(duration.as_nanos()).ok()
            }
            _ => None,
        })
    }

    /// One of some words.
    pub(super) fn word<T: Copy>(&mut self, name: &str, words: &[(&str, T)]) -> Result<Option<T>> {
        let list: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        self.read(name, &list.join(" or "), |value| {
            let given = value.as_str()?;
            words.iter().find(|(word, _)| *word == given).map(|(_, value)| *value)
        })
    }
}

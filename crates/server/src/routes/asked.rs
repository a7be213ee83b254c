//! A request to a route: what its path names, and the parameters behind that.
//!
//! Invariant: a parameter that the route's [`Endpoint`](crate::endpoint::Endpoint) doesn't list was refused before, and a handler can ask for
//! no other (where assertions are on it panics); so what is described is what is understood.

use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

use arrow_schema::{DataType, TimeUnit};
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Uri};
use serde::de::DeserializeOwned;
use timestrata_engine::{RunningQuery, duration_of_text};
use timestrata_table::parse_time;

use super::named::Named;
use super::parameters::Parameters;
use crate::endpoint::{Parameter, shown};
use crate::error::{Failure, Result};
use crate::moments::Reading;
use crate::state::AppState;

/// Parameters, each taken by its name; one that is there twice and may not be is an error.
#[derive(Debug)]
pub(crate) struct Asked {
    given: Vec<(String, String)>,
    known: &'static [Parameter],
    taken: Vec<&'static str>,
}

impl FromRequestParts<AppState> for Asked {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self> {
        let Parameters(given) = Parameters::from_request_parts(parts, state).await?;
        let endpoint = state.endpoints.of(&parts.method, &parts.extensions);
        let known = endpoint.map_or(&[][..], |endpoint| endpoint.parameters);
        Ok(Self { given, known, taken: Vec::new() })
    }
}

/// A request, by what `P` its path names.
#[derive(Debug)]
pub(crate) struct Question<P = String> {
    pub(crate) state: AppState,
    pub(crate) name: P,
    pub(crate) asked: Asked,
    pub(crate) headers: HeaderMap,
    uri: Uri,
}

impl<P: DeserializeOwned + Send> FromRequestParts<AppState> for Question<P> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self> {
        let Named(name) = Named::from_request_parts(parts, state).await?;
        let asked = Asked::from_request_parts(parts, state).await?;
        let (headers, uri) = (parts.headers.clone(), parts.uri.clone());
        let Reading(state) = Reading::from_request_parts(parts, state).await?;
        Ok(Self { state, name, asked, headers, uri })
    }
}

impl<P> Question<P> {
    /// The query that this is: nothing else may be asked but `timeout`.
    pub(crate) fn begin(mut self) -> Result<(AppState, P, RunningQuery)> {
        let timeout = self.asked.take("timeout")?;
        self.asked.finish()?;
        let query = self.state.begin(&format!("GET {}", self.uri), timeout.as_deref())?;
        Ok((self.state, self.name, query))
    }

    /// What was named, of a request that asks for nothing (more).
    pub(crate) fn named(self) -> Result<(AppState, P)> {
        self.asked.finish()?;
        Ok((self.state, self.name))
    }
}

/// An error for a value that is not what it must be.
pub(crate) fn refuse(name: &str, value: &str, why: impl Display) -> Failure {
    Failure::bad_request(format!("{name}={}: {why}", shown(value)))
}

/// The same for one whose type says itself what is wrong.
pub(crate) fn refuse_with(name: &str, error: &timestrata_engine::Error) -> Failure {
    Failure::bad_request(format!("{name}: {error}"))
}

pub(crate) fn nanoseconds(name: &str, text: &str) -> Result<i64> {
    let time = parse_time(text, &DataType::Timestamp(TimeUnit::Nanosecond, None));
    time.map_err(|error| refuse_with(name, &error))
}

impl Asked {
    /// All values of a parameter, in order.
    pub(crate) fn all(&mut self, name: &'static str) -> Vec<String> {
        debug_assert!(
            self.known.iter().any(|known| known.name == name),
            "the endpoint doesn't list the parameter {name}"
        );
        self.taken.push(name);
        self.given.extract_if(.., |(given, _)| given == name).map(|(_, value)| value).collect()
    }

    /// The value of a parameter.
    pub(crate) fn take(&mut self, name: &'static str) -> Result<Option<String>> {
        let mut values = self.all(name);
        match values.len() {
            0 | 1 => Ok(values.pop()),
            count => Err(Failure::bad_request(format!("{name} is given {count} times"))),
        }
    }

    /// The value of a parameter that has two names, of which one may be given.
    pub(crate) fn take_either(
        &mut self,
        name: &'static str,
        other: &'static str,
    ) -> Result<Option<String>> {
        match (self.take(name)?, self.take(other)?) {
            (Some(_), Some(_)) => {
                Err(Failure::bad_request(format!("{name} and {other} are the same: give one")))
            }
            (one, other) => Ok(one.or(other)),
        }
    }

    /// The value of a parameter, read by its type, which says itself what is wrong.
    pub(crate) fn parsed<T>(&mut self, name: &'static str) -> Result<Option<T>>
    where
        T: FromStr<Err = timestrata_engine::Error>,
    {
        let value = self.take(name)?.map(|value| value.parse()).transpose();
        value.map_err(|error| refuse_with(name, &error))
    }

    /// A whole number, at most `max`, if there is one.
    pub(crate) fn maybe_number<T>(&mut self, name: &'static str, max: T) -> Result<Option<T>>
    where
        T: FromStr + PartialOrd + Display,
    {
        let Some(value) = self.take(name)? else { return Ok(None) };
        match value.parse::<T>() {
            Ok(number) if number <= max => Ok(Some(number)),
            _ => Err(refuse(name, &value, format!("it must be a whole number up to {max}"))),
        }
    }

    /// A whole number, at most `max`; `default` where there is none.
    pub(crate) fn number<T>(&mut self, name: &'static str, default: T, max: T) -> Result<T>
    where
        T: FromStr + PartialOrd + Display,
    {
        Ok(self.maybe_number(name, max)?.unwrap_or(default))
    }

    /// How many of `what` at most: `default` where nobody says, `None` for `none`.
    pub(crate) fn limit(&mut self, default: usize, what: &str) -> Result<Option<usize>> {
        match self.take("limit")?.as_deref() {
            None => Ok(Some(default)),
            Some("none") => Ok(None),
            Some(text) => text.parse().map(Some).map_err(|_| {
                refuse("limit", text, format!("it must be a number of {what}, or 'none'"))
            }),
        }
    }

    /// `order`: whether what is last comes first.
    pub(crate) fn is_reverse(&mut self) -> Result<bool> {
        self.word("order", &[("asc", false), ("desc", true)])
    }

    /// One of some words; the first where none is given.
    pub(crate) fn word<T: Copy>(&mut self, name: &'static str, words: &[(&str, T)]) -> Result<T> {
        let given = self.take(name)?;
        let wanted = given.as_deref().or(words.first().map(|(word, _)| *word)).unwrap_or_default();
        words.iter().find(|(word, _)| *word == wanted).map(|(_, value)| *value).ok_or_else(|| {
            let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            refuse(name, wanted, format!("it must be {}", words.join(" or ")))
        })
    }

    /// `true` or `false`, if it is given.
    pub(crate) fn truth(&mut self, name: &'static str) -> Result<Option<bool>> {
        let Some(value) = self.take(name)? else { return Ok(None) };
        value.parse().map(Some).map_err(|_| refuse(name, &value, "it must be true or false"))
    }

    /// Names with commas between; none where nothing is given.
    pub(crate) fn names(&mut self, name: &'static str) -> Result<Vec<String>> {
        let list = self.take(name)?.unwrap_or_default();
        let names = list.split(',').map(str::trim).filter(|name| !name.is_empty());
        Ok(names.map(str::to_owned).collect())
    }

    /// A time, nanoseconds since 1970.
    pub(crate) fn time(&mut self, name: &'static str) -> Result<Option<i64>> {
        self.take(name)?.as_deref().map(|text| nanoseconds(name, text)).transpose()
    }

    /// A time of one thing: as a whole number it is in nanoseconds, whatever its magnitude.
    pub(crate) fn arrival(&mut self, name: &'static str) -> Result<Option<i64>> {
        let Some(text) = self.take(name)? else { return Ok(None) };
        text.parse().or_else(|_| nanoseconds(name, &text)).map(Some)
    }

    /// A length of time of at most `max`.
    pub(crate) fn duration(
        &mut self,
        name: &'static str,
        max: Duration,
    ) -> Result<Option<Duration>> {
        let Some(value) = self.take(name)? else { return Ok(None) };
        match duration_of_text(&value) {
            Some(duration) if duration <= max => Ok(Some(duration)),
            _ => Err(refuse(
                name,
                &value,
                format!("it must be a duration such as 10s, of at most {} ms", max.as_millis()),
            )),
        }
    }

    /// Nothing else may be there. A handler that hasn't asked for all that its endpoint lists has a bug.
    pub(crate) fn finish(self) -> Result<()> {
        debug_assert!(
            self.known.iter().all(|known| self.taken.contains(&known.name)),
            "the endpoint lists parameters that nobody takes: {:?}",
            self.known
        );
        Ok(())
    }
}

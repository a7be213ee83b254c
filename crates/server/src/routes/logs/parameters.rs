//! What stands behind the path of a request to a log: parameters by name.

use std::fmt::Display;
use std::str::FromStr;

use arrow_schema::{DataType, TimeUnit};
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Uri};
use timestrata_engine::RunningQuery;
use timestrata_logs::Query;
use timestrata_logs::filter::Filter;
use timestrata_table::parse_time;

use crate::error::{Failure, Result};
use crate::moments::Reading;
use crate::routes::named::Named;
use crate::routes::parameters::Parameters;
use crate::state::AppState;

/// Parameters. Each is taken by the name that it is known by; one that nobody takes is an error, as is
/// one that is there twice and may not be.
#[derive(Debug)]
pub(super) struct LogParameters {
    given: Vec<(String, String)>,
    known: Vec<&'static str>,
}

impl<S: Send + Sync> FromRequestParts<S> for LogParameters {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self> {
        let Parameters(given) = Parameters::from_request_parts(parts, state).await?;
        Ok(Self { given, known: Vec::new() })
    }
}

/// A request to a log: which log it is, and what is asked of it.
#[derive(Debug)]
pub(super) struct LogRequest {
    pub(super) state: AppState,
    pub(super) name: String,
    pub(super) asked: LogParameters,
    pub(super) headers: HeaderMap,
    uri: Uri,
}

impl FromRequestParts<AppState> for LogRequest {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self> {
        let Named(name) = Named::from_request_parts(parts, state).await?;
        let asked = LogParameters::from_request_parts(parts, state).await?;
        let (headers, uri) = (parts.headers.clone(), parts.uri.clone());
        let Reading(state) = Reading::from_request_parts(parts, state).await?;
        Ok(Self { state, name, asked, headers, uri })
    }
}

impl LogRequest {
    /// The query that this is: nothing else may be asked but `timeout`.
    pub(super) fn begin(mut self) -> Result<(AppState, String, RunningQuery)> {
        let timeout = self.asked.take("timeout")?;
        self.asked.finish()?;
        let query = self.state.begin(&format!("GET {}", self.uri), timeout.as_deref())?;
        Ok((self.state, self.name, query))
    }
}

/// An error for a value that is not what it must be.
pub(super) fn refuse(name: &str, value: &str, why: impl Display) -> Failure {
    let shown: String = value.chars().take(60).collect();
    Failure::bad_request(format!("{name}={shown}: {why}"))
}

/// The same for one whose type says itself what is wrong.
fn refuse_with(name: &str, error: &timestrata_engine::Error) -> Failure {
    Failure::bad_request(format!("{name}: {error}"))
}

fn nanoseconds(name: &str, text: &str) -> Result<i64> {
    let time = parse_time(text, &DataType::Timestamp(TimeUnit::Nanosecond, None));
    time.map_err(|error| refuse_with(name, &error))
}

impl LogParameters {
    /// All values of a parameter, in order.
    pub(super) fn all(&mut self, name: &'static str) -> Vec<String> {
        self.known.push(name);
        self.given.extract_if(.., |(given, _)| given == name).map(|(_, value)| value).collect()
    }

    /// The value of a parameter.
    pub(super) fn take(&mut self, name: &'static str) -> Result<Option<String>> {
        let mut values = self.all(name);
        match values.len() {
            0 | 1 => Ok(values.pop()),
            count => Err(Failure::bad_request(format!("{name} is given {count} times"))),
        }
    }

    /// The value of a parameter, read by its type, which says itself what is wrong.
    pub(super) fn parsed<T>(&mut self, name: &'static str) -> Result<Option<T>>
    where
        T: FromStr<Err = timestrata_engine::Error>,
    {
        let value = self.take(name)?.map(|value| value.parse()).transpose();
        value.map_err(|error| refuse_with(name, &error))
    }

    /// A whole number, at most `max`; `default` where there is none.
    pub(super) fn number(
        &mut self,
        name: &'static str,
        default: usize,
        max: usize,
    ) -> Result<usize> {
        let Some(value) = self.take(name)? else { return Ok(default) };
        let number = value.parse().ok().filter(|number| *number <= max);
        number.ok_or_else(|| refuse(name, &value, format!("it must be a whole number up to {max}")))
    }

    /// A time, as other routes take it.
    fn time(&mut self, name: &'static str) -> Result<Option<i64>> {
        self.take(name)?.as_deref().map(|text| nanoseconds(name, text)).transpose()
    }

    /// The time of one entry: as a whole number it is in nanoseconds, whatever its magnitude.
    pub(super) fn arrival(&mut self, name: &'static str) -> Result<Option<i64>> {
        let Some(text) = self.take(name)? else { return Ok(None) };
        text.parse().or_else(|_| nanoseconds(name, &text)).map(Some)
    }

    /// `filter`.
    ///
    /// # Errors
    /// `400` with all that the parser says.
    pub(super) fn filter(&mut self) -> Result<Filter> {
        let text = self.take("filter")?.unwrap_or_default();
        text.parse()
            .map_err(|error: timestrata_engine::Error| Failure::bad_request(error.to_string()))
    }

    /// `filter`, `from`, `to` and `by`.
    pub(super) fn query(&mut self) -> Result<Query> {
        let (filter, by) = (self.filter()?, self.parsed("by")?.unwrap_or_default());
        let (from, to) = (self.time("from")?, self.time("to")?);
        if let (Some(from), Some(to)) = (from, to)
            && from > to
        {
            return Err(Failure::bad_request("the range ends before it begins"));
        }
        Ok(Query { filter, by, from, to, ..Query::default() })
    }

    /// Nothing else may be there.
    pub(super) fn finish(self) -> Result<()> {
        match self.given.first() {
            None => Ok(()),
            Some((name, _)) => {
                let shown: String = name.chars().take(60).collect();
                Err(Failure::bad_request(format!(
                    "there is no parameter '{shown}' here; there are {}",
                    self.known.join(", ")
                )))
            }
        }
    }
}

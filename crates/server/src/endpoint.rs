//! What there is at which path. The router, the check of what stands behind a path, the moments that may be
//! read, and the description at `/openapi.json` are all made of these, so that none can say what another
//! doesn't do.

use std::collections::HashMap;

use axum::extract::MatchedPath;
use axum::http::{Extensions, Method};
use axum::routing::MethodRouter;
use serde_json::{Value, json};

use crate::auth::Right;
use crate::error::{Failure, Result};

/// What a request passes through before its handler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// A short body or none; the answer has to begin in its time.
    Timed,
    /// The body has a bound of its own, and takes the time that it takes.
    Body,
    /// The answer may be waited for on purpose.
    Waiting,
    /// For who looks after the server: heard also when it is busy.
    Watching,
}

/// What a caller's token must give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
    /// Nothing: no token is asked for.
    Nothing,
    /// Any token; the handler tells only what it may know.
    Token,
    /// A right over the stream that the path names first.
    Stream(Right),
    /// A right over all streams.
    Store(Right),
}

pub(crate) const READ: Needs = Needs::Stream(Right::Read);
pub(crate) const WRITE: Needs = Needs::Stream(Right::Write);
pub(crate) const ADMIN: Needs = Needs::Stream(Right::Admin);
pub(crate) const READ_ALL: Needs = Needs::Store(Right::Read);
pub(crate) const ADMIN_ALL: Needs = Needs::Store(Right::Admin);

/// What there is to say of one method of one path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Description {
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    /// What it does, in a sentence.
    pub(crate) about: &'static str,
    pub(crate) needs: Needs,
    pub(crate) class: Class,
    /// Whether it only reads, and so can read the store as it was.
    pub(crate) only_reads: bool,
    /// What may stand behind the path, besides `at`.
    pub(crate) parameters: &'static [Parameter],
    /// Whether others may stand there too, `at` among them, and are ignored.
    pub(crate) takes_any: bool,
    pub(crate) takes: Takes,
    /// The types of its answer's body; the first where a client has no wish.
    pub(crate) gives: &'static [&'static str],
}

/// One method of one path, and what answers it, which shares an `S`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Endpoint<S> {
    pub(crate) description: Description,
    pub(crate) handler: fn() -> MethodRouter<S>,
}

/// What the body of a request is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Takes {
    Nothing,
    /// A JSON object with these members, all of which may be missing; so may the body.
    Members(&'static [Parameter]),
    /// Anything of one of these types.
    Kinds(&'static [&'static str]),
}

/// A parameter behind a path, or a member of a JSON object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    pub(crate) form: Form,
    pub(crate) about: &'static str,
}

/// What a value is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Form {
    Text,
    /// Names with commas between.
    Names,
    /// A whole number from 0 up to this.
    Number(u64),
    /// A whole number, or `none`.
    Limit,
    Truth,
    /// A day, RFC 3339, or a whole number.
    Time,
    /// Such as `30s`.
    Duration,
    OneOf(&'static [&'static str]),
    /// A text that may be there several times.
    Many,
    /// Any JSON, in a body.
    Any,
}

pub(crate) const fn parameter(name: &'static str, form: Form, about: &'static str) -> Parameter {
    Parameter { name, form, about }
}

const JSON_ONLY: &[&str] = &["application/json"];

impl<S> Endpoint<S> {
    const fn new(
        method: &'static str,
        path: &'static str,
        needs: Needs,
        about: &'static str,
        handler: fn() -> MethodRouter<S>,
    ) -> Self {
        let (class, only_reads, takes) = (Class::Timed, false, Takes::Nothing);
        let (parameters, gives): (&[Parameter], _) = (&[], JSON_ONLY);
        let takes_any = false;
        let description = Description {
            method,
            path,
            about,
            needs,
            class,
            only_reads,
            parameters,
            takes_any,
            takes,
            gives,
        };
        Self { description, handler }
    }

    pub(crate) const fn get(
        path: &'static str,
        needs: Needs,
        about: &'static str,
        handler: fn() -> MethodRouter<S>,
    ) -> Self {
        Self::new("GET", path, needs, about, handler).only_reads(true)
    }

    pub(crate) const fn post(
        path: &'static str,
        needs: Needs,
        about: &'static str,
        handler: fn() -> MethodRouter<S>,
    ) -> Self {
        Self::new("POST", path, needs, about, handler)
    }

    pub(crate) const fn put(
        path: &'static str,
        needs: Needs,
        about: &'static str,
        handler: fn() -> MethodRouter<S>,
    ) -> Self {
        Self::new("PUT", path, needs, about, handler)
    }

    pub(crate) const fn patch(
        path: &'static str,
        needs: Needs,
        about: &'static str,
        handler: fn() -> MethodRouter<S>,
    ) -> Self {
        Self::new("PATCH", path, needs, about, handler)
    }

    pub(crate) const fn delete(
        path: &'static str,
        needs: Needs,
        about: &'static str,
        handler: fn() -> MethodRouter<S>,
    ) -> Self {
        Self::new("DELETE", path, needs, about, handler)
    }

    const fn described(self, description: Description) -> Self {
        Self { description, ..self }
    }

    pub(crate) const fn class(self, class: Class) -> Self {
        let description = Description { class, ..self.description };
        self.described(description)
    }

    pub(crate) const fn asks(self, parameters: &'static [Parameter]) -> Self {
        let description = Description { parameters, ..self.description };
        self.described(description)
    }

    /// For one whose clients say what it has never listened to.
    pub(crate) const fn takes_any(self) -> Self {
        let description = Description { takes_any: true, ..self.description };
        self.described(description)
    }

    pub(crate) const fn takes(self, takes: Takes) -> Self {
        let description = Description { takes, ..self.description };
        self.described(description)
    }

    pub(crate) const fn gives(self, gives: &'static [&'static str]) -> Self {
        let description = Description { gives, ..self.description };
        self.described(description)
    }

    /// For one that reads though its method doesn't say so, and the other way round.
    pub(crate) const fn only_reads(self, only_reads: bool) -> Self {
        let description = Description { only_reads, ..self.description };
        self.described(description)
    }
}

impl Description {
    /// The scope that it takes, as documents write it; `None` where any token does, or none is asked for.
    pub(crate) fn scope(&self) -> Option<String> {
        match self.needs {
            Needs::Nothing | Needs::Token => None,
            Needs::Store(right) => Some(right.to_string()),
            Needs::Stream(right) => {
                let stream = self.names_in_path().next().unwrap_or_default();
                Some(format!("{right}:{{{stream}}}"))
            }
        }
    }

    /// The names between braces in its path.
    pub(crate) fn names_in_path(&self) -> impl Iterator<Item = &'static str> {
        let parts = self.path.split('{').skip(1);
        parts.filter_map(|part| part.split('}').next()).map(|name| name.trim_start_matches('*'))
    }
}

/// All of them, by path.
#[derive(Debug, Default)]
pub(crate) struct Endpoints(HashMap<&'static str, Vec<Description>>);

impl Endpoints {
    pub(crate) fn new(all: impl Iterator<Item = Description>) -> Self {
        let mut by_path: HashMap<&str, Vec<Description>> = HashMap::new();
        for one in all {
            by_path.entry(one.path).or_default().push(one);
        }
        Self(by_path)
    }

    /// The one that a request was found to be for; `None` before that, and of none.
    pub(crate) fn of(&self, method: &Method, extensions: &Extensions) -> Option<&Description> {
        let path = extensions.get::<MatchedPath>()?.as_str();
        // Axum answers it by what answers GET.
        let method = if method == Method::HEAD { "GET" } else { method.as_str() };
        self.0.get(path)?.iter().find(|one| one.method == method)
    }
}

/// Characters of a wrong value that are told again.
const SHOWN_CHARS: usize = 60;

/// A value as far as it is told again.
pub(crate) fn shown(value: &str) -> String {
    value.chars().take(SHOWN_CHARS).collect()
}

/// Refuses names that are not among those that there are.
///
/// # Errors
/// `400` that says which there are.
pub(crate) fn expect_known<'a>(
    what: &str,
    mut given: impl Iterator<Item = &'a str>,
    known: &[Parameter],
) -> Result<()> {
    let Some(name) = given.find(|name| known.iter().all(|known| known.name != *name)) else {
        return Ok(());
    };
    let known: Vec<&str> = known.iter().map(|known| known.name).collect();
    let there_are = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    let name = shown(name);
    Err(Failure::bad_request(format!("there is no {what} '{name}' here; there are {there_are}")))
}

impl Parameter {
    /// Its JSON schema.
    pub(crate) fn schema(&self) -> Value {
        match self.form {
            Form::Text | Form::Names => json!({ "type": "string" }),
            Form::Number(max) => json!({ "type": "integer", "minimum": 0, "maximum": max }),
            Form::Limit => json!({
                "oneOf": [{ "type": "integer", "minimum": 0 }, { "const": "none" }],
            }),
            Form::Truth => json!({ "type": "boolean" }),
            Form::Time => json!({
                "oneOf": [{ "type": "string" }, { "type": "integer" }],
                "examples": ["2026-05-01T09:30:00Z"],
            }),
            Form::Duration => json!({ "type": "string", "examples": ["30s"] }),
            Form::OneOf(words) => json!({ "type": "string", "enum": words }),
            Form::Many => json!({ "type": "array", "items": { "type": "string" } }),
            Form::Any => json!({}),
        }
    }
}

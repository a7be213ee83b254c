//! `GET /`: what this is, for whoever comes by its address alone.

use std::fmt::Write;

use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::{Map, Value, json};

use crate::answer::accepted;
use crate::endpoint::{Class, Needs};
use crate::error::Result;
use crate::routes::Route;

const JSON: &str = "application/json";
const TEXT: &str = "text/plain; charset=utf-8";
const ABOUT: &str = "One store of tables, logs, topics, graphs and time logs, over HTTP";

/// Where to go on from here, and what is there.
const LINKS: [(&str, &str, &str); 9] = [
    ("openapi", "/openapi.json", "all that can be asked, as OpenAPI describes it"),
    ("health", "/health", "whether requests are answered and writes taken"),
    ("metrics", "/metrics", "figures for Prometheus"),
    ("tables", "/tables", "the names of the tables"),
    ("logs", "/logs", "the names of the logs"),
    ("topics", "/topics", "the names of the topics"),
    ("graphs", "/graphs", "the names of the graphs"),
    ("timelogs", "/timelogs", "the names of the time logs"),
    ("sql", "/sql", "POST a statement over all of them"),
];

/// It tells nothing of the store, so it is told to everybody.
pub(super) const ENDPOINTS: &[Route] =
    &[Route::get("/", Needs::Nothing, "What this is, and where to go on", || get(root))
        .class(Class::Watching)
        .gives(&[JSON, TEXT])];

async fn root(headers: HeaderMap) -> Result<Response> {
    let is_json =
        accepted(&headers, true, &format!("it is {JSON} or text/plain"), |kind| match kind {
            "*/*" | "application/*" | JSON => Some(true),
            // A browser asks for a page first.
            "text/*" | "text/plain" | "text/html" => Some(false),
            _ => None,
        })?;
    let version = env!("CARGO_PKG_VERSION");
    if is_json {
        let links: Map<String, Value> =
            LINKS.iter().map(|(name, path, _)| ((*name).to_owned(), json!(path))).collect();
        let body =
            json!({ "name": "Timestrata", "version": version, "about": ABOUT, "links": links });
        return Ok(([(header::CONTENT_TYPE, JSON)], body.to_string()).into_response());
    }
    let mut text = format!("Timestrata {version}\n{ABOUT}.\n\n");
    for (_, path, about) in LINKS {
        // Writing to a text never fails.
        let _ = writeln!(text, "{path:<14} {about}");
    }
    Ok(([(header::CONTENT_TYPE, TEXT)], text).into_response())
}

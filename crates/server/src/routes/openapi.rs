//! `GET /openapi.json`: the endpoints as OpenAPI 3.1 describes them, made of what the router is made of.

use std::sync::LazyLock;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::{Map, Value, json};

use crate::config::Compat;
use crate::endpoint::{Class, Description, Form, Needs, Parameter, Takes, parameter};
use crate::error::PROBLEM;
use crate::routes::Route;
use crate::state::AppState;

pub(super) const ENDPOINTS: &[Route] = &[Route::get(
    "/openapi.json",
    Needs::Nothing,
    "What there is, as OpenAPI describes it",
    || get(openapi),
)
.class(Class::Watching)];

const AT: Parameter = parameter(
    "at",
    Form::Text,
    "Reads the store as it was: the number of a commit, pin=NAME, or a time",
);

static DOCUMENT: LazyLock<String> = LazyLock::new(|| document(None).to_string());
static PULSORA: LazyLock<String> = LazyLock::new(|| document(Some(Compat::Pulsora)).to_string());

async fn openapi(State(state): State<AppState>) -> Response {
    let document = match state.config.compat {
        None => &DOCUMENT,
        Some(Compat::Pulsora) => &PULSORA,
    };
    ([(header::CONTENT_TYPE, "application/json")], document.as_str()).into_response()
}

fn document(compat: Option<Compat>) -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for endpoint in super::all(compat).map(|route| &route.description) {
        let path = paths.entry(endpoint.path.replace("{*", "{")).or_insert_with(|| json!({}));
        path[endpoint.method.to_ascii_lowercase()] = operation(endpoint);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Timestrata",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "One store of tables, logs, topics, graphs and time logs.",
            "license": { "name": "MIT OR Apache-2.0" },
        },
        "paths": paths,
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "schemas": { "Success": success(), "Problem": problem() },
            "responses": {
                "Problem": {
                    "description": "What is wrong, where, and what to do (RFC 9457)",
                    "content": {
                        PROBLEM: { "schema": { "$ref": "#/components/schemas/Problem" } },
                    },
                },
            },
        },
    })
}

fn success() -> Value {
    json!({
        "type": "object",
        "required": ["success", "data", "error"],
        "properties": { "success": { "const": true }, "data": {}, "error": { "type": "null" } },
    })
}

fn problem() -> Value {
    json!({
        "type": "object",
        "required": ["type", "title", "status", "detail", "success", "data", "error"],
        "properties": {
            "type": { "type": "string" },
            "title": { "type": "string" },
            "status": { "type": "integer" },
            "detail": { "type": "string" },
            "success": { "const": false },
            "data": { "type": "null" },
            "error": { "type": "string", "description": "As detail" },
            "request_id": { "type": ["string", "null"], "description": "As the header X-Request-Id" },
        },
    })
}

fn operation(endpoint: &Description) -> Value {
    let of_path = endpoint.names_in_path().map(|name| {
        json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } })
    });
    let moment = endpoint.only_reads && endpoint.class != Class::Watching && !endpoint.takes_any;
    let behind = endpoint.parameters.iter().chain(moment.then_some(&AT)).map(|parameter| {
        json!({
            "name": parameter.name,
            "in": "query",
            "description": parameter.about,
            "schema": parameter.schema(),
        })
    });
    let parameters: Vec<Value> = of_path.chain(behind).collect();
    let mut operation = json!({
        "operationId": operation_id(endpoint),
        "summary": endpoint.about,
        "tags": [endpoint.path.split('/').nth(1).filter(|tag| !tag.is_empty()).unwrap_or("server")],
        "parameters": parameters,
        "responses": {
            "200": { "description": "Done", "content": answers(endpoint) },
            "default": { "$ref": "#/components/responses/Problem" },
        },
    });
    if let Some(body) = body(endpoint.takes) {
        operation["requestBody"] = body;
    }
    operation["security"] = match endpoint.needs {
        Needs::Nothing => json!([]),
        // Where the server has no tokens none is needed.
        _ => json!([{}, { "token": Vec::from_iter(endpoint.scope()) }]),
    };
    operation
}

fn is_open(endpoint: &Description) -> bool {
    endpoint.needs == Needs::Nothing
}

/// `GET /topics/{topic}/records` as `get_topics_topic_records`.
fn operation_id(endpoint: &Description) -> String {
    let words = endpoint.path.split(|c: char| !c.is_ascii_alphanumeric());
    let mut words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    if words.is_empty() {
        words.push("root");
    }
    format!("{}_{}", endpoint.method.to_ascii_lowercase(), words.join("_"))
}

fn answers(endpoint: &Description) -> Value {
    let of = |kind: &&str| {
        // Health and the description itself are what they are, and wrapped in nothing.
        let schema = match *kind == "application/json" && !is_open(endpoint) {
            true => json!({ "$ref": "#/components/schemas/Success" }),
            false => json!({}),
        };
        ((*kind).to_owned(), json!({ "schema": schema }))
    };
    endpoint.gives.iter().map(of).collect::<Map<String, Value>>().into()
}

fn body(takes: Takes) -> Option<Value> {
    match takes {
        Takes::Nothing => None,
        Takes::Members(members) => {
            let of = |member: &Parameter| {
                // One that is null is as one that is missing.
                let schema = json!({
                    "description": member.about,
                    "anyOf": [member.schema(), { "type": "null" }],
                });
                (member.name.to_owned(), schema)
            };
            let schema = json!({
                "type": "object",
                "additionalProperties": false,
                "properties": members.iter().map(of).collect::<Map<String, Value>>(),
            });
            Some(json!({ "content": { "application/json": { "schema": schema } } }))
        }
        Takes::Kinds(kinds) => {
            let content = kinds.iter().map(|kind| ((*kind).to_owned(), json!({})));
            let content: Map<String, Value> = content.collect();
            Some(json!({ "required": true, "content": content }))
        }
    }
}

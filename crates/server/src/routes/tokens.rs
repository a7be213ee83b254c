//! `GET` and `POST /tokens`, `DELETE /tokens/{id}`: who may ask, looked after by who may do everything.

use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use axum::routing::{delete, get, post};
use serde_json::{Value, json};
use timestrata_table::time_text;

use crate::auth::{Listed, NewToken, Token};
use crate::endpoint::{ADMIN_ALL, Form, Takes, parameter};
use crate::error::{Failure, Result, success};
use crate::routes::Route;
use crate::routes::asked::Asked;
use crate::routes::named::Named;
use crate::routes::parameters::Members;
use crate::state::{AppState, blocking};

pub(super) const ENDPOINTS: &[Route] = &[
    Route::get("/tokens", ADMIN_ALL, "The tokens of the store, without their secrets", || {
        get(list)
    })
    .only_reads(false),
    Route::post("/tokens", ADMIN_ALL, "Makes a token, and tells its secret this once", || {
        post(create)
    })
    .takes(Takes::Members(&[
        parameter("name", Form::Text, "Who has it"),
        parameter("scopes", Form::Many, "What it gives, such as read or write:logs-*"),
        parameter(
            "expires",
            Form::Text,
            "A duration such as 30d, or a time; without it the token is good until it is revoked",
        ),
    ])),
    Route::delete("/tokens/{id}", ADMIN_ALL, "Revokes a token, durably", || delete(revoke)),
];

fn described(token: &Token) -> Value {
    let scopes: Vec<String> = token.scopes().iter().map(ToString::to_string).collect();
    json!({
        "id": token.id(),
        "name": token.name(),
        "scopes": scopes,
        "created": time_text(token.created_ns()),
        "expires": token.expires_ns().map(time_text),
    })
}

async fn list(State(state): State<AppState>, asked: Asked) -> Result<Response> {
    asked.finish()?;
    blocking(move || {
        let all = state.door.folder.list()?;
        let shown = |(id, token): Listed| match token {
            Ok(token) => described(&token),
            Err(why) => json!({ "id": id, "damaged": why }),
        };
        Ok(success(all.into_iter().map(shown).collect()))
    })
    .await
}

async fn create(
    State(state): State<AppState>,
    asked: Asked,
    mut members: Members,
) -> Result<Response> {
    asked.finish()?;
    let name = members.text("name")?.unwrap_or_default();
    let scopes: Vec<String> = match members.take("scopes") {
        None => Vec::new(),
        Some(list) => serde_json::from_value(list).map_err(|_| {
            Failure::bad_request("scopes must be a list of texts, such as [\"read:orders\"]")
        })?,
    };
    let mut new = NewToken::new(&name, &scopes)?;
    if let Some(when) = members.text("expires")? {
        new = new.expiring(&when, state.io.clock.wall_ns())?;
    }
    blocking(move || {
        let (token, secret) = state.door.folder.create(new)?;
        state.door.look()?;
        let mut told = described(&token);
        told["token"] = json!(secret.reveal());
        let mut answer = success(told);
        let never = HeaderValue::from_static("no-store");
        answer.headers_mut().insert(header::CACHE_CONTROL, never);
        Ok(answer)
    })
    .await
}

async fn revoke(
    State(state): State<AppState>,
    Named(id): Named<String>,
    asked: Asked,
) -> Result<Response> {
    asked.finish()?;
    blocking(move || {
        state.door.folder.revoke(&id)?;
        state.door.look()?;
        Ok(success(json!({ "revoked": id })))
    })
    .await
}

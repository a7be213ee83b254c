//! Its router, which hands each request on.

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::response::Response;

use crate::config::Config;
use crate::error::Result;
use crate::storage::StorageEngine;

pub async fn create_app(config: Config) -> Result<Router> {
    let engine = StorageEngine::new(&config).await?;
    Ok(Router::new().fallback(move |request| handed_on(engine.clone(), request)))
}

async fn handed_on(engine: StorageEngine, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await.expect("a body in memory");
    let kind = parts.headers.get("content-type").and_then(|kind| kind.to_str().ok());
    let answer = engine.ask(parts.method.as_str(), &parts.uri.to_string(), kind, body.to_vec());
    Response::builder()
        .status(answer.status)
        .header("content-type", answer.kind)
        .body(Body::from(answer.body))
        .expect("an answer that was one before")
}

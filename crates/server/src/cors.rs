//! What browsers ask before they let a page of another place ask (CORS), and what they then let it see. Without the
//! setting nothing is said of it, and browsers keep such pages out.

use std::time::Duration;

use axum::http::{HeaderName, HeaderValue, Method, header};
use tower_http::cors::{Any, CorsLayer};

use crate::config::Config;

/// How long a browser may remember what it was told.
const KEPT: Duration = Duration::from_secs(600);

/// What answers browsers, if pages of some places may ask. Tokens are in a header that pages set themselves, so none needs
/// what a browser would add of its own (cookies), and none may have it.
pub(crate) fn layer(config: &Config) -> Option<CorsLayer> {
    if config.cors_origins.is_empty() {
        return None;
    }
    let methods = [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE];
    let request_id = HeaderName::from_static("x-request-id");
    let layer = CorsLayer::new()
        .allow_methods(methods)
        .allow_headers([
            header::AUTHORIZATION,
            header::ACCEPT,
            header::CONTENT_TYPE,
            request_id.clone(),
        ])
        .expose_headers([request_id, header::RETRY_AFTER, header::WWW_AUTHENTICATE])
        .max_age(KEPT);
    let origins = config.cors_origins.iter();
    Some(match config.cors_origins.iter().any(|origin| origin == "*") {
        true => layer.allow_origin(Any),
        false => {
            let origins = origins.filter_map(|origin| HeaderValue::from_str(origin).ok());
            layer.allow_origin(origins.collect::<Vec<_>>())
        }
    })
}

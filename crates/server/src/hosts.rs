//! By which name a server may be called, where it asks for no token.
//!
//! A page in a browser can have its own name point to this machine (DNS rebinding) and then ask as if it
//! came from here; any page can send requests that change something without reading the answers. The
//! first calls the server by a foreign name, the second says in `Origin` where it comes from. Addresses
//! are no names: nobody else's page is served from them.

use std::net::IpAddr;

use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;

use crate::config::Config;
use crate::error::{Failure, Result};
use crate::state::AppState;

/// Lets through who calls the server by a name of its own, and comes from no other place.
pub(crate) async fn check(
    State(state): State<AppState>,
    request: Request,
    next: Next,
) -> Result<Response> {
    if state.door.is_open() {
        let named = request.uri().authority();
        if let Some(named) = named {
            check_host(named.as_str(), &state.config)?;
        }
        let host = text(request.headers(), header::HOST)?;
        if let Some(host) = host {
            check_host(host, &state.config)?;
        }
        if let Some(origin) = text(request.headers(), header::ORIGIN)? {
            check_origin(origin, named.map(Authority::as_str).or(host), &state.config)?;
        }
    }
    Ok(next.run(request).await)
}

fn text(headers: &HeaderMap, name: HeaderName) -> Result<Option<&str>> {
    let wrong = || Failure::bad_request(format!("{name}: it must be text"));
    headers.get(&name).map(|value| value.to_str().map_err(|_| wrong())).transpose()
}

/// A name without its port, in lower case.
fn name_of(authority: &str) -> Option<String> {
    let authority: Authority = authority.parse().ok()?;
    Some(authority.host().trim_end_matches('.').to_ascii_lowercase())
}

fn is_ours(name: &str, config: &Config) -> bool {
    let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    let is_listed = |listed: &String| listed == "*" || listed == name;
    address.parse::<IpAddr>().is_ok()
        || name == "localhost"
        || name.ends_with(".localhost")
        || config.hosts.iter().any(is_listed)
        // Other machines know it by names that only they know.
        || (config.hosts.is_empty() && !config.listen.ip().is_loopback())
}

fn check_host(host: &str, config: &Config) -> Result<()> {
    match name_of(host) {
        Some(name) if is_ours(&name, config) => Ok(()),
        _ => {
            let shown: String = host.chars().take(100).collect();
            Err(Failure::new(
                StatusCode::MISDIRECTED_REQUEST,
                format!(
                    "Host: {shown}: this server isn't known by that name; if it is, list it in the \
                     setting server.hosts, or give the server a token file"
                ),
            ))
        }
    }
}

/// A page of the server's own has its name and port; another has to be listed.
fn check_origin(origin: &str, host: Option<&str>, config: &Config) -> Result<()> {
    let authority = origin.split_once("://").map(|(_, authority)| authority);
    let is_same = authority.is_some() && authority == host;
    let name = authority.and_then(name_of);
    let is_listed =
        |name: &String| config.hosts.iter().any(|listed| listed == "*" || listed == name);
    // Any page at all may ask only who asks for tokens.
    let is_asked_for = config.cors_origins.iter().any(|listed| listed.eq_ignore_ascii_case(origin));
    if is_same
        || is_asked_for
        || name.as_ref().is_some_and(is_listed)
        || config.hosts.iter().any(|h| h == "*")
    {
        return Ok(());
    }
    let shown: String = origin.chars().take(100).collect();
    Err(Failure::new(
        StatusCode::FORBIDDEN,
        format!(
            "Origin: {shown}: pages from there may not ask this server; if they may, list their host in \
             the setting server.hosts, or give the server a token file"
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Layers;

    fn config(set: &[(&str, &str)]) -> Config {
        let mut layers = Layers::default();
        for (key, value) in set {
            layers.flag("test", key, *value).unwrap();
        }
        layers.config().unwrap()
    }

    #[test]
    fn names_are_those_of_the_machine_itself_and_those_listed() {
        let plain = config(&[]);
        for host in
            ["localhost", "LOCALHOST:8080", "127.0.0.1:1", "[::1]:8080", "10.0.0.7", "a.localhost"]
        {
            assert!(check_host(host, &plain).is_ok(), "{host}");
        }
        for host in [
            "evil.example",
            "evil.example:8080",
            "localhost.evil.example",
            "",
            "127.0.0.1.evil.example",
            "a b",
        ] {
            assert!(check_host(host, &plain).is_err(), "{host}");
        }
        let listed = config(&[("server.hosts", "Store.example, other")]);
        assert!(check_host("store.example:80", &listed).is_ok());
        assert!(check_host("store.example.", &listed).is_ok());
        assert!(check_host("evil.example", &listed).is_err());
        assert!(check_host("evil.example", &config(&[("server.hosts", "*")])).is_ok());
        let open = [("server.listen", "0.0.0.0:1"), ("server.open_to_all", "true")];
        assert!(check_host("machine.lan", &config(&open)).is_ok());
    }

    #[test]
    fn pages_are_those_of_the_server_itself_and_those_listed() {
        let plain = config(&[]);
        assert!(check_origin("http://localhost:80", Some("localhost:80"), &plain).is_ok());
        for origin in ["http://localhost:3000", "https://evil.example", "null", "localhost:80", ""]
        {
            assert!(check_origin(origin, Some("localhost:80"), &plain).is_err(), "{origin}");
        }
        assert!(check_origin("null", None, &plain).is_err());
        let listed = config(&[("server.hosts", "page.example")]);
        assert!(check_origin("https://page.example:444", Some("localhost"), &listed).is_ok());
        assert!(check_origin("null", None, &config(&[("server.hosts", "*")])).is_ok());
    }
}

//! A server's address, and by what it is asked.

use std::fmt;
use std::time::Duration;

use timestrata_engine::{Error, ErrorKind, Result};
use ureq::Agent;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::http::header::HeaderValue;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::unversioned::resolver::DefaultResolver;
use ureq::unversioned::transport::{Connector, RustlsConnector, TcpConnector};

use crate::transport::{IsWanted, WatchedConnector};

const CONNECT_MAX: Duration = Duration::from_secs(10);

/// How a server is asked.
#[derive(Clone)]
pub struct ServerOptions {
    /// The token that the server asks for.
    pub token: Option<String>,
    /// Certificates that are trusted in place of those of the public authorities, as PEM has them.
    pub certificates: Option<Vec<u8>>,
    /// How long nothing at all may come before the server is given up. Default: ten minutes.
    pub silence_max: Duration,
    /// Says whether an answer is still wanted; asked ten times a second while one is waited for.
    pub is_wanted: Option<IsWanted>,
}

impl Default for ServerOptions {
    fn default() -> Self {
        let silence_max = Duration::from_mins(10);
        Self { token: None, certificates: None, silence_max, is_wanted: None }
    }
}

impl fmt::Debug for ServerOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The token is nobody's to read.
        f.debug_struct("ServerOptions")
            .field("has_token", &self.token.is_some())
            .field("silence_max", &self.silence_max)
            .finish_non_exhaustive()
    }
}

/// A server that is asked over HTTP. Cheap to clone; connections are kept and shared.
#[derive(Clone)]
pub struct Server {
    pub(crate) agent: Agent,
    pub(crate) base: String,
    pub(crate) authorization: Option<HeaderValue>,
    pub(crate) is_wanted: Option<IsWanted>,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Server({})", self.base)
    }
}

/// Whether a text is the address of a server, and no directory's name.
pub fn is_url(text: &str) -> bool {
    let lower = text.get(..8.min(text.len())).unwrap_or_default().to_ascii_lowercase();
    lower.starts_with("http://") || lower.starts_with("https://")
}

impl Server {
    /// The server at an address such as `http://127.0.0.1:8080`. Nothing is sent yet.
    ///
    /// # Errors
    /// `InvalidArgument` for what is no such address, no token or no certificates.
    pub fn new(url: &str, options: &ServerOptions) -> Result<Self> {
        let base = base_of(url)?;
        let authorization = options.token.as_deref().map(authorization).transpose()?;
        let tls = TlsConfig::builder();
        let tls = match &options.certificates {
            Some(pem) => tls.root_certs(certificates(pem)?),
            None => tls,
        };
        // A token goes to whom it was given for, and nowhere else; what is wrong stands in the answer's body.
        let config: Config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .timeout_connect(Some(CONNECT_MAX))
            .timeout_per_read(Some(options.silence_max))
            .timeout_per_write(Some(options.silence_max))
            .tls_config(tls.build())
            .user_agent(concat!("timestrata/", env!("CARGO_PKG_VERSION")))
            .build();
        let connector =
            ().chain(TcpConnector::default())
                .chain(WatchedConnector(options.is_wanted.clone()))
                .chain(RustlsConnector::default());
        let agent = Agent::with_parts(config, connector, DefaultResolver::default());
        Ok(Self { agent, base, authorization, is_wanted: options.is_wanted.clone() })
    }

    /// The address.
    pub fn url(&self) -> &str {
        &self.base
    }
}

/// The address without a `/` at its end.
fn base_of(url: &str) -> Result<String> {
    let refuse = |why: &str| {
        let message = format!("'{url}' is no address of a server: {why}");
        Error::new(ErrorKind::InvalidArgument, message)
            .hinting("give it as http://HOST:PORT, or https://HOST:PORT")
    };
    let uri: Uri = url.parse().map_err(|_| refuse("it is no URL"))?;
    if !is_url(url) {
        return Err(refuse("it begins with neither http:// nor https://"));
    }
    let authority = uri.authority().ok_or_else(|| refuse("it names no host"))?;
    if authority.as_str().contains('@') {
        return Err(refuse("names and passwords are not sent; a token comes from a file"));
    }
    if uri.query().is_some() || url.contains('#') {
        return Err(refuse("it ends with the path"));
    }
    Ok(url.trim_end_matches('/').to_owned())
}

fn authorization(token: &str) -> Result<HeaderValue> {
    let mut value = HeaderValue::try_from(format!("Bearer {token}")).map_err(|_| {
        Error::new(ErrorKind::InvalidArgument, "the token has characters that no header may have")
    })?;
    value.set_sensitive(true);
    Ok(value)
}

fn certificates(pem: &[u8]) -> Result<RootCerts> {
    let refuse = |why: &str| {
        Error::new(ErrorKind::InvalidArgument, format!("the certificates can't be read: {why}"))
            .hinting("give them as PEM has them: -----BEGIN CERTIFICATE-----")
    };
    let mut found: Vec<Certificate<'static>> = Vec::new();
    for item in parse_pem(pem) {
        if let PemItem::Certificate(one) = item.map_err(|error| refuse(&error.to_string()))? {
            found.push(one);
        }
    }
    if found.is_empty() {
        return Err(refuse("there are none"));
    }
    Ok(RootCerts::new_with_certs(&found))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_told_from_names_of_directories() {
        for url in ["http://a", "HTTPS://a:1/b", "http://[::1]:8080"] {
            assert!(is_url(url), "{url}");
        }
        for name in ["", "h", "./http://", "store", "http:/x", "ünï://cödé", "ftp://a"] {
            assert!(!is_url(name), "{name}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused_with_what_to_give() {
        let options = ServerOptions::default();
        assert_eq!(Server::new("http://a:1/b/", &options).unwrap().url(), "http://a:1/b");
        for url in
            ["http://", "http://a b", "http://me:secret@a", "http://a?x=1", "http://a#b", "a:1"]
        {
            let error = Server::new(url, &options).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{url}");
            assert!(error.hint().contains("http://HOST:PORT"), "{url}: {error}");
        }
    }

    #[test]
    fn a_token_is_never_shown() {
        let options =
            ServerOptions { token: Some("sesame".to_owned()), ..ServerOptions::default() };
        let server = Server::new("http://a", &options).unwrap();
        assert!(!format!("{options:?} {server:?}").contains("sesame"));
        let broken =
            ServerOptions { token: Some("se\nsame".to_owned()), ..ServerOptions::default() };
        let error = Server::new("http://a", &broken).unwrap_err();
        assert!(!error.to_string().contains("same"), "{error}");
    }

    #[test]
    fn certificates_must_be_some() {
        for pem in [&b""[..], b"-----BEGIN CERTIFICATE-----\n!!\n-----END CERTIFICATE-----\n"] {
            let options =
                ServerOptions { certificates: Some(pem.to_vec()), ..ServerOptions::default() };
            assert_eq!(
                Server::new("https://a", &options).unwrap_err().kind(),
                ErrorKind::InvalidArgument
            );
        }
    }
}

//! TLS: the certificate that clients are shown, taken anew from its files when they change.
//!
//! Invariant: what is shown was whole and fitted together when it was read. Files that don't, in the middle of
//! being replaced or for good, are told of, and the last ones that did stay.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{InconsistentKeys, ServerConfig};
use timestrata_engine::locks::RwLock;
use timestrata_engine::{Error, ErrorKind, Io, Result};
use tokio_rustls::TlsAcceptor;

use crate::config::TlsConfig;
use crate::small_file;
use crate::state::AppState;

/// How often one looks whether there is another certificate.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// The certificate of now, and where the next one will be.
#[derive(Debug)]
pub(crate) struct Tls {
    io: Io,
    files: TlsConfig,
    now: RwLock<Loaded>,
}

/// What was made of which bytes.
#[derive(Clone)]
struct Loaded {
    read: Arc<Pem>,
    config: Arc<ServerConfig>,
}

impl std::fmt::Debug for Loaded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Loaded(..)")
    }
}

/// The text of both files.
#[derive(PartialEq, Eq)]
struct Pem {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

impl Tls {
    /// The certificate in these files.
    ///
    /// # Errors
    /// `Io` for a file that can't be read, `InvalidArgument` for one that holds something else, and for
    /// two that don't belong together.
    pub(crate) fn open(io: &Io, files: TlsConfig) -> Result<Self> {
        let read = files.read(io)?;
        let config = files.load(&read)?;
        let now = RwLock::new(Loaded { read: Arc::new(read), config });
        Ok(Self { io: io.clone(), files, now })
    }

    /// What answers the next connection.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(Arc::clone(&self.now.read().config))
    }

    /// Takes another certificate if there is one; may wait for the disk. `refused`: what was there and couldn't be
    /// taken when one last looked, so that it is told once.
    fn look(&self, refused: &mut Option<Pem>) {
        let read = match self.files.read(&self.io) {
            Ok(read) => read,
            Err(error) => {
                tracing::warn!(%error, "can't look for a new certificate; the one before stays");
                return;
            }
        };
        if read == *self.now.read().read || refused.as_ref() == Some(&read) {
            return;
        }
        match self.files.load(&read) {
            Ok(config) => {
                *self.now.write() = Loaded { read: Arc::new(read), config };
                *refused = None;
                tracing::info!(certificate = %self.files.certificate.display(), "took a new certificate");
            }
            Err(error) => {
                tracing::warn!(%error, "a new certificate can't be taken; the one before stays");
                *refused = Some(read);
            }
        }
    }
}

/// Looks for new certificates until the server is told to stop.
pub(crate) async fn follow(tls: Arc<Tls>, state: AppState) {
    let mut refused = None;
    loop {
        tokio::select! {
            () = tokio::time::sleep(LOOK_INTERVAL) => {}
            () = state.stopped() => return,
        }
        let tls = Arc::clone(&tls);
        let looked = tokio::task::spawn_blocking(move || {
            tls.look(&mut refused);
            refused
        });
        refused = looked.await.unwrap_or_default();
    }
}

fn wrong(path: &Path, why: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::InvalidArgument, why.to_string()).at(path)
}

impl TlsConfig {
    fn read(&self, io: &Io) -> Result<Pem> {
        Ok(Pem {
            certificate: small_file::read(
                io,
                &self.certificate,
                "the certificate (server.tls_cert)",
            )?,
            key: small_file::read(io, &self.key, "its key (server.tls_key)")?,
        })
    }

    fn load(&self, read: &Pem) -> Result<Arc<ServerConfig>> {
        let (of_chain, of_key) = (&self.certificate, &self.key);
        let chain = CertificateDer::pem_slice_iter(&read.certificate)
            .collect::<std::result::Result<Vec<_>, _>>();
        let chain = chain
            .map_err(|error| wrong(of_chain, format!("it is no certificate in PEM: {error}")))?;
        if chain.is_empty() {
            return Err(wrong(of_chain, "it holds no certificate ('-----BEGIN CERTIFICATE-----')"));
        }
        // What is said of a key may not say it.
        let key = PrivateKeyDer::from_pem_slice(&read.key).map_err(|_| {
            wrong(of_key, "it holds no private key in PEM ('-----BEGIN PRIVATE KEY-----'); one with a passphrase is none")
        })?;
        let provider = Arc::new(ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| wrong(of_chain, error))?
            .with_no_client_auth()
            .with_single_cert(chain, key);
        let mut config = config.map_err(|error| match error {
            rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => wrong(
                of_key,
                format!("it is not the key of the certificate in {}", of_chain.display()),
            ),
            other => wrong(of_chain, format!("certificate and key can't be used: {other}")),
        })?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}

//! `timestrata serve`.

use std::path::PathBuf;

use clap::Args;
use timestrata::{Access, Error, ErrorKind, Io, Store};
use timestrata_server::{Config, Server, init_logs};

use super::config::ConfigArgs;
use crate::faces::expect_directory;
use crate::failure::{Failure, Result};
use crate::home::led_home;
use crate::message::tell;
use crate::secret;

/// Answer requests to a store over HTTP.
#[derive(Debug, Args)]
#[command(after_help = "\
Listens on loopback unless told otherwise; other machines need tokens ('timestrata token create', or a file), and \
should be spoken to by TLS. Ctrl-C, or a signal \
to terminate, stops it: requests under way get their time, then everything is synced and closed. \
A token file, or a key, that others could change, or that is yours and readable by everybody, is refused: chmod 600. \
A certificate that is renewed in its file is taken without a restart.

Examples:
  timestrata serve ./store
  timestrata serve ./store --listen 0.0.0.0:8443 --tls-cert ./chain.pem --tls-key ./key.pem
  timestrata serve ./store --listen 0.0.0.0:8080 --token-file ./tokens
  timestrata serve ./store --log-tcp 127.0.0.1:5260
  timestrata serve ./store --compat pulsora
  curl -T flights.csv -X POST -H 'Content-Type: text/csv' \\
    'localhost:8080/tables/flights/ingest?time=time_hour'
  curl 'localhost:8080/tables/flights/query?start=2013-07-01&limit=5'")]
pub(crate) struct ServeArgs {
    /// The store's directory; made if missing.
    dir: PathBuf,
    #[command(flatten)]
    config: ConfigArgs,
}

pub(crate) fn run(arguments: &ServeArgs) -> Result<()> {
    expect_directory(&arguments.dir, "give the directory that the server is to open")?;
    let mut config = arguments.config.layers()?.config()?;
    let _log = init_logs(&config);
    let tokens = config
        .token_file
        .as_deref()
        .map(|path| secret::read(&led_home(path), "the token file"))
        .transpose()?;
    if let Some(key) = &mut config.key_file {
        *key = led_home(key);
        secret::check(key, "the signing key")?;
    }
    if let Some(tls) = &mut config.tls {
        tls.certificate = led_home(&tls.certificate);
        tls.key = led_home(&tls.key);
        secret::check(&tls.key, "the key of the certificate")?;
    }
    let settings = config.settings.clone();
    let store = Store::open_with(Io::os(), &arguments.dir, Access::Write, settings)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_name("timestrata-http")
        .build()
        .map_err(|cause| Failure::plain(format!("could not start threads: {cause}")))?;
    runtime.block_on(serve(store, config, tokens))?;
    Ok(())
}

async fn serve(store: Store, config: Config, tokens: Option<String>) -> timestrata::Result<()> {
    let server = Server::bind(store, config, tokens.as_deref()).await?;
    tell(format_args!("listening on {}", server.url()?));
    if let Some(address) = server.log_tcp_address()? {
        tell(format_args!("speaking the line protocol of logs on {address}"));
    }
    let mut terminated = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())
        .map_err(|cause| Error::new(ErrorKind::Io, "can't hear signals").caused_by(cause))?;
    let stop = async move {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = terminated.recv() => {}
        }
    };
    server.run(stop).await
}

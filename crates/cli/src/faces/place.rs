//! Where a store is: in a directory, or behind a server that has it open.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};
use timestrata::{Access, ErrorKind, Io, Settings, Store};
use timestrata_client::{Server, ServerOptions, is_url};

use super::StoreFace;
use super::here::OpenedStore;
use super::there::ServedStore;
use crate::at::At;
use crate::failure::{Failure, Result};
use crate::home::led_home;
use crate::input::read_text;
use crate::interrupt::Interrupt;
use crate::secret;

/// Names the file with the token where no option does: a token itself is on no command line and in no environment.
const TOKEN_FILE_VARIABLE: &str = "TIMESTRATA_TOKEN_FILE";

/// Where a store is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    Directory(PathBuf),
    Server(String),
}

impl Place {
    fn of(text: OsString) -> Self {
        match text.to_str() {
            Some(url) if is_url(url) => Self::Server(url.to_owned()),
            _ => Self::Directory(led_home(Path::new(&text))),
        }
    }
}

fn place() -> impl TypedValueParser<Value = Place> {
    OsStringValueParser::new().map(Place::of)
}

/// A store, and how it is reached.
#[derive(Debug, Args)]
pub(crate) struct StoreArg {
    /// The store's directory, or the URL of a server that has it open.
    #[arg(value_name = "STORE", value_parser = place())]
    pub(crate) store: Place,
    /// Of a server: the file with the token that it asks for, in its first line. Default: the file that the environment
    /// names as TIMESTRATA_TOKEN_FILE.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Of a server: a file of certificates that are trusted in place of those of the public authorities.
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,
}

impl StoreArg {
    /// Opens it for reading, as it was at a moment if one is named.
    pub(crate) fn read(&self, at: &At) -> Result<Box<dyn StoreFace>> {
        match &self.store {
            Place::Directory(dir) => {
                Ok(Box::new(OpenedStore::new(at.of(open(dir, Access::Read)?)?)))
            }
            Place::Server(url) => {
                Ok(Box::new(ServedStore::new(self.server(url, None)?, at.text())))
            }
        }
    }

    /// Opens it as it is from now on. What waits for a server's answer ends with an interrupt.
    pub(crate) fn open(
        &self,
        access: Access,
        interrupt: Option<&Interrupt>,
    ) -> Result<Box<dyn StoreFace>> {
        match &self.store {
            Place::Directory(dir) => Ok(Box::new(OpenedStore::new(open(dir, access)?))),
            Place::Server(url) => {
                Ok(Box::new(ServedStore::new(self.server(url, interrupt)?, None)))
            }
        }
    }

    /// The server at an address.
    pub(crate) fn server(&self, url: &str, interrupt: Option<&Interrupt>) -> Result<Server> {
        let named = std::env::var_os(TOKEN_FILE_VARIABLE).filter(|path| !path.is_empty());
        let token_file = self.token_file.clone().or_else(|| named.map(PathBuf::from));
        let heard = interrupt.cloned();
        let options = ServerOptions {
            token: token_file.map(|path| token_of(&led_home(&path))).transpose()?,
            certificates: self
                .ca_file
                .as_deref()
                .map(|path| read_text(path, "the certificates").map(String::into_bytes))
                .transpose()?,
            is_wanted: heard.map(|heard| std::sync::Arc::new(move || !heard.is_heard()) as _),
            ..ServerOptions::default()
        };
        Ok(Server::new(url, &options)?)
    }
}

/// The token in a file: its first line that has something in it.
pub(crate) fn token_of(path: &Path) -> Result<String> {
    let text = secret::read(path, "the token file")?;
    let line = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
    line.map(str::to_owned).ok_or_else(|| {
        Failure::failed(
            format!("the token file has no token [{}]", path.display()),
            "its first line must be the token that the server knows",
        )
    })
}

/// Refuses an address of a server where a directory is wanted; `instead` says what to do.
pub(crate) fn expect_directory(dir: &Path, instead: &str) -> Result<()> {
    match dir.to_str() {
        Some(url) if is_url(url) => Err(not_of_a_server(url, instead)),
        _ => Ok(()),
    }
}

fn not_of_a_server(url: &str, instead: &str) -> Failure {
    Failure::usage(format!("this needs a store's directory, and {url} is a server"), instead)
}

/// Opens the store in a directory.
pub(crate) fn open(dir: &Path, access: Access) -> Result<Store> {
    Store::open_with(Io::os(), dir, access, Settings::default()).map_err(|error| {
        match error.kind() {
            ErrorKind::Locked => Failure::failed(
                error.to_string(),
                "close the other writer; or, if a server has the store open, give its URL in place of the directory, \
                 such as http://127.0.0.1:8080",
            ),
            _ => error.into(),
        }
    })
}

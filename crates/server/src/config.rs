//! What a server is told: defaults, over them a TOML file, over that the environment, over all
//! flags; and for each value where it comes from.
//!
//! A key is `SECTION.NAME`. In the environment it is `TIMESTRATA_SECTION_NAME`. Sizes are written
//! `64MiB`, durations `100ms`. A key that nobody knows is an error, not a word in the wind.

mod keys;
mod log_filter;

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use timestrata_engine::{
    Durability, Error, ErrorKind, Result, Setting, Settings, duration_of_text, size_of_text,
};
use tracing_subscriber::filter::Targets;

use self::keys::{KEYS, Key, STORE, store_settings};

const ENVIRONMENT_PREFIX: &str = "TIMESTRATA_";

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Nobody said anything.
    Default,
    /// The file of this name.
    File(String),
    /// The variable of this name.
    Environment(String),
    /// The flag of this name.
    Flag(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(name) => write!(f, "{name}"),
            Self::Environment(name) => write!(f, "environment, {name}"),
            Self::Flag(name) => write!(f, "flag {name}"),
        }
    }
}

/// Values of all keys, each with its origin.
#[derive(Debug, Clone)]
pub struct Layers {
    values: BTreeMap<&'static str, (String, Origin)>,
}

impl Default for Layers {
    fn default() -> Self {
        let value = |key: &'static Key| (key.name.as_str(), (key.default.clone(), Origin::Default));
        Self { values: KEYS.iter().map(value).collect() }
    }
}

fn wrong(origin: &Origin, message: impl fmt::Display) -> Error {
    Error::new(ErrorKind::InvalidArgument, format!("configuration ({origin}): {message}"))
}

impl Layers {
    /// Puts the values of a TOML file over those that are there.
    ///
    /// # Errors
    /// `InvalidArgument` for text that is no TOML, and for keys that don't exist.
    pub fn file(&mut self, text: &str, name: &str) -> Result<()> {
        let origin = Origin::File(name.to_owned());
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
            let line = error.span().map(|span| text[..span.start.min(text.len())].lines().count());
            let place = line.map_or_else(String::new, |line| format!("line {}: ", line.max(1)));
            wrong(&origin, format!("{place}{}", error.message()))
        })?;
        for (section, values) in table {
            let toml::Value::Table(values) = values else {
                return Err(unknown(&section, &origin));
            };
            for (name, value) in values {
                let key = format!("{section}.{name}");
                let text = match value {
                    toml::Value::String(text) => text,
                    toml::Value::Integer(number) => number.to_string(),
                    toml::Value::Boolean(truth) => truth.to_string(),
                    other => {
                        let what = format!(
                            "{key} must be text, a number or a truth value, not {}",
                            other.type_str()
                        );
                        return Err(wrong(&origin, what));
                    }
                };
                self.set(&key, text, origin.clone())?;
            }
        }
        Ok(())
    }

    /// Puts the values of the environment over those that are there. Variables that begin with
    /// `TIMESTRATA_` and one of the sections' names must be keys.
    ///
    /// # Errors
    /// `InvalidArgument` for keys that don't exist.
    pub fn environment(
        &mut self,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<()> {
        for (variable, value) in variables {
            let Some(rest) = variable.strip_prefix(ENVIRONMENT_PREFIX) else { continue };
            let Some((section, name)) = rest.split_once('_') else { continue };
            let section = section.to_ascii_lowercase();
            let is_section = |key: &Key| key.name.split('.').next() == Some(section.as_str());
            if KEYS.iter().any(is_section) {
                let key = format!("{section}.{}", name.to_ascii_lowercase());
                self.set(&key, value, Origin::Environment(variable))?;
            }
        }
        Ok(())
    }

    /// Puts the value of a flag over those that are there.
    ///
    /// # Errors
    /// `InvalidArgument` for a key that doesn't exist.
    pub fn flag(&mut self, flag: &str, key: &str, value: impl Into<String>) -> Result<()> {
        self.set(key, value.into(), Origin::Flag(flag.to_owned()))
    }

    fn set(&mut self, key: &str, value: String, origin: Origin) -> Result<()> {
        match KEYS.iter().find(|known| known.name == key) {
            Some(known) => {
                self.values.insert(&known.name, (value, origin));
                Ok(())
            }
            None => Err(unknown(key, &origin)),
        }
    }

    /// All keys with value, origin and meaning, in order.
    pub fn all(&self) -> impl Iterator<Item = (&'static str, &str, &Origin, &'static str)> {
        KEYS.iter().filter_map(|key| {
            let (value, origin) = self.values.get(key.name.as_str())?;
            Some((key.name.as_str(), value.as_str(), origin, key.about))
        })
    }

    fn read<T>(&self, key: &str, form: &str, parse: impl Fn(&str) -> Option<T>) -> Result<T> {
        let Some((value, origin)) = self.values.get(key) else {
            return Err(unknown(key, &Origin::Default));
        };
        parse(value).ok_or_else(|| wrong(origin, format!("{key} = {value:?}: it must be {form}")))
    }

    fn size(&self, key: &str) -> Result<u64> {
        self.read(key, "a size such as \"64MiB\"", size_of_text)
    }

    fn duration(&self, key: &str) -> Result<Duration> {
        self.read(key, "a duration such as \"500ms\"", duration_of_text)
    }

    fn number(&self, key: &str) -> Result<usize> {
        self.read(key, "a whole number, at least 1", |text| text.parse().ok().filter(|n| *n > 0))
    }

    fn names(&self, key: &str) -> Result<Vec<String>> {
        self.read(key, "names with commas between", |text| {
            let names = text.split(',').map(|name| name.trim().to_ascii_lowercase());
            Some(names.filter(|name| !name.is_empty()).collect())
        })
    }

    /// Where pages may come from: `scheme://host`, with a port where it isn't the scheme's own, or `*`.
    fn origins(&self) -> Result<Vec<String>> {
        let form = "origins with commas between, such as \"https://app.example\", or *";
        self.read("server.cors_origins", form, |text| {
            let origins = text.split(',').map(str::trim).filter(|origin| !origin.is_empty());
            origins.map(|origin| is_origin(origin).then(|| origin.to_ascii_lowercase())).collect()
        })
    }

    fn path(&self, key: &str) -> Result<Option<PathBuf>> {
        self.read(key, "a path", |text| Some((!text.is_empty()).then(|| PathBuf::from(text))))
    }

    fn paths(&self, key: &str) -> Result<Vec<PathBuf>> {
        self.read(key, "paths with commas between", |text| {
            let paths = text.split(',').map(str::trim).filter(|path| !path.is_empty());
            Some(paths.map(PathBuf::from).collect())
        })
    }

    /// The line protocol of logs, if it is spoken. What is wrong is told in any case.
    fn log_tcp(&self) -> Result<Option<LogTcpConfig>> {
        let form = "empty, or an address such as \"127.0.0.1:5260\"";
        let listen: Option<SocketAddr> = self.read("logs.tcp_listen", form, |text| match text {
            "" => Some(None),
            _ => text.parse().ok().map(Some),
        })?;
        let log = self.read("logs.tcp_log", "a log's name", |text| {
            (!text.is_empty()).then(|| text.to_owned())
        })?;
        let durability =
            self.read("logs.tcp_durability", "synced or written", |text| match text {
                "synced" => Some(Durability::Synced),
                "written" => Some(Durability::Written),
                _ => None,
            })?;
        let clients_max = self.number("logs.tcp_clients_max")?;
        let idle_grace = self.duration("logs.tcp_idle_grace")?;
        Ok(listen.map(|listen| LogTcpConfig { listen, log, durability, clients_max, idle_grace }))
    }

    /// How often partitions are signed by themselves, which takes a key.
    fn checkpoint_interval(&self) -> Result<Option<Duration>> {
        let name = "topics.checkpoint_interval";
        let form = "empty, or a duration such as \"1m\"";
        let every = self.read(name, form, |text| match text {
            "" => Some(None),
            _ => duration_of_text(text).filter(|every| !every.is_zero()).map(Some),
        })?;
        if every.is_some() && self.path("topics.key_file")?.is_none() {
            let origin = self.values.get(name).map_or(&Origin::Default, |(_, origin)| origin);
            let what = format!("{name} is given, and topics.key_file, which signs, is missing");
            return Err(wrong(origin, what));
        }
        Ok(every)
    }

    /// The certificate and its key, if there are any: both or none.
    fn tls(&self) -> Result<Option<TlsConfig>> {
        let (certificate, key) = (self.path("server.tls_cert")?, self.path("server.tls_key")?);
        let lacks = |given: &str, missing: &str| {
            let origin = self.values.get(given).map_or(&Origin::Default, |(_, origin)| origin);
            Err(wrong(
                origin,
                format!("{given} is given, and {missing} is missing: give both, or none"),
            ))
        };
        match (certificate, key) {
            (Some(certificate), Some(key)) => Ok(Some(TlsConfig { certificate, key })),
            (None, None) => Ok(None),
            (Some(_), None) => lacks("server.tls_cert", "server.tls_key"),
            (None, Some(_)) => lacks("server.tls_key", "server.tls_cert"),
        }
    }

    /// What the store is opened with.
    fn store(&self) -> Result<Settings> {
        let mut settings = store_settings();
        for setting in Setting::all() {
            let key = format!("{STORE}.{}", setting.name());
            settings = self.read(&key, &setting.expected(), |text| {
                let mut with = settings.clone();
                setting.set(&mut with, text).ok().map(|()| with)
            })?;
        }
        settings.validate()?;
        Ok(settings)
    }

    /// Reads all values.
    ///
    /// # Errors
    /// `InvalidArgument`, naming key, value and origin.
    pub fn config(&self) -> Result<Config> {
        let truth = |text: &str| text.parse::<bool>().ok();
        Ok(Config {
            listen: self.read(
                "server.listen",
                "an address such as \"127.0.0.1:8080\"",
                |text| text.parse().ok(),
            )?,
            token_file: self.path("server.token_file")?,
            tls: self.tls()?,
            is_open_to_all: self.read("server.open_to_all", "true or false", truth)?,
            hosts: self.names("server.hosts")?,
            cors_origins: self.origins()?,
            compat: self.read("server.compat", "empty, or pulsora", |text| match text {
                "" => Some(None),
                "pulsora" => Some(Some(Compat::Pulsora)),
                _ => None,
            })?,
            stop_grace: self.duration("server.stop_grace")?,
            body_bytes_max: self.size("limits.body_bytes_max")?,
            batch_bytes_max: self.size("limits.batch_bytes_max")?,
            body_idle_max: self.duration("limits.body_idle_max")?,
            connections_max: self.number("limits.connections_max")?,
            head_time_max: self.duration("limits.head_time_max")?,
            request_time_max: self.duration("limits.request_time_max")?,
            query_time_max: self.duration("limits.query_time_max")?,
            answer_idle_max: self.duration("limits.answer_idle_max")?,
            tails_max: self.number("limits.tails_max")?,
            wait_max: self.duration("limits.wait_max")?,
            waits_max: self.number("limits.waits_max")?,
            log_format_files: self.paths("logs.format_files")?,
            key_file: self.path("topics.key_file")?,
            checkpoint_interval: self.checkpoint_interval()?,
            requests_max: self.number("limits.requests_max")?,
            rows_max: self.number("limits.rows_max")?,
            sql_memory_bytes_max: self.size("limits.sql_memory_bytes_max")?,
            log_tcp: self.log_tcp()?,
            sql_may_write: self.read("sql.may_write", "true or false", truth)?,
            log_filter: self.read("log.level", log_filter::FORM, log_filter::parse)?,
            log_is_json: self.read("log.form", "json or text", |text| match text {
                "json" => Some(true),
                "text" => Some(false),
                _ => None,
            })?,
            settings: self.store()?,
        })
    }
}

fn is_origin(text: &str) -> bool {
    let is_place = |place: &str| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte);
        !place.is_empty() && place.bytes().all(is_plain)
    };
    let place = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    text == "*" || place.is_some_and(is_place)
}

fn unknown(key: &str, origin: &Origin) -> Error {
    let shown: String = key.chars().take(60).collect();
    let section = key.split('.').next().unwrap_or_default();
    let same_section = KEYS.iter().filter(|known| known.name.split('.').next() == Some(section));
    let mut names: Vec<_> = same_section.map(|known| known.name.as_str()).collect();
    if names.is_empty() {
        names = KEYS.iter().map(|known| known.name.as_str()).collect();
    }
    wrong(origin, format!("there is no key '{shown}'; there are {}", names.join(", ")))
}

/// How a server works.
#[derive(Debug, Clone)]
pub struct Config {
    /// Address that it listens on.
    pub listen: SocketAddr,
    /// File of tokens, one a line.
    pub token_file: Option<PathBuf>,
    /// The certificate that it shows, where it speaks TLS.
    pub tls: Option<TlsConfig>,
    /// Whether anybody may ask, without a token, also from other machines.
    pub is_open_to_all: bool,
    /// Names, in lower case, that requests without a token may call it by, or come from.
    pub hosts: Vec<String>,
    /// Places whose pages may ask by a browser, in lower case; `*` is any.
    pub cors_origins: Vec<String>,
    /// Another server, whose clients are answered as it did.
    pub compat: Option<Compat>,
    /// Time for requests under way when it is told to stop.
    pub stop_grace: Duration,
    /// Longest body.
    pub body_bytes_max: u64,
    /// Longest body that is one commit.
    pub batch_bytes_max: u64,
    /// Longest wait for the next piece of a body.
    pub body_idle_max: Duration,
    /// Connections at once.
    pub connections_max: usize,
    /// Longest wait for the whole head of a request, from when the last answer ended.
    pub head_time_max: Duration,
    /// Longest time that a query or a read is worked on.
    pub query_time_max: Duration,
    /// Longest time for an answer to begin, bodies that are still arriving left out.
    pub request_time_max: Duration,
    /// Longest wait for a client to take more of its answer.
    pub answer_idle_max: Duration,
    /// Logs followed at once.
    pub tails_max: usize,
    /// Longest time that a request may wait for records.
    pub wait_max: Duration,
    /// Requests that wait for records at once.
    pub waits_max: usize,
    /// Files of formats of lines.
    pub log_format_files: Vec<PathBuf>,
    /// File of the key that signs checkpoints.
    pub key_file: Option<PathBuf>,
    /// How often partitions of topics that have new records are signed by themselves.
    pub checkpoint_interval: Option<Duration>,
    /// Requests under way at once.
    pub requests_max: usize,
    /// Rows of an answer that is not streamed.
    pub rows_max: usize,
    /// Memory of all queries together.
    pub sql_memory_bytes_max: u64,
    /// The line protocol of logs, if it is spoken.
    pub log_tcp: Option<LogTcpConfig>,
    /// Whether SQL may change anything.
    pub sql_may_write: bool,
    /// What is worth a line in the log, by the module that tells it.
    pub log_filter: Targets,
    /// Whether lines of the log are JSON.
    pub log_is_json: bool,
    /// The store's.
    pub settings: Settings,
}

/// A server whose clients are answered as it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compat {
    /// One of tables, whose paths are `/tables/{table}/...`.
    Pulsora,
}

/// A certificate and its key, both in PEM.
#[derive(Debug, Clone)]
pub struct TlsConfig {
    /// File of the certificate, behind it those that it was signed by.
    pub certificate: PathBuf,
    /// File of its private key.
    pub key: PathBuf,
}

/// How the line protocol of logs is spoken.
#[derive(Debug, Clone)]
pub struct LogTcpConfig {
    /// Address that it is spoken on.
    pub listen: SocketAddr,
    /// The log that it writes and reads.
    pub log: String,
    /// When a write is acknowledged.
    pub durability: Durability,
    /// Clients at once.
    pub clients_max: usize,
    /// How long a client may be silent before its place is another's, if all are taken.
    pub idle_grace: Duration,
}

#[cfg(test)]
mod tests;

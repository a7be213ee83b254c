//! `timestrata config`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use timestrata_server::config::Layers;

use crate::failure::{Failure, Result};
use crate::input::read_text;
use crate::output::print;

/// What a server is told, apart from its directory.
#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    /// A TOML file of settings.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Address to listen on: server.listen.
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Address of the line protocol of logs: logs.tcp_listen.
    #[arg(long, value_name = "ADDRESS")]
    log_tcp: Option<String>,
    /// Server whose clients are to be answered as it did, pulsora: server.compat.
    #[arg(long, value_name = "SERVER")]
    compat: Option<String>,
    /// File of tokens, one a line: server.token_file.
    #[arg(long, value_name = "FILE")]
    token_file: Option<String>,
    /// File of a certificate in PEM, to speak HTTPS by: server.tls_cert.
    #[arg(long, value_name = "FILE")]
    tls_cert: Option<String>,
    /// File of its private key in PEM: server.tls_key.
    #[arg(long, value_name = "FILE")]
    tls_key: Option<String>,
    /// Any setting.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
}

impl ConfigArgs {
    /// Defaults, the file, the environment and the flags, over each other.
    pub(super) fn layers(&self) -> Result<Layers> {
        let mut layers = Layers::default();
        if let Some(path) = &self.config {
            let text = read_text(path, "the configuration")?;
            layers.file(&text, &path.display().to_string())?;
        }
        layers.environment(std::env::vars())?;
        let flags = [
            ("--listen", "server.listen", &self.listen),
            ("--log-tcp", "logs.tcp_listen", &self.log_tcp),
            ("--compat", "server.compat", &self.compat),
            ("--token-file", "server.token_file", &self.token_file),
            ("--tls-cert", "server.tls_cert", &self.tls_cert),
            ("--tls-key", "server.tls_key", &self.tls_key),
        ];
        for (flag, key, value) in flags {
            if let Some(value) = value {
                layers.flag(flag, key, value)?;
            }
        }
        for set in &self.set {
            let Some((key, value)) = set.split_once('=') else {
                return Err(Failure::usage(
                    format!("--set {set}: a value is missing"),
                    "write it as KEY=VALUE",
                ));
            };
            layers.flag("--set", key, value)?;
        }
        Ok(layers)
    }
}

/// Look at the settings of a server.
#[derive(Debug, Args)]
pub(crate) struct ConfigCommand {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Print all settings as TOML, each with its meaning and where its value comes from.
    Show(ConfigArgs),
}

pub(crate) fn run(arguments: &ConfigCommand) -> Result<()> {
    let Verb::Show(arguments) = &arguments.verb;
    let layers = arguments.layers()?;
    // Values that can't be read are told, and not shown as if all were well.
    layers.config()?;
    let mut text = String::new();
    let mut section = "";
    for (key, value, origin, about) in layers.all() {
        let Some((of, name)) = key.split_once('.') else { continue };
        if of != section {
            text += &format!("{}[{of}]\n", if section.is_empty() { "" } else { "\n" });
            section = of;
        }
        text += &format!("# {about}\n{name} = {value:?} # {origin}\n");
    }
    print(text)
}

//! `timestrata token create|list|revoke`.

use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::json;
use timestrata::table::time_text;
use timestrata::{Access, ErrorKind, Io};
use timestrata_server::{NewToken, Token, TokenFolder};

use crate::faces::{expect_directory, open};
use crate::failure::{Failure, Result};
use crate::message::tell;
use crate::output::table::Table;
use crate::output::{FormArg, ReportFormat, print};

/// A token of the server would be needed to make the first one.
const INSTEAD: &str =
    "give its directory, which may be read while a server has it open; over HTTP it is /tokens";

/// Make, list and revoke the tokens that a server of a store lets clients in by.
#[derive(Debug, Args)]
#[command(after_help = "\
A store that has, or once had, a token is served to those only who bring one: 'Authorization: Bearer TOKEN'. A server \
that runs hears of new tokens at once, and of revoked ones within a second. Backups leave tokens out.

A scope is read, write or admin (which holds both), of all streams, or of those that it names: read:orders, \
write:logs-*.

Examples:
  timestrata token create ./store --name shipper --scope 'write:logs-*'
  timestrata token create ./store --name me --scope admin --expires 90d
  timestrata token list ./store
  timestrata token revoke ./store 0f1e2d3c4b5a6978")]
pub(crate) struct TokenCommand {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Make a token and print it, this once.
    Create(CreateArgs),
    /// List the tokens, without their secrets.
    List(ListArgs),
    /// Revoke a token: nobody is let in by it any more.
    Revoke(RevokeArgs),
}

#[derive(Debug, Args)]
struct CreateArgs {
    /// The store's directory; made if missing.
    dir: PathBuf,
    /// Who has it, for those who read the list.
    #[arg(long)]
    name: String,
    /// What it gives; may be given several times.
    #[arg(long = "scope", value_name = "SCOPE", required = true)]
    scopes: Vec<String>,
    /// For how long it is good, such as 30d, or until when; without it, until it is revoked.
    #[arg(long, value_name = "WHEN")]
    expires: Option<String>,
}

#[derive(Debug, Args)]
struct ListArgs {
    /// The store's directory.
    dir: PathBuf,
    #[command(flatten)]
    form: FormArg<ReportFormat>,
}

#[derive(Debug, Args)]
struct RevokeArgs {
    /// The store's directory.
    dir: PathBuf,
    /// The token's id, as the list has it.
    id: String,
}

pub(crate) fn run(arguments: &TokenCommand) -> Result<()> {
    match &arguments.verb {
        Verb::Create(arguments) => create(arguments),
        Verb::List(arguments) => list(arguments),
        Verb::Revoke(arguments) => Ok(of_store(&arguments.dir)?.revoke(&arguments.id)?),
    }
}

/// The tokens of a store. It isn't opened: whoever must revoke one can do so however the store is.
fn of_store(dir: &Path) -> Result<TokenFolder> {
    expect_directory(dir, INSTEAD)?;
    let io = Io::os();
    match io.disk.exists(dir) {
        Ok(true) => Ok(TokenFolder::in_dir(&io, dir)),
        Ok(false) => Err(Failure::failed(
            format!("there is no store in {}", dir.display()),
            "give the directory of a store",
        )),
        Err(cause) => Err(timestrata::Error::io("look for the store", dir, cause).into()),
    }
}

fn create(arguments: &CreateArgs) -> Result<()> {
    expect_directory(&arguments.dir, INSTEAD)?;
    let io = Io::os();
    let mut new = NewToken::new(&arguments.name, &arguments.scopes)?;
    if let Some(when) = &arguments.expires {
        new = new.expiring(when, io.clock.wall_ns())?;
    }
    // Before there is a token: a folder that is no store must not become half of one.
    match timestrata::Store::open_with(
        io.clone(),
        &arguments.dir,
        Access::Read,
        timestrata::Settings::default(),
    ) {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => {
            open(&arguments.dir, Access::Write)?.close()?;
        }
        Err(error) => return Err(error.into()),
    }
    let (token, secret) = TokenFolder::in_dir(&io, &arguments.dir).create(new)?;
    tell(format_args!("made token {}; it is not shown again", token.id()));
    print(format_args!("{}\n", secret.reveal()))
}

fn scopes_of(token: &Token) -> Vec<String> {
    token.scopes().iter().map(ToString::to_string).collect()
}

fn list(arguments: &ListArgs) -> Result<()> {
    let tokens = of_store(&arguments.dir)?.list()?;
    let now_ns = Io::os().clock.wall_ns();
    let mut out = io::stdout().lock();
    let mut table = Table::new(["id", "name", "scopes", "created", "expires"].into_iter());
    for (id, token) in tokens {
        if arguments.form.is_json() {
            let line = match &token {
                Ok(token) => json!({
                    "id": id,
                    "name": token.name(),
                    "scopes": scopes_of(token),
                    "created": time_text(token.created_ns()),
                    "expires": token.expires_ns().map(time_text),
                    "has_expired": token.has_expired(now_ns),
                }),
                Err(why) => json!({ "id": id, "damaged": why }),
            };
            print(format_args!("{line}\n"))?;
            continue;
        }
        let cells = match &token {
            Ok(token) => vec![
                id,
                token.name().to_owned(),
                scopes_of(token).join(" "),
                time_text(token.created_ns()),
                match token.expires_ns() {
                    None => "never".to_owned(),
                    Some(expires_ns) if token.has_expired(now_ns) => {
                        format!("{} (over)", time_text(expires_ns))
                    }
                    Some(expires_ns) => time_text(expires_ns),
                },
            ],
            Err(why) => {
                vec![id, format!("damaged: {why}"), String::new(), String::new(), String::new()]
            }
        };
        table.push(cells, &mut out).map_err(Failure::output)?;
    }
    match arguments.form.is_json() {
        true => Ok(()),
        false => table.finish(&mut out).map(|_| ()).map_err(Failure::output),
    }
}

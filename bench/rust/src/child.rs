//! Work that needs a process of its own: one that is killed, or whose memory is weighed.
//!
//! A child prints one line of figures, then waits to be killed, so that its store is left as
//! a crash leaves it.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Result;

/// First argument of a child.
pub const FLAG: &str = "--child";

/// What a child tells.
pub type Figures = BTreeMap<String, f64>;

/// Runs this program as a child that plays `role` in `dir`, and kills it when it has told
/// its figures.
///
/// # Errors
/// Where there can't be another process, and a child that gave up.
pub fn ask(role: &str, dir: &Path, amount: u64) -> Result<Figures> {
    let mut child = Command::new(std::env::current_exe()?)
        .args([FLAG, role])
        .arg(dir)
        .arg(amount.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut line = String::new();
    let told = match child.stdout.take() {
        Some(output) => BufReader::new(output).read_line(&mut line),
        None => Ok(0),
    };
    child.kill()?;
    child.wait()?;
    told?;
    serde_json::from_str(&line).map_err(|_| format!("the child '{role}' gave up").into())
}

/// What a child was asked for: a role, a directory and an amount.
///
/// # Errors
/// Other arguments.
pub fn part(arguments: impl Iterator<Item = String>) -> Result<(String, PathBuf, u64)> {
    let arguments: Vec<String> = arguments.collect();
    let [role, dir, amount] = arguments.as_slice() else {
        return Err("a child needs a role, a directory and an amount".into());
    };
    Ok((role.clone(), PathBuf::from(dir), amount.parse()?))
}

/// Prints the figures and waits for the end with everything still open.
///
/// # Errors
/// Where nobody listens.
pub fn tell<T>((figures, _open): &(Figures, T)) -> Result<()> {
    println!("{}", serde_json::to_string(figures)?);
    // Ends when the parent does, if it can't kill any more.
    std::io::stdin().read_to_end(&mut Vec::new())?;
    std::process::exit(0)
}

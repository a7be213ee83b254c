//! `timestrata-bench [SUITE]`: runs a suite of benchmarks and writes its report.

mod engine;
mod http;
mod line;
mod logs;
mod reports;
mod store;

use std::process::ExitCode;

use timestrata_bench::{OPTIONS, Request, Result, child, suite};

const USAGE: &str = "usage: timestrata-bench [SUITE] [OPTIONS]

  SUITE               engine, logs or store (default: all)
  published           rows of reports that other systems have published, to a report of their own";

/// The words that [`USAGE`] calls a suite.
const SUITES: [&str; 4] = ["all", "engine", "logs", "store"];

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).peekable();
    let outcome = match arguments.peek().and_then(|first| command(first)) {
        Some(command) => command(&arguments.skip(1).collect::<Vec<_>>()).map(|()| true),
        None => run(arguments.collect()),
    };
    suite::end("timestrata-bench", outcome)
}

/// What is not a suite: one end of a benchmark whose other end is another process.
type Command = fn(&[String]) -> Result<()>;

fn command(name: &str) -> Option<Command> {
    match name {
        child::FLAG => Some(|arguments| {
            let is_of_reports =
                arguments.first().is_some_and(|role| reports::memory::is_role(role));
            let play = if is_of_reports { reports::memory::play } else { engine::play };
            play(&mut arguments.iter().cloned())
        }),
        http::LOAD => Some(http::load),
        http::CONSTANT => Some(http::constant),
        line::LOAD => Some(line::load),
        line::ECHO => Some(line::echo),
        reports::NAME => Some(reports::run),
        _ => None,
    }
}

/// Runs the suites that are named, or all; whether all of them came through.
fn run(arguments: Vec<String>) -> Result<bool> {
    let named: Vec<&str> =
        arguments.iter().map(String::as_str).filter(|word| SUITES.contains(word)).collect();
    let is_wanted =
        |suite: &str| named.is_empty() || named.contains(&"all") || named.contains(&suite);
    let usage = format!("{USAGE}\n{OPTIONS}");
    let request = || Request::read(arguments.iter().cloned(), &SUITES, &usage);
    let mut is_whole = true;
    if is_wanted("engine") {
        is_whole &= suite::run("engine", &engine::GROUPS, request()?)?;
    }
    if is_wanted("logs") {
        is_whole &= suite::run("logs", &logs::GROUPS, request()?)?;
    }
    if is_wanted("store") {
        is_whole &= suite::run("store", &store::GROUPS, request()?)?;
    }
    Ok(is_whole)
}

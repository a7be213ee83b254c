//! `timestrata-bench [SUITE]`: runs a suite of benchmarks and writes its report.

mod engine;
mod http;

use std::process::ExitCode;

use timestrata_bench::request::Request;
use timestrata_bench::{child, suite};

const USAGE: &str = "usage: timestrata-bench [SUITE] [OPTIONS]

  SUITE               engine (default: all)
  --quick             small sizes: shows that it works, the figures say little
  --only SUBSTRING    only groups of measures whose name holds this
  --dir PATH          where stores are made (default: next to the program)
  --out PATH          the report (default: bench/results/latest.json)";

/// The words that [`USAGE`] calls a suite.
const SUITES: [&str; 2] = ["all", "engine"];

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).peekable();
    let outcome = match arguments.next_if(|first| first == child::FLAG) {
        Some(_) => engine::child::play(arguments).map(|()| true),
        None if arguments.peek().is_some_and(|first| first == http::LOAD) => {
            http::load(&arguments.skip(1).collect::<Vec<_>>()).map(|()| true)
        }
        None if arguments.peek().is_some_and(|first| first == http::CONSTANT) => {
            http::constant(&arguments.skip(1).collect::<Vec<_>>()).map(|()| true)
        }
        None => Request::read(arguments, &SUITES, USAGE)
            .and_then(|request| suite::run("engine", &engine::GROUPS, request)),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("timestrata-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

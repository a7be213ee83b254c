//! `timestrata-bench [SUITE]`: runs a suite of benchmarks and writes its report.

mod engine;
mod http;

use std::path::PathBuf;
use std::process::ExitCode;

use timestrata_bench::Result;
use timestrata_bench::measure::Measure;
use timestrata_bench::report::{self, Others};
use timestrata_bench::request::Request;
use timestrata_bench::sample::Watch;

const USAGE: &str = "usage: timestrata-bench [SUITE] [OPTIONS]

  SUITE               engine (default: all)
  --quick             small sizes: shows that it works, the figures say little
  --only SUBSTRING    only groups of measures whose name holds this
  --dir PATH          where stores are made (default: next to the program)
  --out PATH          the report (default: bench/results/latest.json)";

/// The words that [`USAGE`] calls a suite.
const SUITES: [&str; 2] = ["all", "engine"];

/// A run of benchmarks: what all groups share, and what came out so far.
#[derive(Debug)]
struct Bench {
    watch: Watch,
    dir: PathBuf,
    quick: bool,
    measures: Vec<Measure>,
}

impl Bench {
    /// How many of something: `full`, or few of them in a quick run.
    fn many(&self, full: u64) -> u64 {
        if self.quick { (full / 50).max(3) } else { full }
    }

    /// How often something is repeated.
    fn rounds(&self, full: usize) -> usize {
        if self.quick { full.min(3) } else { full }
    }

    fn report(&mut self, measure: Measure) {
        println!("{}", report::line(&measure));
        self.measures.push(measure);
    }
}

fn run(request: Request) -> Result<bool> {
    let mut bench =
        Bench { watch: Watch::new(), dir: request.dir, quick: request.quick, measures: Vec::new() };
    println!("{}", report::heading());
    let mut whole = request.only.is_empty();
    for group in engine::GROUPS.iter().filter(|group| group.name.contains(&request.only)) {
        let start = bench.watch.now_ns();
        if let Err(error) = (group.run)(&mut bench) {
            eprintln!("{}: {error}", group.name);
            whole = false;
        }
        eprintln!("({}: {:.1} s)", group.name, (bench.watch.now_ns() - start) as f64 / 1e9);
    }
    let others = if whole { Others::Replace } else { Others::Keep };
    report::merge_into(&request.out, "engine", &bench.measures, others)?;
    println!("\n{} measures in {}", bench.measures.len(), request.out.display());
    Ok(whole || !request.only.is_empty())
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).peekable();
    let outcome = match arguments.next_if(|first| first == engine::child::FLAG) {
        Some(_) => engine::child::play(arguments.collect()).map(|()| true),
        None if arguments.peek().is_some_and(|first| first == http::LOAD) => {
            http::load(&arguments.skip(1).collect::<Vec<_>>()).map(|()| true)
        }
        None if arguments.peek().is_some_and(|first| first == http::CONSTANT) => {
            http::constant(&arguments.skip(1).collect::<Vec<_>>()).map(|()| true)
        }
        None => Request::read(arguments, &SUITES, USAGE).and_then(run),
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

//! Graphs beside other stores and libraries, and beside what the machine can do at best.

mod blocks;
mod data;
mod hops;
mod index;
mod made;
mod memory;
mod reopen;
mod walks;
mod writes;

use std::process::ExitCode;

use timestrata_bench::{Group, OPTIONS, Request, Result, child, suite};

const USAGE: &str = "usage: timestrata-bench-graph [graph] [OPTIONS]";
const VARIABLES: &str = "TIMESTRATA_BENCH_GRAPH names the folder of the real graph, TIMESTRATA_BENCH_SOURCES that of the
sources that are indexed.";

/// All groups, in the order of the report.
const GROUPS: [Group; 8] = [
    Group { name: "hops", run: hops::run },
    Group { name: "walks", run: walks::run },
    Group { name: "block reads", run: blocks::run },
    Group { name: "block writes", run: writes::blocks },
    Group { name: "edge writes", run: writes::edges },
    Group { name: "memory", run: memory::run },
    Group { name: "reopen", run: reopen::run },
    Group { name: "index", run: index::run },
];

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).peekable();
    let outcome = match arguments.next_if(|first| first == child::FLAG) {
        Some(_) => memory::play(arguments).map(|()| true),
        None => Request::read(
            arguments,
            &["all", "graph"],
            &format!("{USAGE}\n\n{OPTIONS}\n\n{VARIABLES}"),
        )
        .and_then(|request| suite::run("graph", &GROUPS, request)),
    };
    suite::end("timestrata-bench-graph", outcome)
}

/// An error unless both sides came by the same.
fn expect_same(what: &str, ours: u64, theirs: u64) -> Result<()> {
    match ours == theirs {
        true => Ok(()),
        false => Err(format!("{what}: ours came by {ours}, the other side by {theirs}").into()),
    }
}

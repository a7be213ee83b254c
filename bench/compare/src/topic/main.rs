//! Topics beside merkql, an embedded event log with a hash tree, and beside what the machine
//! can do at best.

mod batch;
mod data;
mod groups;
mod large;
mod memory;
mod ours;
mod peer;
mod proof;
mod published;
mod read;
mod send;
mod space;

use std::process::ExitCode;

use timestrata_bench::{Group, OPTIONS, Request, Result, child, suite};

const USAGE: &str = "usage: timestrata-bench-topic [topic | published] [OPTIONS]";

/// The word that asks for the rows of the peer's own report.
const PUBLISHED: &str = "published";

/// All groups, in the order of the report.
const GROUPS: [Group; 8] = [
    Group { name: "send", run: send::run },
    Group { name: "send-peer", run: send::run_peer },
    Group { name: "batch", run: batch::run },
    Group { name: "read", run: read::run },
    Group { name: "space", run: space::run },
    Group { name: "memory", run: memory::run },
    Group { name: "groups", run: groups::run },
    Group { name: "large", run: large::run },
];

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).peekable();
    let usage = format!("{USAGE}\n\n{OPTIONS}");
    let outcome = match arguments.next_if(|first| first == child::FLAG || first == PUBLISHED) {
        Some(word) if word == PUBLISHED => Request::read(arguments, &[], &usage)
            .and_then(|request| timestrata_bench::published::run("merkql", &published::GROUPS, request)),
        Some(_) => memory::play(arguments).map(|()| true),
        None => Request::read(arguments, &["all", "topic"], &usage)
            .and_then(|request| suite::run("topic", &GROUPS, request)),
    };
    suite::end("timestrata-bench-topic", outcome)
}

/// An error unless as many came as should have.
fn expect_count(what: &str, found: u64, wanted: u64) -> Result<()> {
    match found == wanted {
        true => Ok(()),
        false => Err(format!("{what}: {found} came, {wanted} were there").into()),
    }
}

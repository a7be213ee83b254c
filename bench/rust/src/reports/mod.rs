//! The rows of reports that other systems have published, where the model is measured from Rust.

mod dls;
mod kausaldb;
pub(crate) mod memory;
mod pulsora;

use timestrata_bench::{OPTIONS, Request, Result, published};

/// The word that asks for them.
pub(crate) const NAME: &str = "published";
const USAGE: &str = "usage: timestrata-bench published [OPTIONS]";

/// What ours is called.
const OURS: &str = "timestrata";
const FLOOR: &str = "write and fdatasync into a prepared file";

/// Measures all of them.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let usage = format!("{USAGE}\n{OPTIONS}");
    let request = || Request::read(arguments.iter().cloned(), &[], &usage);
    let graph = published::run("kausaldb", &kausaldb::GROUPS, request()?)?;
    let logs = published::run("dls", &dls::GROUPS, request()?)?;
    let table = published::run("pulsora", &pulsora::GROUPS, request()?)?;
    if graph && logs && table { Ok(()) } else { Err("some rows were not measured".into()) }
}

fn micros(seconds: f64) -> f64 {
    seconds * 1e6
}

/// How many a second, where one takes so long.
fn a_second(seconds: f64) -> f64 {
    1.0 / seconds
}

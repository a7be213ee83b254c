//! `timestrata mcp`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use timestrata_mcp::{McpOptions, init_logs};
use tokio::signal::unix::{SignalKind, signal};

use super::sql::{duration, size};
use crate::at::At;
use crate::faces::expect_directory;
use crate::failure::{Failure, Result};

/// Give agents read-only tools over a store, by the Model Context Protocol on stdin and stdout.
#[derive(Debug, Args)]
#[command(after_help = "\
A client starts this command itself: give it the command, 'mcp' and the store's directory. The tools are schema, \
sql, search, context, histogram, facets, read, verify, definition, callers, callees, show and path. The store may be \
written meanwhile: each call reads it as it is then. It ends when stdin does, or by a signal to terminate.

Examples:
  timestrata mcp ./store
  timestrata mcp ./store --at pin=monday
  timestrata mcp ./store --bytes 16KiB --timeout 10s")]
pub(crate) struct McpArgs {
    /// The store's directory.
    dir: PathBuf,
    #[command(flatten)]
    at: At,
    /// Rows, entries or records of an answer, at most.
    #[arg(long, value_name = "ROWS", default_value_t = 1_000)]
    limit: usize,
    /// What an answer lists takes so much at most; what is cut is told, with how to get it.
    #[arg(long, value_name = "SIZE", default_value = "32KiB", value_parser = size)]
    bytes: u64,
    /// How long a call may be worked on.
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = duration)]
    timeout: Duration,
    /// Memory that queries in SQL may use together; what is more is spilled to disk.
    #[arg(long, value_name = "SIZE", default_value = "512MiB", value_parser = size)]
    memory: u64,
}

pub(crate) fn run(arguments: &McpArgs) -> Result<()> {
    expect_directory(
        &arguments.dir,
        "give the directory: it may be read while a server has it open",
    )?;
    let _log = init_logs();
    let whole = |size: u64| usize::try_from(size).unwrap_or(usize::MAX);
    let options = McpOptions {
        at: arguments.at.moment(),
        items_max: arguments.limit,
        answer_bytes_max: whole(arguments.bytes),
        time_max: arguments.timeout,
        memory_bytes_max: whole(arguments.memory),
        ..McpOptions::new(&arguments.dir)
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_name("timestrata-mcp")
        .build()
        .map_err(|cause| Failure::plain(format!("could not start threads: {cause}")))?;
    let ended = runtime.block_on(serve(options));
    // One of them may wait for stdin, which need never end.
    runtime.shutdown_background();
    ended
}

async fn serve(options: McpOptions) -> Result<()> {
    let deaf = |cause| Failure::plain(format!("can't hear signals: {cause}"));
    let mut terminated = signal(SignalKind::terminate()).map_err(deaf)?;
    let mut interrupted = signal(SignalKind::interrupt()).map_err(deaf)?;
    let stop = async move {
        tokio::select! {
            _ = terminated.recv() => {}
            _ = interrupted.recv() => {}
        }
    };
    Ok(timestrata_mcp::serve(options, stop).await?)
}

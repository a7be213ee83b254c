//! A store as tools for agents, over the Model Context Protocol: read-only, within bounds, on stdin and stdout.
//!
//! A call works on the store as it is when the call comes, beside whoever writes to it meanwhile. Each answer
//! is structured content of the shape that the tool's output schema says, and the same as text; what had no
//! room is told in its `cut`, with how to get it. What went wrong is an answer too, for the agent to read.
//!
//! Invariant: nothing is written, neither to the store nor to stdout besides the protocol.
#![forbid(unsafe_code)]

mod asked;
mod call;
mod cells;
mod entries;
mod failure;
mod room;
mod server;
mod source;
mod tool;
mod tools;

pub use server::{McpOptions, init_logs, serve};

//! Every endpoint, through a real client over a real socket.

mod answers;
mod bad_input;
mod forms;
mod guards;
mod harness;
mod ingest;

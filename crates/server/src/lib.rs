//! A store over HTTP: `timestrata serve`.
//!
//! Bodies come in by streams and answers go out by streams; what the engine may wait for is done
//! on threads of its own, so that no request holds up another. An acknowledged write has been
//! synced; requests that write at once share syncs. The server listens on loopback unless told
//! otherwise, and then asks for a token. Beside HTTP it may speak the line protocol of logs, on a port
//! of that protocol's own.
//!
//! [`Server::bind`] takes an open store and a [`Config`]; [`Server::run`] serves until told to
//! stop, lets requests end, and closes the store.
#![forbid(unsafe_code)]

mod answer;
mod auth;
mod body;
mod caller;
mod checkpoints;
pub mod config;
mod connections;
mod content_type;
mod cors;
mod drain;
mod endpoint;
mod entries;
mod error;
mod fault;
mod guarded_body;
mod hosts;
mod json_lines;
mod layers;
mod log_tcp;
mod making_tables;
mod members;
mod metrics;
mod moments;
mod query_task;
mod request_id;
mod retry;
mod routes;
mod search_limits;
mod serve;
mod shared_sync;
mod small_file;
mod state;
mod tls;
mod topic_handles;
mod under_watch;
mod unpack;
mod utf8;
mod waiting;
mod write_timeout;

pub use auth::{Listed, NewToken, Right, Scope, Secret, Token, TokenFolder};
pub use config::Config;
pub use routes::commit_as_json;
pub use serve::{Server, init_logs};

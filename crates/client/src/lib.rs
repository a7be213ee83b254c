//! A client of a server: requests over HTTP whose answers are read as they come, for programs that may wait.
//!
//! [`Server`] is a server's address with what it is asked by; [`Request`] one request; what the server refuses comes
//! back as the same [`Error`](timestrata_engine::Error) that the store would give in this process. An answer of rows
//! is never held whole. Whoever has had enough says so by [`ServerOptions::is_wanted`]: the connection is closed, and
//! with it the server gives up what it was working on.
//!
//! ```no_run
//! use timestrata_client::{Server, ServerOptions};
//!
//! # fn main() -> timestrata_engine::Result<()> {
//! let server = Server::new("http://127.0.0.1:8080", &ServerOptions::default())?;
//! let rows = server.sql("SELECT count(*) FROM trades", None, None)?;
//! for batch in rows {
//!     println!("{} rows", batch?.num_rows());
//! }
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod answer;
mod logs;
mod problem;
mod request;
mod server;
mod transport;
mod witness;

pub use answer::{Lines, ReceivedRows};
pub use logs::ReceivedEntries;
pub use request::Request;
pub use server::{Server, ServerOptions, is_url};

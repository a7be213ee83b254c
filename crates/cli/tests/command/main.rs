//! The real `timestrata`, run on directories of its own.

#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

mod at;
mod graphs;
mod home;
mod ingest;
mod logs;
mod logs_clock;
mod logs_follow;
mod logs_ingest;
mod logs_real_data;
mod logs_tail;
mod logs_verbs;
mod maintain;
mod mcp;
mod query;
mod real_data;
mod refusals;
mod remote;
mod runner;
mod secrets;
mod seen;
mod serve;
mod sql;
mod tables;
mod tailing;
mod timelogs;
mod tls;
mod tokens;
mod topics;
mod words;

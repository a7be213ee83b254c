//! `timestrata mcp`, spoken to over its stdin and stdout as clients do it.

mod answers;
mod bounds;
mod client;
mod ending;
mod hostile;

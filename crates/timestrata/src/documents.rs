//! The documents whose Rust is run by `cargo test --doc`: nothing of this is in what users build.

#[doc = include_str!("../../../docs/reference/rust.md")]
struct Reference;

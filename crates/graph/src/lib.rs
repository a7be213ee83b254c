//! Graphs: versioned blocks and typed edges between them.
//!
//! A graph is a stream of its own name, which holds its blocks by id, the latest version of each, and
//! two streams of edges: by source, kind and target, and the other way round. One commit changes all
//! of them, so both directions always agree. Where earlier versions of blocks are kept, a fourth
//! stream has them.
//!
//! Invariant: an edge is in both streams or in neither; a block that is deleted takes its edges with it.
//!
//! ```
//! use timestrata_engine::{Durability, Settings, Store};
//! use timestrata_graph::{Direction, Edge, Graph, GraphChanges, GraphOptions, NewBlock};
//!
//! # fn main() -> timestrata_engine::Result<()> {
//! let store = Store::memory(Settings::default())?;
//! let code = Graph::create(&store, "code", &GraphOptions::default())?;
//! let main = NewBlock { is_text: true, content: b"fn main() { run() }", ..NewBlock::default() };
//! let run = NewBlock { is_text: true, content: b"fn run() {}", ..NewBlock::default() };
//! let (main_id, run_id) = (main.id(), run.id());
//! let changes = GraphChanges::new().put(main).put(run).link(Edge::new(main_id, "calls", run_id));
//! code.change(&changes, Durability::Written)?;
//!
//! let view = code.view()?;
//! let callers = view.edges(run_id, Direction::In, &["calls"])?;
//! assert_eq!(callers[0].key.source, main_id);
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

pub mod adjacency;
mod alone;
mod between;
mod block;
mod cache;
mod change_lines;
mod changes;
mod columns;
mod commit_part;
mod edge;
mod edge_list;
mod handle;
mod hashed;
mod in_memory;
mod json;
mod kinds;
mod latest;
mod lines;
mod loading;
mod nearby;
mod options;
mod ordered;
mod put;
mod read;
mod resident;
mod staged;
mod view;
pub mod walk;
mod walks;

pub use adjacency::{BlockId, Direction};
pub use between::lines_between;
pub use block::{Block, NewBlock, id_of_content};
pub use change_lines::ChangeLines;
pub use changes::{Changed, GraphChanges, Unlinked};
pub use columns::{BlockColumns, add_edges};
pub use commit_part::GraphWrite;
pub use edge::{Edge, EdgeKey, KIND_BYTES_MAX};
pub use edge_list::{EdgeList, ImportedEdges};
pub use handle::Graph;
pub use lines::{block_line, block_line_without_content, edge_line};
pub use options::{GraphOptions, GraphPart, KEEP_VERSIONS_MAX};
pub use view::{Find, GraphView};
pub use walks::{Along, Neighbors, Reached, Route, Routed, Walked};

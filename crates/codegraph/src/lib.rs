//! Code graphs: what source files define, import and call, and how the files of a tree refer to each
//! other.
//!
//! It goes in two steps. [`extract`] reads one file and gives its [`Facts`]: they depend on nothing
//! but its bytes, so they can be kept by the hash of these and used again. [`resolve`] takes the
//! facts of all files of a tree and gives its graph; it is fast enough to run whole after each
//! change, so what comes out never depends on what was there before.
//!
//! Nothing here reads a file: [`sources`] lists those of a folder, and the caller brings their bytes.
//! Sources are input of strangers: they give facts or an [`Unparsed`], never a panic.
//!
//! ```
//! use timestrata_codegraph::{EdgeKind, Language, extract, resolve};
//!
//! let shape = extract(Language::Python, b"class Shape:\n    def area(self): ...\n")?;
//! let main = extract(Language::Python, b"from shape import Shape\ndef main(): Shape()\n")?;
//! let graph = resolve(&[("main.py", &main), ("shape.py", &shape)]);
//! let call = graph.edges.iter().find(|edge| edge.kind == EdgeKind::Calls).unwrap();
//! assert_eq!(graph.node(call.source).unwrap().key, "main.py::main");
//! assert_eq!(graph.node(call.target).unwrap().key, "shape.py::Shape");
//! # Ok::<(), timestrata_codegraph::Unparsed>(())
//! ```
#![forbid(unsafe_code)]

mod extract;
mod facts;
mod language;
mod resolve;
mod sources;
mod unparsed;

pub use extract::{ExtractOptions, extract, extract_with};
pub use facts::{
    Binding, BindingKind, FACTS_VERSION, Facts, Import, Name, Position, Reference, ReferenceKind,
    Span, Symbol, SymbolKind,
};
pub use language::Language;
pub use resolve::{Confidence, Edge, EdgeKind, Node, NodeKind, Resolved, Unresolved, resolve};
pub use sources::{Source, SourceError, SourceOptions, Sources, sources};
pub use unparsed::{Reason, Unparsed};

//! Options of a graph, and how they are kept in the properties of its streams.

use timestrata_engine::{Error, ErrorKind, Result, Stream};
use timestrata_values::name::MODEL_PROPERTY;

const MODEL: &str = "graph";
const PART_MODEL: &str = "graph-part";
const PART_PROPERTY: &str = "graph.part";
const VERSIONS_PROPERTY: &str = "graph.keep_versions";

/// Versions of a block that may be kept at most.
pub const KEEP_VERSIONS_MAX: u32 = 10_000;

/// What a graph is made as.
///
/// ```
/// use timestrata_engine::{Settings, Store};
/// use timestrata_graph::{Graph, GraphOptions};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// let options = GraphOptions { keep_versions: 3 };
/// let code = Graph::create(&store, "code", &options)?;
/// assert_eq!(code.options(), options);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GraphOptions {
    /// How many versions of a block stay readable, the latest among them: 1 to
    /// [`KEEP_VERSIONS_MAX`]. Default: 1.
    pub keep_versions: u32,
}

impl Default for GraphOptions {
    fn default() -> Self {
        Self { keep_versions: 1 }
    }
}

/// What a stream is to its graph.
///
/// ```
/// use timestrata_engine::{Settings, Store};
/// use timestrata_graph::{Graph, GraphOptions, GraphPart};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// Graph::create(&store, "code", &GraphOptions::default())?;
/// let edges = store.expect_stream(&GraphPart::EdgesOut.stream_name("code"))?;
/// assert_eq!(GraphPart::of(&edges), Some(GraphPart::EdgesOut));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GraphPart {
    /// The graph's own, which has its name: the latest version of each block.
    Blocks,
    /// Edges by source.
    EdgesOut,
    /// Edges by target.
    EdgesIn,
    /// Earlier versions of blocks.
    Versions,
}

impl GraphPart {
    /// All but the graph's own.
    pub(super) const BELOW: [Self; 3] = [Self::EdgesOut, Self::EdgesIn, Self::Versions];

    /// What a stream is; `None` if it is no graph's.
    #[must_use]
    pub fn of(stream: &Stream) -> Option<Self> {
        match stream.property(MODEL_PROPERTY)? {
            MODEL => Some(Self::Blocks),
            PART_MODEL => {
                let part = stream.property(PART_PROPERTY)?;
                Self::BELOW.into_iter().find(|below| below.word() == part)
            }
            _ => None,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Blocks => "blocks",
            Self::EdgesOut => "edges",
            Self::EdgesIn => "edges-in",
            Self::Versions => "versions",
        }
    }

    /// The name of a graph's stream.
    #[must_use]
    pub fn stream_name(self, graph: &str) -> String {
        match self {
            Self::Blocks => graph.to_owned(),
            below => format!("{graph}/{}", below.word()),
        }
    }

    /// The properties of a stream below a graph's own.
    pub(super) fn properties(self) -> Vec<(String, String)> {
        vec![
            (MODEL_PROPERTY.to_owned(), PART_MODEL.to_owned()),
            (PART_PROPERTY.to_owned(), self.word().to_owned()),
        ]
    }
}

impl GraphOptions {
    /// # Errors
    /// `InvalidArgument` for a number that makes no sense.
    pub(super) fn check(&self, graph: &str) -> Result<()> {
        if (1..=KEEP_VERSIONS_MAX).contains(&self.keep_versions) {
            return Ok(());
        }
        let message = format!(
            "graph '{graph}': keep_versions is {}; 1 to {KEEP_VERSIONS_MAX} can be",
            self.keep_versions
        );
        Err(Error::new(ErrorKind::InvalidArgument, message))
    }

    /// The properties of a graph's own stream.
    pub(super) fn properties(&self) -> Vec<(String, String)> {
        vec![
            (MODEL_PROPERTY.to_owned(), MODEL.to_owned()),
            (VERSIONS_PROPERTY.to_owned(), self.keep_versions.to_string()),
        ]
    }

    /// What a graph was made as.
    ///
    /// # Errors
    /// `InvalidArgument` if the stream is no graph.
    pub(super) fn of(stream: &Stream) -> Result<Self> {
        let wrong = |what: String| Err(Error::new(ErrorKind::InvalidArgument, what));
        if GraphPart::of(stream) != Some(GraphPart::Blocks) {
            return wrong(format!("'{}' is not a graph", stream.name()));
        }
        let text = stream.property(VERSIONS_PROPERTY).unwrap_or("1");
        match text.parse() {
            Ok(keep_versions) => Ok(Self { keep_versions }),
            Err(_) => wrong(format!(
                "graph '{}': property '{VERSIONS_PROPERTY}' is {text:?}",
                stream.name()
            )),
        }
    }
}

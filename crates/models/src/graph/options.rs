//! What a graph is made as, which its own stream remembers.

use timestrata_engine::{Error, ErrorKind, Result, Stream};

const MODEL_PROPERTY: &str = "model";
const MODEL: &str = "graph";
const PART_MODEL: &str = "graph.part";
const VERSIONS_PROPERTY: &str = "graph.keep_versions";

/// Versions of a block that may be kept at most.
pub const KEEP_VERSIONS_MAX: u32 = 10_000;

/// What a graph is made as.
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

fn find<'a>(stream: &'a Stream, name: &str) -> Option<&'a str> {
    let mut properties = stream.spec().properties.iter();
    properties.find(|(key, _)| key == name).map(|(_, value)| value.as_str())
}

/// Whether a stream is a graph's own: that of its blocks, which has its name.
#[must_use]
pub fn is_graph(stream: &Stream) -> bool {
    find(stream, MODEL_PROPERTY) == Some(MODEL)
}

/// Whether a stream is one below a graph's own.
pub(super) fn is_part(stream: &Stream) -> bool {
    find(stream, MODEL_PROPERTY) == Some(PART_MODEL)
}

/// Words of the streams below a graph's own.
pub(super) fn part_properties() -> Vec<(String, String)> {
    vec![(MODEL_PROPERTY.to_owned(), PART_MODEL.to_owned())]
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
        if !is_graph(stream) {
            return wrong(format!("'{}' is not a graph", stream.name()));
        }
        let text = find(stream, VERSIONS_PROPERTY).unwrap_or("1");
        match text.parse() {
            Ok(keep_versions) => Ok(Self { keep_versions }),
            Err(_) => wrong(format!(
                "graph '{}': property '{VERSIONS_PROPERTY}' is {text:?}",
                stream.name()
            )),
        }
    }
}

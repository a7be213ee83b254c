//! The handle of a graph: creating, opening and removing one.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use arrow_schema::SchemaRef;
use timestrata_engine::{
    GroupAppender, Merge, Result, RowAppender, Store, Stream, StreamId, StreamSpec,
};
use timestrata_io::sync::Mutex;
use timestrata_values::name;

use super::block;
use super::cache::BlockCache;
use super::edge::EdgeSide;
use super::kinds::KnownKinds;
use super::latest::LatestVersions;
use super::options::{GraphOptions, GraphPart};
use super::resident::Resident;
use super::walk::ScratchPool;

/// The graphs of an open store that are in use.
#[derive(Debug, Default)]
pub(super) struct Graphs {
    by_stream: Mutex<HashMap<StreamId, Arc<SharedGraph>>>,
    /// Held while a graph is made or removed, which are several steps.
    changing: Mutex<()>,
}

/// What all handles of a graph share.
#[derive(Debug)]
pub(super) struct SharedGraph {
    pub(super) name: String,
    pub(super) options: GraphOptions,
    pub(super) blocks: StreamId,
    pub(super) edges_out: StreamId,
    pub(super) edges_in: StreamId,
    /// Earlier versions of blocks, where some are kept.
    pub(super) versions: Option<StreamId>,
    /// Held by who writes, from looking at what is there until it is changed, and for a moment by who
    /// begins to read: so what is in memory is what a snapshot has.
    pub(super) resident: Mutex<Resident>,
    /// Versions of all blocks, once somebody puts many one by one. Taken behind `resident`.
    pub(super) latest: Mutex<LatestVersions>,
    /// Blocks that were read lately.
    pub(super) read_blocks: BlockCache,
    /// Taken behind `resident`.
    pub(super) kinds: Mutex<KnownKinds>,
    /// What walks use again.
    pub(super) scratch: ScratchPool,
    /// Held by who reads all edges.
    pub(super) loading: Mutex<()>,
    /// Blocks whose edges were read one by one, while not all were in memory.
    pub(super) blocks_near: AtomicUsize,
}

impl SharedGraph {
    /// All that it is kept in: a view of these costs nothing for what else the store has.
    pub(super) fn all_streams(&self) -> Vec<StreamId> {
        let always = [self.blocks, self.edges_out, self.edges_in];
        always.into_iter().chain(self.versions).collect()
    }
}

/// A graph of an open store. Cheap to clone; clones are the same graph, and may be used from several
/// threads.
///
/// ```
/// use timestrata_engine::{Durability, Settings, Store};
/// use timestrata_graph::{Edge, Graph, GraphChanges, GraphOptions, NewBlock};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// let code = Graph::create(&store, "code", &GraphOptions::default())?;
/// let main = NewBlock { is_text: true, content: b"fn main() {}", ..NewBlock::default() };
/// let changed = code.change(&GraphChanges::new().put(main), Durability::Written)?;
/// assert_eq!(changed.put, [(main.id(), 1)]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Graph {
    pub(super) store: Store,
    pub(super) shared: Arc<SharedGraph>,
    /// Of the blocks. It holds the store open, as this handle does.
    pub(super) appender: Arc<Mutex<Option<RowAppender>>>,
    /// Of the edges in both directions, and the blocks.
    pub(super) group: Arc<Mutex<Option<GroupAppender>>>,
}

impl Graph {
    /// Opens a graph that exists.
    ///
    /// # Errors
    /// `NotFound` if the store has no graph of that name, `InvalidArgument` if the name is another
    /// kind of stream's or can't be a graph's.
    pub fn open(store: &Store, name: &str) -> Result<Self> {
        Self::of_stream(store, &name::stream(store, "graph", name)?)
    }

    /// Creates a graph, or opens the one that exists with the same options.
    ///
    /// # Errors
    /// `AlreadyExists` if it exists with others, `InvalidArgument` for a name or options that can't
    /// be, `ReadOnly` if it would have to be made in a store opened for reading.
    pub fn create(store: &Store, name: &str, options: &GraphOptions) -> Result<Self> {
        name::check("graph", name)?;
        options.check(name)?;
        let graphs = store.model_state::<Graphs>();
        let _changing = graphs.changing.lock();
        if let Some(stream) = store.stream(name) {
            name::expect_same("graph", name, &GraphOptions::of(&stream)?, options)?;
            name::acknowledge_existing(store, name)?;
            return Self::of_stream(store, &stream);
        }
        // What a crash left of one that was being removed has its edges.
        drop_parts(store, name)?;
        let mut specs = vec![
            part_spec(name, GraphPart::EdgesOut, EdgeSide::Out.schema(), &EdgeSide::Out.key()),
            part_spec(name, GraphPart::EdgesIn, EdgeSide::In.schema(), &EdgeSide::In.key()),
        ];
        if options.keep_versions > 1 {
            specs.push(part_spec(name, GraphPart::Versions, block::schema(), &["id", "version"]));
        }
        specs.push(StreamSpec {
            merge: Merge::Latest,
            properties: options.properties(),
            ..StreamSpec::new(name, block::schema())
        });
        store.create_streams(&specs)?;
        Self::of_stream(store, &store.expect_stream(name)?)
    }

    fn of_stream(store: &Store, stream: &Arc<Stream>) -> Result<Self> {
        let options = GraphOptions::of(stream)?;
        let graphs = store.model_state::<Graphs>();
        let mut by_stream = graphs.by_stream.lock();
        let of_shared = |shared| {
            let store = store.clone();
            Self { store, shared, appender: Arc::default(), group: Arc::default() }
        };
        if let Some(shared) = by_stream.get(&stream.id()) {
            return Ok(of_shared(Arc::clone(shared)));
        }
        let name = stream.name();
        // What an older snapshot has, such as a pin's, may be other than what there is from now on.
        let opened_at = store.snapshot()?.seq();
        let part = |part: GraphPart| Ok(store.expect_stream(&part.stream_name(name))?.id());
        let shared = Arc::new(SharedGraph {
            name: name.to_owned(),
            options,
            blocks: stream.id(),
            edges_out: part(GraphPart::EdgesOut)?,
            edges_in: part(GraphPart::EdgesIn)?,
            versions: match options.keep_versions {
                0..=1 => None,
                _ => Some(part(GraphPart::Versions)?),
            },
            resident: Mutex::new(Resident::new(opened_at)),
            latest: Mutex::default(),
            read_blocks: BlockCache::new(opened_at),
            kinds: Mutex::default(),
            scratch: ScratchPool::default(),
            loading: Mutex::default(),
            blocks_near: AtomicUsize::new(0),
        });
        // Those of a commit that was not made are removed by nobody.
        by_stream.retain(|known, _| store.stream_of(*known).is_ok());
        by_stream.insert(stream.id(), Arc::clone(&shared));
        Ok(of_shared(shared))
    }

    /// Removes a graph with all that it holds, durably.
    ///
    /// # Errors
    /// `NotFound` if there is none, `InvalidArgument` if the name is another kind of stream's.
    pub fn drop(store: &Store, name: &str) -> Result<()> {
        let graphs = store.model_state::<Graphs>();
        let _changing = graphs.changing.lock();
        let stream = name::stream(store, "graph", name)?;
        GraphOptions::of(&stream)?;
        remove(store, &graphs, &stream)
    }

    /// Removes this graph, and never one that was made later under its name.
    ///
    /// # Errors
    /// `NotFound` if it was removed before.
    pub fn remove(&self) -> Result<()> {
        let graphs = self.store.model_state::<Graphs>();
        let _changing = graphs.changing.lock();
        let stream = name::still_there(&self.store, "graph", self.name(), self.shared.blocks)?;
        remove(&self.store, &graphs, &stream)
    }

    /// Names of all graphs of a store, in order.
    #[must_use]
    pub fn names(store: &Store) -> Vec<String> {
        name::all(store, |stream| GraphPart::of(stream) == Some(GraphPart::Blocks))
    }

    /// The stream that has its name.
    #[must_use]
    pub fn stream_id(&self) -> StreamId {
        self.shared.blocks
    }

    /// The graph's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// The store it is in.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// What it was made as.
    #[must_use]
    pub fn options(&self) -> GraphOptions {
        self.shared.options
    }
}

fn remove(store: &Store, graphs: &Graphs, stream: &Stream) -> Result<()> {
    // Its own stream first: without it the others are nobody's, and a crash leaves no half.
    store.drop_stream(stream.name())?;
    graphs.by_stream.lock().remove(&stream.id());
    drop_parts(store, stream.name())
}

fn part_spec(graph: &str, part: GraphPart, schema: SchemaRef, key: &[&str]) -> StreamSpec {
    StreamSpec {
        merge: Merge::Latest,
        key: key.iter().map(|column| (*column).to_owned()).collect(),
        properties: part.properties(),
        ..StreamSpec::new(part.stream_name(graph), schema)
    }
}

/// Removes the streams below a graph's own.
fn drop_parts(store: &Store, name: &str) -> Result<()> {
    for part in GraphPart::BELOW {
        let stream = store.stream(&part.stream_name(name));
        if let Some(stream) = stream.filter(|stream| GraphPart::of(stream) == Some(part)) {
            store.drop_stream(stream.name())?;
        }
    }
    Ok(())
}

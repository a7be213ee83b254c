//! Decoded columns of cold runs, and what is known of their pages, kept in memory up to a number of bytes.

use std::any::Any;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::{Array, ArrayRef};
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};
use timestrata_format::RunId;

/// A decoded column of one block is about this, which sizes the cache's tables: those of columns that were let go of lately too.
const COLUMN_BYTES_TYPICAL: u64 = 64 << 10;
/// The part that is for what was asked for again. The rest is for what comes: with as little as is usual, another query over as
/// many rows never gets in.
const FOR_WHAT_COMES_BACK: f64 = 0.5;
/// Few, because an entry larger than its shard is not kept.
const SHARDS: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct BlockColumn {
    run: RunId,
    block: u32,
    /// The first row of some of a block's rows, as they are stored; `None`: all of them.
    first_row: Option<u32>,
    column: u32,
    form: Form,
}

/// What a column is kept of: a block of a run, or some of its rows, as they are stored.
#[derive(Debug, Clone, Copy)]
pub(super) struct KeptRows {
    run: RunId,
    block: usize,
    first_row: Option<usize>,
}

impl KeptRows {
    /// All rows of a block.
    pub(super) fn all(run: RunId, block: usize) -> Self {
        Self { run, block, first_row: None }
    }

    /// Some of so many rows. How many they are is the column's length.
    pub(super) fn of(run: RunId, block: usize, rows: &Range<usize>, all: usize) -> Self {
        Self { run, block, first_row: (rows.len() < all).then_some(rows.start) }
    }

    fn place(self, column: usize, form: Form) -> Option<BlockColumn> {
        let Self { run, block, first_row } = self;
        let first_row = first_row.map(u32::try_from).transpose().ok()?;
        let (block, column) = (block.try_into().ok()?, column.try_into().ok()?);
        Some(BlockColumn { run, block, first_row, column, form })
    }
}

/// What a column is decoded to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Form {
    /// The file's own type.
    Stored,
    /// Views of its text.
    Views,
    /// Codes of its text, and the dictionary.
    Codes,
    /// Its numbers as they are stored, in 32 bits.
    Narrow,
    /// Of the column of places: for each row in the order of the key where it lies.
    ByKey,
    /// No column: what is known of the pages of all of them.
    Pages,
    /// What its pages' values lie between,
    Bounds,
    /// and as views of its text.
    ViewedBounds,
    /// What the rows of all blocks come to.
    Aggregates,
    /// The values that codes of several blocks stand for, as the file has them.
    Dictionary,
}

#[derive(Debug, Clone)]
enum Kept {
    Column(ArrayRef),
    /// What is known of pages.
    Known {
        known: Arc<dyn Any + Send + Sync>,
        bytes: usize,
    },
}

#[derive(Debug, Clone)]
struct Bytes;

impl Weighter<BlockColumn, Kept> for Bytes {
    fn weight(&self, _: &BlockColumn, kept: &Kept) -> u64 {
        let bytes = match kept {
            Kept::Column(column) => column.get_array_memory_size(),
            Kept::Known { bytes, .. } => *bytes,
        };
        // Zero would mean: never evict.
        bytes.max(1) as u64
    }
}

/// The decoded-block cache of a store: one for all of its runs.
#[derive(Debug)]
pub(crate) struct BlockCache {
    kept: Cache<BlockColumn, Kept, Bytes>,
    hits: AtomicU64,
    misses: AtomicU64,
}

/// Figures of a store's cache of decoded blocks, since it was opened.
///
/// ```
/// # use timestrata_engine::*;
/// # fn main() -> timestrata_engine::Result<()> {
/// let store = Store::memory(Settings { cache_bytes_max: 1 << 20, ..Settings::default() })?;
/// let cache = store.stats().cache;
/// assert_eq!((cache.hits, cache.misses, cache.bytes_max), (0, 0, 1 << 20));
/// assert_eq!(cache.hit_rate(), None);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CacheStats {
    /// Questions for a column of a block, or for what is known of its pages, that the cache answered.
    pub hits: u64,
    /// Those that it did not. One read of a column may ask for several forms of it.
    pub misses: u64,
    /// Bytes that it holds now.
    pub bytes: u64,
    /// How many it may hold.
    pub bytes_max: u64,
}

impl CacheStats {
    /// The share of questions that were answered; `None` where there were none.
    pub fn hit_rate(&self) -> Option<f64> {
        let all = self.hits + self.misses;
        (all > 0).then(|| self.hits as f64 / all as f64)
    }
}

impl BlockCache {
    /// A cache of at most `bytes_max`.
    pub(crate) fn new(bytes_max: u64) -> Self {
        let items = (bytes_max / COLUMN_BYTES_TYPICAL).clamp(16, 1 << 20) as usize;
        let mut options = OptionsBuilder::new();
        options.shards(SHARDS).estimated_items_capacity(items).weight_capacity(bytes_max);
        options.hot_allocation(FOR_WHAT_COMES_BACK);
        #[expect(clippy::expect_used, reason = "both capacities are set above")]
        let options = options.build().expect("both capacities are set");
        let kept = Cache::with_options(
            options,
            Bytes,
            DefaultHashBuilder::default(),
            DefaultLifecycle::default(),
        );
        Self { kept, hits: AtomicU64::new(0), misses: AtomicU64::new(0) }
    }

    /// How many bytes it may hold.
    pub(super) fn bytes_max(&self) -> u64 {
        self.kept.capacity()
    }

    /// Bytes held now.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> u64 {
        self.kept.weight()
    }

    /// Figures now.
    pub(crate) fn stats(&self) -> CacheStats {
        CacheStats {
            hits: self.hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
            bytes: self.kept.weight(),
            bytes_max: self.bytes_max(),
        }
    }

    /// What is kept at a place, and counts whether anything is.
    fn look_up(&self, place: &BlockColumn) -> Option<Kept> {
        let kept = self.kept.get(place);
        let counter = if kept.is_some() { &self.hits } else { &self.misses };
        counter.fetch_add(1, Ordering::Relaxed);
        kept
    }

    /// Forgets all of a run, once its file is gone.
    pub(crate) fn forget(&self, run: RunId) {
        self.kept.retain(|place, _| place.run != run);
    }

    pub(super) fn get(&self, rows: KeptRows, column: usize, form: Form) -> Option<ArrayRef> {
        match self.look_up(&rows.place(column, form)?)? {
            Kept::Column(column) => Some(column),
            Kept::Known { .. } => None,
        }
    }

    pub(super) fn insert(&self, rows: KeptRows, column: usize, form: Form, array: ArrayRef) {
        if let Some(place) = rows.place(column, form) {
            self.kept.insert(place, Kept::Column(array));
        }
    }

    /// What is known of pages: of all of a block, or of a column's.
    pub(super) fn known<T: Any + Send + Sync>(
        &self,
        rows: KeptRows,
        column: usize,
        form: Form,
    ) -> Option<Arc<T>> {
        match self.look_up(&rows.place(column, form)?)? {
            Kept::Known { known, .. } => known.downcast().ok(),
            Kept::Column(_) => None,
        }
    }

    /// Keeps what is known of pages, which takes so many bytes.
    pub(super) fn insert_known<T: Any + Send + Sync>(
        &self,
        rows: KeptRows,
        (column, form): (usize, Form),
        known: Arc<T>,
        bytes: usize,
    ) {
        if let Some(place) = rows.place(column, form) {
            self.kept.insert(place, Kept::Known { known, bytes });
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::Int64Array;

    use super::*;

    #[test]
    fn the_cache_stays_within_its_bytes() {
        let cache = BlockCache::new(1 << 20);
        for block in 0..1000 {
            let column = Arc::new(Int64Array::from(vec![block as i64; 1024]));
            cache.insert(KeptRows::all(RunId(1), block), 0, Form::Stored, column);
            assert!(cache.bytes() <= 1 << 20);
        }
        assert!(cache.bytes() > 1 << 19);
        cache.forget(RunId(1));
        assert_eq!(cache.bytes(), 0);
        let block = KeptRows::all(RunId(1), 0);
        cache.insert_known(block, (0, Form::Pages), Arc::new("known"), 1 << 10);
        assert_eq!(cache.bytes(), 1 << 10);
        assert_eq!(cache.known(block, 0, Form::Pages), Some(Arc::new("known")));
        assert_eq!(cache.known::<&str>(block, 0, Form::Bounds), None);
        assert!(cache.get(block, 0, Form::Stored).is_none());
    }

    #[test]
    fn what_the_cache_is_asked_for_is_counted() {
        let cache = BlockCache::new(1 << 20);
        let block = KeptRows::all(RunId(1), 0);
        assert!(cache.get(block, 0, Form::Stored).is_none());
        cache.insert(block, 0, Form::Stored, Arc::new(Int64Array::from(vec![1; 1024])));
        assert!(cache.get(block, 0, Form::Stored).is_some());
        assert!(cache.get(block, 0, Form::Stored).is_some());
        let stats = cache.stats();
        assert_eq!((stats.hits, stats.misses), (2, 1));
        assert!(stats.bytes >= 8 * 1024 && stats.bytes_max >= 1 << 20, "{stats:?}");
        assert_eq!(stats.hit_rate(), Some(2.0 / 3.0));
    }

    #[test]
    fn a_cache_of_no_bytes_keeps_nothing() {
        let cache = BlockCache::new(0);
        cache.insert(
            KeptRows::all(RunId(1), 0),
            0,
            Form::Stored,
            Arc::new(Int64Array::from(vec![1])),
        );
        assert!(cache.get(KeptRows::all(RunId(1), 0), 0, Form::Stored).is_none());
    }
}

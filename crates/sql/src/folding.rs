//! Bringing materialised views up to date.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch, UInt64Array};
use futures::StreamExt;
use timestrata_engine::{Durability, Error, ErrorKind, Result, Store, Stream};
use timestrata_table::{FoldLock, materialized_from, place_of, view_query};
use tokio::runtime::Handle;

use crate::error::from_datafusion;
use crate::execution::Execution;
use crate::materialized::{Definition, Follower, Gathering, Place, Unfolded, renewed, unfit};
use crate::result::QueryResult;
use crate::shared::SharedSession;

/// How often it is looked for changes.
const EVERY: Duration = Duration::from_millis(100);

/// Whether a store keeps the changes that views are kept up to date from.
///
/// # Errors
/// `InvalidArgument`, with what to do.
pub(crate) fn check_followed(store: &Store) -> Result<()> {
    match store.changes_since(store.snapshot()?.seq()) {
        Ok(_) => Ok(()),
        Err(error)
            if matches!(error.kind(), ErrorKind::HistoryLost | ErrorKind::InvalidArgument) =>
        {
            let message = "a materialised view is kept up to date from changes, which this store does not keep: open it on disk, with the \
                           setting history_min, as '10m'";
            Err(Error::new(ErrorKind::InvalidArgument, message).caused_by(error))
        }
        Err(error) => Err(error),
    }
}

fn views(store: &Store) -> Vec<Arc<Stream>> {
    let mut streams = store.streams();
    streams.retain(|stream| materialized_from(stream).is_some());
    streams
}

/// Has the views of a store kept up to date by a thread of it, as long as the session is there; if there are any.
///
/// # Errors
/// `Io` if there can be no more threads.
pub(crate) fn begin(shared: &Arc<SharedSession>) -> Result<()> {
    let store = &shared.store;
    if !store.has_threads() || views(store).is_empty() {
        return Ok(());
    }
    if shared.folding.has_begun.swap(true, Ordering::SeqCst) {
        return Ok(());
    }
    let shared = Arc::downgrade(shared);
    store.every("views", EVERY, move |_| match shared.upgrade() {
        // What fails is tried again with the next change, and whoever reads the view meets it.
        Some(shared) => fold_all(&shared),
        None => Ok(()),
    })
}

/// Folds all views of a store, as far as it has come.
pub(crate) fn fold_all(shared: &Arc<SharedSession>) -> Result<()> {
    let last = shared.store.snapshot()?.seq();
    if *shared.folding.seen.lock() >= last {
        return Ok(());
    }
    let runtime = shared.runtime()?.handle().clone();
    let mut done = Ok(());
    for view in views(&shared.store) {
        done = done.and(fold(shared, &runtime, view.name()));
    }
    if done.is_ok() {
        *shared.folding.seen.lock() = last;
    }
    done
}

/// Folds one view, as far as the store has come. To be called on a thread that may block.
pub(crate) fn fold(shared: &Arc<SharedSession>, runtime: &Handle, name: &str) -> Result<()> {
    let alone = shared.store.model_state::<FoldLock>();
    let _alone = alone.0.lock();
    let Some(view) = shared.store.stream(name) else { return Ok(()) };
    let follower = shared.folding.followers.lock().remove(&view.id());
    // What was gathered goes where folding fails: the next one begins at the place that is in the view.
    let follower = Fold { shared, runtime, view: Arc::clone(&view) }.run(follower)?;
    if let Some(follower) = follower {
        shared.folding.followers.lock().insert(view.id(), follower);
    }
    Ok(())
}

struct Fold<'a> {
    shared: &'a Arc<SharedSession>,
    runtime: &'a Handle,
    view: Arc<Stream>,
}

impl Fold<'_> {
    fn run(&self, follower: Option<Follower>) -> Result<Option<Follower>> {
        let store = &self.shared.store;
        let Some(query) = view_query(&self.view) else { return Ok(None) };
        let snapshot = store.snapshot()?;
        let through = snapshot.seq();
        let execution = Execution {
            shared: Arc::clone(self.shared),
            snapshot: Some(snapshot.clone()),
            query: None,
            local: Arc::new([]),
        };
        let planning = execution.planning()?;
        let definition = Definition::of(&planning, query)?;
        let place = Place::at(&snapshot, self.view.name())?;
        let folded = place.map_or(through, |place| place.folded);
        let closed = place.and_then(|_| definition.open_from(store.wall_ns(), Duration::ZERO));
        let mut gathering = Gathering::new(&definition, closed);
        let follower = follower
            .filter(|follower| follower.folded == folded)
            .map_or_else(|| Follower::named(store, self.view.name(), folded), Ok);
        let gathered = follower.and_then(|mut follower| {
            follower.gather(&mut gathering, through, self.view.id())?;
            Ok(follower)
        });
        let (mut follower, is_foreign) = (None, gathering.is_foreign);
        let unfolded = match (gathered, place) {
            (Ok(found), place) => {
                follower = Some(found);
                match place {
                    Some(_) => gathering.finish(),
                    None => Unfolded::everything(None),
                }
            }
            (Err(error), place) if error.kind() == ErrorKind::HistoryLost => {
                Unfolded::everything(place.and(closed))
            }
            (Err(error), _) => return Err(error),
        };
        let is_due = follower.as_ref().is_some_and(|follower| follower.is_due(store));
        let is_up_to_date = place.is_some() && unfolded.is_nothing();
        if is_up_to_date && !(is_due && is_foreign) {
            return Ok(follower);
        }
        let folded = Place { folded: through, horizon: definition.horizon(store.wall_ns()) };
        let rows = match is_up_to_date {
            true => None,
            false => {
                let read = planning.catalog.read_from();
                let plan = renewed(&definition, &planning.state, read, &self.view, &unfolded);
                let plan = plan.map_err(from_datafusion)?;
                Some(self.runtime.block_on(execution.run_in_order(&planning.state, &plan))?)
            }
        };
        self.write(rows, &unfolded, folded)?;
        if let Some(follower) = &mut follower {
            follower.folded = through;
            if is_due {
                follower.save(store)?;
            }
        }
        Ok(follower)
    }

    /// One commit: what was, is not any more; what is; and up to where.
    fn write(&self, rows: Option<QueryResult>, unfolded: &Unfolded, folded: Place) -> Result<()> {
        let store = &self.shared.store;
        let mut bulk = store.bulk()?;
        for ranges in [&unfolded.touched, &unfolded.again] {
            for range in ranges.as_slice() {
                bulk.delete_range(self.view.id(), *range)?;
            }
        }
        if let Some(mut rows) = rows {
            while let Some(batch) = self.runtime.block_on(rows.next()) {
                let columns = batch?.columns().to_vec();
                let schema = Arc::clone(self.view.schema());
                let batch = RecordBatch::try_new(schema, columns).map_err(unfit)?;
                bulk.insert(self.view.id(), batch)?;
            }
        }
        let place = store.expect_stream(&place_of(self.view.name()))?;
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from(vec![0])),
            Arc::new(UInt64Array::from(vec![folded.folded.0])),
            Arc::new(Int64Array::from(vec![folded.horizon])),
        ];
        let row = RecordBatch::try_new(Arc::clone(place.schema()), columns).map_err(unfit)?;
        bulk.insert(place.id(), row)?;
        bulk.commit_with(Durability::Written).map(drop)
    }
}

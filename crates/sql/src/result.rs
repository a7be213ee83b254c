//! What comes out: record batches, for who waits for them and for who polls.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::execution::SendableRecordBatchStream;
use futures::{Stream, StreamExt, TryStreamExt};
use timestrata_engine::{Result, RunningQuery};
use tokio::runtime::Runtime;

use crate::error::from_datafusion;
use crate::governed::governed_stream;
use crate::shared::SharedSession;

/// How often who waits for rows looks whether they are still wanted.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Record batches as they are made. The errors are those of the scan (`Corruption`, `Io`), of
/// expressions (`InvalidData`), and `TooLarge` where memory doesn't suffice. After an error comes
/// nothing.
///
/// ```
/// # use timestrata_engine::{Settings, Store};
/// # use timestrata_sql::{Params, Sql, SqlOptions};
/// # fn main() -> timestrata_engine::Result<()> {
/// let store = Store::memory(Settings::default())?;
/// let sql = Sql::open(&store, SqlOptions::default())?;
/// let runtime = sql.threads()?;
/// let batches = runtime.block_on(async {
///     let result = sql.query("SELECT 1 AS one", Params::none()).await?;
///     assert_eq!(result.schema().field(0).name(), "one");
///     result.collect().await
/// })?;
/// assert_eq!(batches[0].num_rows(), 1);
/// # Ok(())
/// # }
/// ```
pub struct QueryResult {
    schema: SchemaRef,
    stream: SendableRecordBatchStream,
    /// What it answers, if it is still worked on.
    query: Option<RunningQuery>,
}

impl QueryResult {
    /// Rows that are there.
    pub(crate) fn new(stream: SendableRecordBatchStream) -> Self {
        Self { schema: stream.schema(), stream, query: None }
    }

    /// Rows that are worked out for a query, which is given up when they are dropped.
    pub(crate) fn of(stream: SendableRecordBatchStream, query: &RunningQuery) -> Self {
        let stream = governed_stream(stream, query);
        Self { schema: stream.schema(), stream, query: Some(query.clone()) }
    }

    /// The columns of each batch.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// All batches.
    ///
    /// # Errors
    /// The first one of the stream.
    pub async fn collect(self) -> Result<Vec<RecordBatch>> {
        self.try_collect().await
    }
}

impl fmt::Debug for QueryResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueryResult").field("schema", &self.schema).finish_non_exhaustive()
    }
}

impl Stream for QueryResult {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = self.stream.poll_next_unpin(context).map_err(from_datafusion);
        if matches!(next, Poll::Ready(None | Some(Err(_)))) {
            self.query = None;
        }
        next
    }
}

/// Record batches, one after the other; see [`QueryResult`]. Dropping it cancels the query. Only the
/// time that is spent in here counts as the query's.
///
/// ```
/// # use timestrata_engine::{Settings, Store};
/// # use timestrata_sql::{Params, Sql, SqlOptions};
/// # fn main() -> timestrata_engine::Result<()> {
/// let store = Store::memory(Settings::default())?;
/// let sql = Sql::open(&store, SqlOptions::default())?;
/// let result = sql.query_blocking("SELECT * FROM range(10)", Params::none())?;
/// let mut rows = 0;
/// for batch in result {
///     rows += batch?.num_rows();
/// }
/// assert_eq!(rows, 10);
/// # Ok(())
/// # }
/// ```
pub struct BlockingResult {
    /// What it works on, and the store for as long as rows may come.
    shared: Arc<SharedSession>,
    result: Option<QueryResult>,
    schema: SchemaRef,
}

impl BlockingResult {
    pub(crate) fn new(shared: Arc<SharedSession>, result: QueryResult) -> Self {
        let schema = Arc::clone(&result.schema);
        result.query.as_ref().inspect(|query| query.rest());
        Self { shared, result: Some(result), schema }
    }

    /// The columns of each batch.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn wait(&mut self) -> Option<Result<RecordBatch>> {
        let result = self.result.as_mut()?;
        let runtime = match self.shared.runtime() {
            Ok(runtime) => runtime,
            Err(error) => return Some(Err(error)),
        };
        let query = result.query.clone();
        query.as_ref().inspect(|query| query.resume());
        let next = async { result.next().await.transpose() };
        let next = wait_for(runtime, next, query.as_ref()).transpose();
        query.as_ref().inspect(|query| query.rest());
        next
    }

    /// Lets go of what works for it: on the threads that it works on.
    fn let_go(&mut self) {
        if let Ok(runtime) = self.shared.runtime() {
            let _entered = runtime.enter();
            self.result = None;
        }
    }
}

/// What comes of `work`, or the error of a query that has ended while other threads work on for it.
///
/// It is polled on this thread, which listens for the query meanwhile and wakes by a clock of its own: the
/// runtime's timers stand still as long as its threads are all busy, as with a join of all rows with all.
pub(crate) fn wait_for<T>(
    runtime: &Runtime,
    work: impl Future<Output = Result<T>>,
    query: Option<&RunningQuery>,
) -> Result<T> {
    let _entered = runtime.enter();
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut work = std::pin::pin!(work);
    loop {
        if let Poll::Ready(done) = work.as_mut().poll(&mut context) {
            return done;
        }
        thread::park_timeout(LOOK_EVERY);
        query.map_or(Ok(()), RunningQuery::listen)?;
    }
}

/// Wakes a thread that is parked.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

impl fmt::Debug for BlockingResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockingResult").field("result", &self.result).finish_non_exhaustive()
    }
}

impl Iterator for BlockingResult {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.wait();
        if !matches!(next, Some(Ok(_))) {
            self.let_go();
        }
        next
    }
}

impl Drop for BlockingResult {
    fn drop(&mut self) {
        self.let_go();
    }
}

#[cfg(test)]
mod tests;

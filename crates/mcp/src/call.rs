//! One call from its arguments to its answer: on a thread that may wait, within its time, and given up as soon
//! as nobody waits for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use timestrata::ErrorKind;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::asked::{Asked, Bounds};
use crate::failure::{Failure, Result};
use crate::source::Source;
use crate::tool::{Answered, Call};

/// Calls that are worked on at once; others wait.
const WORKED_ON_MAX: usize = 4;
/// Calls that may wait.
const WAITING_MAX: usize = 64;
/// A call ends itself at its limit; who waits for it gives it so much longer to say so.
const GRACE: Duration = Duration::from_millis(500);
/// Characters of a call that a list of what is worked on shows.
const SHOWN_CHARS: usize = 200;

/// What all calls share.
pub(crate) struct Calls {
    pub(crate) source: Arc<Source>,
    pub(crate) bounds: Bounds,
    working: Arc<Semaphore>,
    known: Arc<Semaphore>,
}

/// Whoever asked; dropped, it wants the answer no more.
struct Asker(Arc<AtomicBool>);

impl Drop for Asker {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

impl Calls {
    pub(crate) fn new(source: Arc<Source>, bounds: Bounds) -> Self {
        let working = Arc::new(Semaphore::new(WORKED_ON_MAX));
        let known = Arc::new(Semaphore::new(WORKED_ON_MAX + WAITING_MAX));
        Self { source, bounds, working, known }
    }

    /// Works out a call. Dropped before its end, it is given up.
    ///
    /// # Errors
    /// Those of the tool, and where there are too many calls or it takes too long.
    pub(crate) async fn answer(&self, name: &str, shown: &str, call: Call) -> Result<Answered> {
        let Ok(_known) = self.known.try_acquire() else {
            let message = format!("'{name}' is not begun: {WAITING_MAX} calls wait already");
            return Err(Failure::new(message, "wait for answers, then call again"));
        };
        let time_max = self.bounds.time(call.timeout.as_deref())?;
        let Ok(permit) = Arc::clone(&self.working).acquire_owned().await else {
            return Err(Failure::new("these tools are closing", "start them again"));
        };
        let wanted = Arc::new(AtomicBool::new(true));
        let _asker = Asker(Arc::clone(&wanted));
        let text: String = format!("{name} {shown}").chars().take(SHOWN_CHARS).collect();
        let (source, bounds) = (Arc::clone(&self.source), Bounds { time_max, ..self.bounds });
        let work = move || work(&source, bounds, (call, text), wanted, permit);
        tokio::select! {
            ended = tokio::task::spawn_blocking(work) => ended.unwrap_or_else(|error| {
                tracing::error!(%error, "a tool died");
                Err(Failure::new(
                    format!("'{name}' ended by a fault of its own"),
                    "ask in another way; what these tools wrote to stderr says more",
                ))
            }),
            () = tokio::time::sleep(time_max + GRACE) => Err(overdue(time_max)),
        }
    }
}

fn work(
    source: &Source,
    bounds: Bounds,
    (call, text): (Call, String),
    wanted: Arc<AtomicBool>,
    _permit: OwnedSemaphorePermit,
) -> Result<Answered> {
    if !wanted.load(Ordering::Relaxed) {
        return Err(Failure::new("nobody waits for the answer", "call again if it is wanted"));
    }
    let opened = source.opened(call.at.as_deref())?;
    let is_wanted = move || wanted.load(Ordering::Relaxed);
    let query = opened.store.begin_query_for(&text, Some(bounds.time_max), is_wanted);
    let asked = Asked { opened, query, bounds };
    let answered = (call.work)(&asked);
    // What was worked on for the call says that it was given up, and not why.
    match asked.query.outcome() {
        Err(error) if error.kind() == ErrorKind::TimedOut && answered.is_err() => {
            Err(overdue(bounds.time_max))
        }
        _ => answered,
    }
}

fn overdue(time_max: Duration) -> Failure {
    Failure::new(
        format!("the call took longer than {} ms, which is its limit", time_max.as_millis()),
        "ask for less: a narrower range of time, fewer streams, or a filter",
    )
}

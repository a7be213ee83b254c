//! What the engine tells, as records of Python's `logging`: the target `timestrata::flush` is the logger
//! `timestrata.flush`.
//!
//! Who tells may hold locks of the engine, so it never waits, neither for the interpreter nor for a lock: an
//! event goes into a bounded queue, and a thread of its own hands it to the logger, if that is enabled
//! for its level. What finds the queue full is counted, and a record says so. The thread is started by the
//! first `open`, and ended by Python's exit, once all stores are closed and all that was told is
//! delivered. A child of a fork has no such thread: it starts its own with its first `open`.

use std::fmt::{self, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use crate::fork;
use crate::lock::Lock;

/// Events that may wait to be delivered.
const QUEUE_EVENTS: usize = 1_000;
/// The engine's targets, and the logger above its own.
const ROOT: &str = "timestrata";

/// What the events of this process go through; never freed, for an event may be on its way there.
static QUEUE: AtomicPtr<Queue> = AtomicPtr::new(std::ptr::null_mut());
/// The thread that delivers, and the process it is of.
static THREAD: Lock<Option<fork::Guarded<JoinHandle<()>>>> = Lock::new(None);

/// One event, as text and values that need no interpreter.
struct Told {
    logger: String,
    level: u8,
    text: String,
    fields: Vec<(&'static str, FieldValue)>,
    file: &'static str,
    line: u32,
}

#[derive(IntoPyObjectRef)]
enum FieldValue {
    Bool(bool),
    Int(i64),
    UInt(u64),
    Float(f64),
    Text(String),
}

enum Item {
    Told(Box<Told>),
    End,
}

struct Queue {
    sender: SyncSender<Item>,
    dropped: AtomicU64,
    /// The process it is of: in its child nobody delivers.
    process: fork::Guarded<()>,
}

impl Queue {
    fn put(&self, told: Told) {
        if self.sender.try_send(Item::Told(Box::new(told))).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// The queue of this process, if it has one.
fn queue() -> Option<&'static Queue> {
    // SAFETY: it is null or was leaked by `listen`, and nobody frees it.
    let queue = unsafe { QUEUE.load(Ordering::Acquire).as_ref() };
    queue.filter(|queue| queue.process.is_own())
}

/// Hands what the engine tells to Python's `logging`, from now on; a second call does nothing.
pub(crate) fn listen() {
    let mut thread = THREAD.lock();
    if queue().is_some() {
        return;
    }
    let (sender, receiver) = sync_channel(QUEUE_EVENTS);
    let new = std::thread::Builder::new().name("timestrata-events".to_owned());
    // Without a thread nothing is told, and all else works.
    let Ok(started) = new.spawn(move || deliver_all(&receiver)) else { return };
    *thread = Some(fork::Guarded::new(started));
    let process = fork::Guarded::new(());
    let queue = Box::leak(Box::new(Queue { sender, dropped: AtomicU64::new(0), process }));
    QUEUE.store(queue, Ordering::Release);
    // The second time, or where somebody has set up another, it stays as it is.
    let _ = tracing::subscriber::set_global_default(Listener);
}

/// Delivers what waits, and ends the thread. Python calls it at exit, after stores are closed.
#[pyfunction]
#[pyo3(name = "_stop_events")]
pub(crate) fn stop(py: Python<'_>) {
    let thread = THREAD.lock().take();
    let (Some(queue), Some(mut thread)) = (queue(), thread) else { return };
    py.detach(|| {
        // With the interpreter let go of: the thread may need it.
        let _ = queue.sender.send(Item::End);
        if let Some(thread) = thread.take_own() {
            let _ = thread.join();
        }
    });
}

fn deliver_all(receiver: &Receiver<Item>) {
    while let Ok(Item::Told(told)) = receiver.recv() {
        // Without an interpreter, or with one that ends, there is nobody to tell.
        let delivered = Python::try_attach(|py| {
            let dropped = queue().map_or(0, |queue| queue.dropped.swap(0, Ordering::Relaxed));
            if dropped > 0 {
                deliver(py, &gap(dropped));
            }
            deliver(py, &told);
        });
        if delivered.is_none() {
            return;
        }
    }
}

/// What says that events are missing.
fn gap(dropped: u64) -> Told {
    Told {
        logger: ROOT.to_owned(),
        level: 30,
        text: format!("{dropped} events were dropped: they came faster than they were delivered"),
        fields: vec![("dropped", FieldValue::UInt(dropped))],
        file: file!(),
        line: line!(),
    }
}

fn deliver(py: Python<'_>, told: &Told) {
    if let Err(error) = try_deliver(py, told) {
        error.write_unraisable(py, None);
    }
}

fn try_deliver(py: Python<'_>, told: &Told) -> PyResult<()> {
    let logger = py.import("logging")?.call_method1("getLogger", (&told.logger,))?;
    if !logger.call_method1("isEnabledFor", (told.level,))?.is_truthy()? {
        return Ok(());
    }
    let none = py.None();
    let arguments = (&told.logger, told.level, told.file, told.line, &told.text, &none, &none);
    let record = logger.call_method1("makeRecord", arguments)?;
    let fields = PyDict::new(py);
    for (name, value) in &told.fields {
        fields.set_item(name, value)?;
    }
    record.setattr("fields", fields)?;
    // A program's own logger may be below ours: a handler that writes to a store knows them apart by this.
    record.setattr("is_engine_event", true)?;
    logger.call_method1("handle", (record,))?;
    Ok(())
}

/// Puts the engine's events into the queue.
struct Listener;

/// The number that Python's `logging` has for a level.
fn number_of(level: Level) -> u8 {
    match level {
        Level::ERROR => 40,
        Level::WARN => 30,
        Level::INFO => 20,
        _ => 10,
    }
}

impl Subscriber for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let below = metadata.target().strip_prefix(ROOT);
        // What asks whether somebody listens is neither an event nor a span.
        !metadata.is_span()
            && *metadata.level() <= Level::DEBUG
            && below.is_some_and(|below| below.is_empty() || below.starts_with("::"))
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let Some(queue) = queue() else { return };
        let metadata = event.metadata();
        let mut visitor = Visitor::default();
        event.record(&mut visitor);
        queue.put(Told {
            logger: metadata.target().replace("::", "."),
            level: number_of(*metadata.level()),
            text: visitor.text + &visitor.shown,
            fields: visitor.fields,
            file: metadata.file().map_or("", |file| name_of(file)),
            line: metadata.line().unwrap_or(0),
        });
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// The last part of a path, as the place where the program was built is nobody's concern.
fn name_of(file: &'static str) -> &'static str {
    Path::new(file).file_name().and_then(|name| name.to_str()).unwrap_or(file)
}

#[derive(Default)]
struct Visitor {
    text: String,
    /// The fields, as the text has them at its end.
    shown: String,
    fields: Vec<(&'static str, FieldValue)>,
}

impl Visitor {
    fn push(&mut self, field: &Field, shown: impl fmt::Display, value: FieldValue) {
        // A String takes all that is written to it.
        let _ = write!(self.shown, " {}={shown}", field.name());
        self.fields.push((field.name(), value));
    }
}

impl Visit for Visitor {
    fn record_bool(&mut self, field: &Field, value: bool) {
        self.push(field, value, FieldValue::Bool(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.push(field, value, FieldValue::Int(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.push(field, value, FieldValue::UInt(value));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.push(field, value, FieldValue::Float(value));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.push(field, value, FieldValue::Text(value.to_owned()));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        match field.name() {
            "message" => self.text = format!("{value:?}"),
            _ => self.record_str(field, &format!("{value:?}")),
        }
    }
}

//! The layer: an event becomes an entry, with the fields of the spans that it is in.

use timestrata::Result;
use timestrata::logs::{Fields, Level, Logs, NewEntry};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use crate::visitor::Visitor;
use crate::writer::{Queue, Writer};

/// Entries that may wait to be written, unless told otherwise.
pub const QUEUE_ENTRIES: usize = 10_000;

/// Writes events to a log. An entry has the event's level and message, its fields and those of the spans
/// around it (the innermost counts where a name is there twice), `target`, `file` and `line` of the code,
/// and `spans`, the names of the spans, outermost first; what the program itself calls so counts instead.
/// What the engine says of its own work is no entry, unless asked for
/// ([`with_engine_events`](Self::with_engine_events)).
#[derive(Debug)]
pub struct LogsLayer {
    queue: Queue,
    with_engine: bool,
}

/// What the store's engine says has this target, or one below.
const ENGINE_TARGET: &str = "timestrata";

fn is_engine(target: &str) -> bool {
    let below = target.strip_prefix(ENGINE_TARGET);
    below.is_some_and(|below| below.is_empty() || below.starts_with("::"))
}

/// What a span was given, kept with it.
struct SpanFields(Fields);

impl LogsLayer {
    /// A layer, and who writes for it: keep that until the program ends, for when it is dropped all that
    /// waits is written.
    ///
    /// # Errors
    /// `Io` if the system has no thread for it.
    pub fn new(logs: &Logs) -> Result<(Self, Writer)> {
        Self::with_queue(logs, QUEUE_ENTRIES)
    }

    /// The same, with so many entries that may wait; at least one.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_queue(logs: &Logs, entries: usize) -> Result<(Self, Writer)> {
        let (queue, writer) = Writer::start(logs.clone(), entries.max(1))?;
        Ok((Self { queue, with_engine: false }, writer))
    }

    /// The same, with what the engine says itself (targets `timestrata::flush` and others). Without this it
    /// is left out, for to write such an entry may be what the engine tells of next: so only for a log of
    /// another store than those that are told of.
    #[must_use]
    pub fn with_engine_events(mut self) -> Self {
        self.with_engine = true;
        self
    }
}

fn level_of(level: tracing::Level) -> Level {
    match level {
        tracing::Level::TRACE => Level::Trace,
        tracing::Level::DEBUG => Level::Debug,
        tracing::Level::INFO => Level::Info,
        tracing::Level::WARN => Level::Warn,
        _ => Level::Error,
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for LogsLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut fields = Fields::default();
        attributes.record(&mut Visitor { message: None, fields: &mut fields });
        span.extensions_mut().insert(SpanFields(fields));
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(SpanFields(fields)) = span.extensions_mut().get_mut() {
            values.record(&mut Visitor { message: None, fields });
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let metadata = event.metadata();
        if !self.with_engine && is_engine(metadata.target()) {
            return;
        }
        let mut entry = NewEntry {
            source_time: Some(self.queue.wall_ns()),
            level: Some(level_of(*metadata.level())),
            ..NewEntry::default()
        };
        entry.fields.text("target", metadata.target());
        if let Some(file) = metadata.file() {
            entry.fields.text("file", file);
        }
        if let Some(line) = metadata.line() {
            entry.fields.int("line", line.into());
        }
        let spans = || context.event_scope(event).into_iter().flat_map(|scope| scope.from_root());
        let names: Vec<_> = spans().map(|span| span.name()).collect();
        if !names.is_empty() {
            entry.fields.text("spans", &names.join("."));
        }
        for span in spans() {
            if let Some(SpanFields(fields)) = span.extensions().get() {
                for (name, item) in fields.iter() {
                    entry.fields.item(name, |out| out.extend_from_slice(item));
                }
            }
        }
        let NewEntry { message, fields, .. } = &mut entry;
        event.record(&mut Visitor { message: Some(message), fields });
        self.queue.put(entry);
    }
}

//! Fields of events and spans, as those of entries.

use std::error::Error;
use std::fmt;

use timestrata::logs::Fields;
use tracing::field::{Field, Visit};

/// The field that holds what an event says.
const MESSAGE: &str = "message";

/// Takes in what an event or a span was given.
pub(crate) struct Visitor<'a> {
    /// Where the message goes; spans have none, and a field of that name is one as any other.
    pub(crate) message: Option<&'a mut String>,
    pub(crate) fields: &'a mut Fields,
}

impl Visit for Visitor<'_> {
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.fields.int(field.name(), value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.fields.uint(field.name(), value);
    }

    fn record_i128(&mut self, field: &Field, value: i128) {
        match i64::try_from(value) {
            Ok(value) => self.fields.int(field.name(), value),
            Err(_) => self.fields.text(field.name(), &value.to_string()),
        };
    }

    fn record_u128(&mut self, field: &Field, value: u128) {
        match u64::try_from(value) {
            Ok(value) => self.fields.uint(field.name(), value),
            Err(_) => self.fields.text(field.name(), &value.to_string()),
        };
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.fields.float(field.name(), value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.fields.bool(field.name(), value);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match &mut self.message {
            Some(message) if field.name() == MESSAGE => message.push_str(value),
            _ => {
                self.fields.text(field.name(), value);
            }
        }
    }

    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        let mut text = value.to_string();
        let mut cause = value.source();
        while let Some(error) = cause {
            text.push_str(": ");
            text.push_str(&error.to_string());
            cause = error.source();
        }
        self.record_str(field, &text);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.record_str(field, &format!("{value:?}"));
    }
}

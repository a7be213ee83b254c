//! The columns that come out of text: expected ones, inferred ones, and which is the time.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use timestrata_engine::Result;

use super::convert::Column;
use super::infer::{Role, Seen};
use super::names;
use super::options::ReadOptions;
use super::report::{invalid, shorten};

/// Names that a message lists.
const NAMES_LISTED_MAX: usize = 20;

/// A column as the sample shows it.
#[derive(Debug)]
pub(super) struct Found {
    name: String,
    seen: Seen,
    /// Its type, where the form itself says more than the text of values can.
    fixed: Option<DataType>,
}

impl Found {
    pub(super) fn of_text(name: String, seen: Seen) -> Self {
        Self { name, seen, fixed: None }
    }

    /// Whether the sample's values are of the type expected. What no text can say has to be.
    fn fits(&self, field: &Field) -> bool {
        let data_type = field.data_type().clone();
        let epoch = self.seen.epoch_unit(&self.name, Role::default());
        let column = Column { data_type, epoch, is_required: false };
        self.fixed.is_some() || self.seen.fits(&column)
    }

    pub(super) fn fixed(name: String, data_type: DataType) -> Self {
        Self { name, seen: Seen::default(), fixed: Some(data_type) }
    }
}

/// What will come out.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) schema: SchemaRef,
    pub(super) time: Option<String>,
    /// How each column of the schema is converted.
    pub(super) columns: Vec<Column>,
}

impl Layout {
    /// # Errors
    /// `InvalidData` without the declared time column.
    pub(super) fn new(input: &str, found: Vec<Found>, options: &ReadOptions) -> Result<Self> {
        let options = &options.widened(|field| {
            let of_name = found.iter().find(|found| found.name == *field.name());
            of_name.is_none_or(|found| found.fits(field))
        });
        let declared = options.time.as_deref();
        if let Some(time) = declared
            && !found.iter().any(|column| column.name == time)
        {
            return Err(no_time_column(input, time, found.iter().map(|column| &*column.name)));
        }
        let columns = found.iter().map(|found| column(found, declared, options));
        let mut columns: Vec<Column> = columns.collect();
        let fields: Vec<Field> =
            found.iter().zip(&columns).map(|(found, column)| field(found, column)).collect();
        let time = declared.or_else(|| names::time_column(fields.iter())).map(str::to_owned);
        let time_at = found.iter().position(|found| Some(&found.name) == time.as_ref());
        if let Some((at, found)) = time_at.and_then(|at| Some((at, found.get(at)?)))
            && let Some(slot) = columns.get_mut(at)
        {
            // Days that turn out to be the time become instants.
            *slot = column(found, Some(&found.name), options);
            let role = Role { is_time: true, unit: options.time_unit };
            if let Some(why) = found.seen.unit_problem(&found.name, role) {
                return Err(invalid(input, format!("column '{}': {why}", found.name)));
            }
        }
        let fields: Vec<Field> =
            found.iter().zip(&columns).map(|(found, column)| field(found, column)).collect();
        Ok(Self { schema: Arc::new(Schema::new(fields)), time, columns })
    }
}

fn column(found: &Found, time: Option<&str>, options: &ReadOptions) -> Column {
    let is_time = time == Some(&*found.name);
    let role = Role { is_time, unit: options.time_unit };
    let expected = options.schema.as_ref();
    let expected = expected.and_then(|schema| schema.field_with_name(&found.name).ok());
    let data_type = match (expected, &found.fixed) {
        (Some(field), _) => field.data_type().clone(),
        (None, Some(fixed)) => fixed.clone(),
        (None, None) => found.seen.data_type(&found.name, role),
    };
    Column {
        data_type,
        epoch: found.seen.epoch_unit(&found.name, role),
        is_required: is_time || expected.is_some_and(|field| !field.is_nullable()),
    }
}

fn field(found: &Found, column: &Column) -> Field {
    Field::new(&found.name, column.data_type.clone(), !column.is_required)
}

/// The declared time column is missing.
pub(super) fn no_time_column<'a>(
    input: &str,
    time: &str,
    names: impl ExactSizeIterator<Item = &'a str>,
) -> timestrata_engine::Error {
    let rest = names.len().saturating_sub(NAMES_LISTED_MAX);
    let listed: Vec<String> = names
        .take(NAMES_LISTED_MAX)
        .map(|name| format!("'{}'", shorten(name.as_bytes())))
        .collect();
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    invalid(
        input,
        format!("there is no time column '{time}'; the columns are {}{more}", listed.join(", ")),
    )
}

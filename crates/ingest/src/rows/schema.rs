//! The schema of an input: the types that are expected or inferred, and which column is the time.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use timestrata_engine::Result;
use timestrata_values::instant::unit_of_all;
use timestrata_values::spelling::Spelling;

use super::convert::Column;
use super::infer::{Role, Seen, UTC};
use super::names;
use super::options::ReadOptions;
use super::report::{invalid, shorten};

/// Names that a message lists.
const NAMES_LISTED_MAX: usize = 20;

/// A column as the sample shows it.
#[derive(Debug)]
pub(super) struct FoundColumn {
    name: String,
    seen: Seen,
    /// Its type, where the form itself says more than the text of values can.
    written: Option<DataType>,
    /// Whether a value is known not to be of the type expected.
    has_misfit: bool,
}

impl FoundColumn {
    pub(super) fn of_text(name: String, seen: Seen) -> Self {
        Self { name, seen, written: None, has_misfit: false }
    }

    /// A column that the form says the type of, and what the sample holds, where it may be the time.
    pub(super) fn written(name: &str, data_type: DataType, seen: Seen) -> Self {
        Self { name: name.to_owned(), seen, written: Some(data_type), has_misfit: false }
    }

    /// The same, of which a value is not of the type expected.
    pub(super) fn with_misfit(self, has_misfit: bool) -> Self {
        Self { has_misfit, ..self }
    }

    /// Whether its type leaves it open what its times are.
    fn is_of_text_or_numbers(&self) -> bool {
        self.written.as_ref().is_none_or(may_be_time)
    }

    /// Whether days and months can't be told apart in it.
    pub(super) fn is_unclear(&self) -> bool {
        self.is_of_text_or_numbers() && self.seen.is_unclear()
    }

    /// Why it is no column of times, if it seems to be meant as one; and how likely that is, the least number first.
    fn spoils_time(&self, spelling: Spelling) -> Option<(usize, String)> {
        if let Some((likely, bad)) = self.seen.spoils_time(&self.name, spelling) {
            return Some((likely, bad.to_string()));
        }
        let (least, greatest) = self.seen.no_plausible_time(&self.name)?;
        let likely = names::preferred_for_time(&self.name)?;
        let (time, unit) = (spelling.option("time", &self.name), spelling.option("time_unit", "s"));
        let name = shorten(self.name.as_bytes());
        if let Err(why) = unit_of_all(least, greatest) {
            return Some((likely, format!("column '{name}': {why}")));
        }
        let numbers = match least == greatest {
            true => format!("{least}"),
            false => format!("from {least} to {greatest}"),
        };
        let why = format!(
            "column '{name}' holds numbers, {numbers}, which are no times of the years 1990 to 2100 in any unit that \
             they suggest; if they are times all the same, say so ({time}, or {unit})"
        );
        Some((likely, why))
    }

    /// Whether the sample's values are of the type expected. What no text can say has to be.
    fn fits(&self, field: &Field) -> bool {
        let is_written = || self.written.is_some();
        let fits = || self.seen.fits(&as_type(&self.name, &self.seen, field.data_type()));
        !self.has_misfit && (is_written() || fits())
    }

    /// The type that it gets where none is expected.
    fn data_type(&self, role: Role) -> DataType {
        match &self.written {
            Some(DataType::Timestamp(unit, None)) if role.is_time => {
                DataType::Timestamp(*unit, Some(UTC.into()))
            }
            Some(DataType::Date32 | DataType::Date64) if role.is_time => {
                DataType::Timestamp(TimeUnit::Microsecond, Some(UTC.into()))
            }
            Some(DataType::Null) => DataType::Utf8,
            Some(written) if !(role.is_time && may_be_time(written)) => written.clone(),
            _ => self.seen.data_type(&self.name, role),
        }
    }

    /// As which type it is a candidate for the time: numbers and text that could be it count as times.
    fn candidate(&self, column: &Column, unit: Option<TimeUnit>) -> DataType {
        let is_named = self.seen.no_plausible_time(&self.name).is_some();
        if let Some(unit) = unit.filter(|_| is_named && self.is_of_text_or_numbers()) {
            // Whoever says the unit of its numbers says that they are times.
            return DataType::Timestamp(unit, Some(UTC.into()));
        }
        let inferred = self.seen.data_type(&self.name, Role::default());
        match (&self.written, inferred) {
            (Some(written), DataType::Timestamp(unit, zone)) if may_be_time(written) => {
                DataType::Timestamp(unit, zone)
            }
            _ => column.data_type.clone(),
        }
    }
}

/// Whether values may be times though their type doesn't say so.
pub(super) fn may_be_time(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Int64 | DataType::UInt64 | DataType::Float64 | DataType::Utf8)
}

/// What will come out.
#[derive(Debug)]
pub(super) struct ColumnLayout {
    pub(super) schema: SchemaRef,
    pub(super) time: Option<String>,
    /// Where there is none, and none is expected: what keeps a column from being it.
    pub(super) spoils_time: Option<String>,
    /// How each column of the schema is converted.
    pub(super) columns: Vec<Column>,
    /// What was told apart in each column that has something of it, in words.
    pub(super) notes: Vec<(String, String)>,
}

impl ColumnLayout {
    /// # Errors
    /// `InvalidData` without the declared time column.
    pub(super) fn new(input: &str, found: Vec<FoundColumn>, options: &ReadOptions) -> Result<Self> {
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
        let candidates = found.iter().zip(&columns).map(|(found, column)| {
            Field::new(&found.name, found.candidate(column, options.time_unit), !column.is_required)
        });
        let candidates: Vec<Field> = candidates.collect();
        let time = declared.or_else(|| names::time_column(candidates.iter())).map(str::to_owned);
        let time_at = found.iter().position(|found| Some(&found.name) == time.as_ref());
        if let Some((at, found)) = time_at.and_then(|at| Some((at, found.get(at)?)))
            && let Some(slot) = columns.get_mut(at)
        {
            // Days that turn out to be the time become instants.
            *slot = column(found, Some(&found.name), options);
            let role = Role { is_time: true, unit: options.time_unit };
            let problem = found.seen.time_problem(&found.name, role, options.spelling);
            if let Some(why) = problem.filter(|_| found.is_of_text_or_numbers()) {
                return Err(invalid(input, format!("column '{}': {why}", found.name)));
            }
        }
        let fields = found.iter().zip(&columns).map(|(found, column)| {
            Field::new(&found.name, column.data_type.clone(), !column.is_required)
        });
        let fields: Vec<Field> = fields.collect();
        let spoils_time = (time.is_none() && options.schema.is_none())
            .then(|| found.iter().filter_map(|found| found.spoils_time(options.spelling)))
            .and_then(|columns| columns.min_by_key(|(likely, _)| *likely))
            .map(|(_, why)| why);
        let noted = found.iter().zip(&columns);
        let noted = noted.filter_map(|(found, column)| Some((found.name.clone(), column.note()?)));
        let notes = noted.collect();
        Ok(Self { schema: Arc::new(Schema::new(fields)), time, spoils_time, columns, notes })
    }
}

fn column(found: &FoundColumn, time: Option<&str>, options: &ReadOptions) -> Column {
    let is_time = time == Some(&*found.name);
    let role = Role { is_time, unit: options.time_unit };
    let expected = options.schema.as_ref();
    let expected = expected.and_then(|schema| schema.field_with_name(&found.name).ok());
    let data_type = match expected {
        Some(field) => field.data_type().clone(),
        None => found.data_type(role),
    };
    let is_required = is_time || expected.is_some_and(|field| !field.is_nullable());
    converting(&found.name, &found.seen, data_type, role, is_required)
}

/// How the values of a column become those of a type.
pub(super) fn as_type(name: &str, seen: &Seen, data_type: &DataType) -> Column {
    converting(name, seen, data_type.clone(), Role::default(), false)
}

fn converting(
    name: &str,
    seen: &Seen,
    data_type: DataType,
    role: Role,
    is_required: bool,
) -> Column {
    Column {
        data_type,
        epoch: seen.epoch_unit(name, role),
        is_required,
        written: seen.written(name, role),
        decimal: seen.decimal(),
        thousands: seen.thousands(),
    }
}

/// The declared time column is missing.
fn no_time_column<'a>(
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

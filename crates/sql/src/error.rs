//! Errors, to DataFusion and back: what the engine says goes through whole, and what DataFusion
//! says gets one of the engine's kinds.

use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::error::ArrowError;
use datafusion::common::DataFusionError;
use datafusion::common::SchemaError;
use timestrata_engine::{Error, ErrorKind};

/// An error of the engine for DataFusion to carry.
pub(crate) fn carried(error: Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

/// What DataFusion carried, or said itself, as an error of the engine.
pub(crate) fn from_datafusion(error: DataFusionError) -> Error {
    if let Some(found) = engine_error(&error) {
        return found;
    }
    let kind = kind_of(&error);
    let message = match kind {
        ErrorKind::TooLarge => format!(
            "the query needs more memory than it may use: give it more, or let it read less at \
             once (a time range, fewer columns or groups): {}",
            text_of(&error)
        ),
        _ => text_of(&error),
    };
    let found = Error::new(kind, message).caused_by(error);
    if kind == ErrorKind::InvalidData {
        return found.hinting("mend the expression, or leave out the rows that it doesn't fit");
    }
    found
}

/// `InvalidArgument`, with a message.
pub(crate) fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidArgument, message)
}

/// The error for a table that can't be made because there is one of its name.
pub(crate) fn table_exists(name: &str) -> Error {
    Error::new(ErrorKind::AlreadyExists, format!("there is a table '{name}' already"))
}

/// `InvalidArgument`, for DataFusion to carry.
pub(crate) fn refused(message: impl Into<String>) -> DataFusionError {
    carried(invalid(message))
}

/// The error for a whole number that its type has no room for.
pub(crate) fn overflow(operation: &str, data_type: &DataType) -> DataFusionError {
    DataFusionError::Execution(format!(
        "the result of {operation} is outside of {data_type}: cast to a wider type first, for instance \
         CAST(x AS DECIMAL(38, 0)) or CAST(x AS DOUBLE)"
    ))
}

/// The engine's error somewhere inside, if one is.
fn engine_error(error: &DataFusionError) -> Option<Error> {
    match error {
        DataFusionError::External(inner) => foreign(inner.as_ref()),
        DataFusionError::ArrowError(inner, _) => match inner.as_ref() {
            ArrowError::ExternalError(inner) => foreign(inner.as_ref()),
            _ => None,
        },
        DataFusionError::Collection(all) => all.iter().find_map(engine_error),
        other => wrapped(other).and_then(engine_error),
    }
}

/// The same of what others carry.
fn foreign(error: &(dyn std::error::Error + Send + Sync + 'static)) -> Option<Error> {
    match error.downcast_ref::<Error>() {
        Some(found) => Some(again(found)),
        None => error.downcast_ref::<DataFusionError>().and_then(engine_error),
    }
}

/// The error that another one only adds something to; of several the first.
pub(crate) fn wrapped(error: &DataFusionError) -> Option<&DataFusionError> {
    match error {
        DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner) => Some(inner),
        DataFusionError::Shared(inner) => Some(inner),
        DataFusionError::Collection(all) => all.first(),
        _ => None,
    }
}

/// The same error once more: of its cause only the text is kept.
fn again(error: &Error) -> Error {
    let mut copy = Error::new(error.kind(), error.message()).hinting(error.hint());
    if let Some(path) = error.path() {
        copy = copy.at(path);
    }
    if let Some(offset) = error.offset() {
        copy = copy.at_offset(offset);
    }
    match std::error::Error::source(error) {
        Some(cause) => copy.caused_by(cause.to_string()),
        None => copy,
    }
}

fn kind_of(error: &DataFusionError) -> ErrorKind {
    match error {
        DataFusionError::ResourcesExhausted(_) => ErrorKind::TooLarge,
        DataFusionError::IoError(cause) if cause.kind() == std::io::ErrorKind::StorageFull => {
            ErrorKind::NoSpace
        }
        DataFusionError::IoError(_) => ErrorKind::Io,
        DataFusionError::Execution(text) if text.contains("Placeholder") => {
            ErrorKind::InvalidArgument
        }
        DataFusionError::Execution(_) => ErrorKind::InvalidData,
        DataFusionError::ArrowError(inner, _) => match inner.as_ref() {
            ArrowError::IoError(_, _) => ErrorKind::Io,
            ArrowError::MemoryError(_) => ErrorKind::TooLarge,
            _ => ErrorKind::InvalidData,
        },
        other => wrapped(other).map_or(ErrorKind::InvalidArgument, kind_of),
    }
}

/// Whether DataFusion says, in its own words, that a subquery was left where it can't be answered.
fn is_subquery(text: &str) -> bool {
    let kinds = ["ScalarSubquery(", "InSubquery(", "Exists(", "OuterReferenceColumn("];
    text.strip_prefix("Physical plan does not support logical expression ")
        .is_some_and(|expr| kinds.iter().any(|kind| expr.starts_with(kind)))
}

/// What is said before a syntax tree is written out, as the parser has it: nobody can make anything of that.
fn without_tree(text: &str) -> &str {
    let trees = [" {", "([", "(Ident", "Identifier("];
    let begins = trees.iter().filter_map(|tree| text.find(tree)).min();
    let said = begins.and_then(|at| text.get(..at)).unwrap_or(text);
    said.trim_start_matches("Unsupported ast node in sqltorel: ")
        .trim_start_matches("Unsupported ast node ")
        .trim_end_matches([':', ' '])
}

/// DataFusion's words, without the wrapping that says whose error it is.
fn text_of(error: &DataFusionError) -> String {
    match error {
        DataFusionError::SQL(inner, _) => format!("the SQL has a mistake: {inner}"),
        DataFusionError::Plan(text)
        | DataFusionError::Execution(text)
        | DataFusionError::Configuration(text)
        | DataFusionError::ResourcesExhausted(text) => text.clone(),
        DataFusionError::NotImplemented(text) if is_subquery(text) => {
            "a subquery of this statement refers to the rows around it in a way that no join can be made of: it may \
             do so by equality in its WHERE (inner.a = outer.a AND ...); for anything else write it as a join"
                .to_owned()
        }
        DataFusionError::NotImplemented(text) => format!("not supported: {}", without_tree(text)),
        DataFusionError::Internal(text) => format!("a mistake of ours in this query: {text}"),
        DataFusionError::SchemaError(inner, _) => match inner.as_ref() {
            SchemaError::FieldNotFound { .. } => {
                // A setting of DataFusion's, which nobody here has.
                let told = inner.to_string();
                let lines = told.lines().filter(|line| !line.starts_with("Column names are case"));
                let told = lines.collect::<Vec<_>>().join("\n");
                told.replacen("No field named", "there is no column", 1)
            }
            _ => inner.to_string(),
        },
        DataFusionError::External(inner) => inner.to_string(),
        other => wrapped(other).map_or_else(|| other.to_string(), text_of),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syntax_trees_are_no_part_of_a_message() {
        let of = |text: &str| text_of(&DataFusionError::NotImplemented(text.to_owned()));
        assert_eq!(
            of("Unsupported ast node Pivot { table: Table { name: x } }"),
            "not supported: Pivot"
        );
        assert_eq!(
            of("Unsupported JOIN operator StraightJoin(None)"),
            "not supported: Unsupported JOIN operator StraightJoin(None)"
        );
        assert_eq!(of("WITH TIES"), "not supported: WITH TIES");
    }
}

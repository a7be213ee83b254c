//! The words that every entry has which a condition of SQL lets through: blocks of a log without them aren't read.
//!
//! Blocks know the words of messages, and of texts in fields at any depth. They don't know those of numbers and truth values,
//! of names, and of bytes, which are base64 in JSON.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use timestrata_engine::words;
use timestrata_logs::ShownColumns;

use crate::functions::{JsonFunction, JsonRead, Marker, PathStep};

/// Of each of these lists an entry must have one word at least.
type AnyOf = Vec<Vec<String>>;

/// What words an entry of a log must have to pass a condition; none, if that can't be told.
pub(super) fn words_asked(log: &ShownColumns, condition: &Expr) -> AnyOf {
    match condition {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => match op {
            Operator::And => [words_asked(log, left), words_asked(log, right)].concat(),
            Operator::Or => either(words_asked(log, left), words_asked(log, right)),
            Operator::Eq => {
                equal(log, left, right).or_else(|| equal(log, right, left)).unwrap_or_default()
            }
            _ => Vec::new(),
        },
        Expr::InList(InList { expr, list, negated: false }) => {
            let each = list.iter().map(|value| equal(log, expr, value).unwrap_or_default());
            each.reduce(either).unwrap_or_default()
        }
        Expr::Alias(alias) => words_asked(log, &alias.expr),
        Expr::ScalarFunction(_) => match Marker::Guard.inner(condition) {
            Some(inner) => words_asked(log, inner),
            None => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// Of two alternatives one word of the best list of each; nothing, if one of them needs no word.
fn either(left: AnyOf, right: AnyOf) -> AnyOf {
    let best = |lists: AnyOf| lists.into_iter().min_by_key(Vec::len);
    match (best(left), best(right)) {
        (Some(left), Some(right)) => vec![[left, right].concat()],
        _ => Vec::new(),
    }
}

/// The words of a text that something of an entry must be equal to.
fn equal(log: &ShownColumns, asked: &Expr, value: &Expr) -> Option<AnyOf> {
    let Expr::Literal(
        ScalarValue::Utf8(Some(text))
        | ScalarValue::Utf8View(Some(text))
        | ScalarValue::LargeUtf8(Some(text)),
        _,
    ) = value
    else {
        return None;
    };
    let is_text = match asked {
        Expr::Column(column) => log.is_text(log.schema().index_of(&column.name).ok()?),
        Expr::Cast(cast) if cast.field.data_type().is_string() => {
            return equal(log, &cast.expr, value);
        }
        _ => is_field(log, asked) && !may_be_no_text(text),
    };
    let mut found = Vec::new();
    words::each(text, |word| {
        found.extend(std::str::from_utf8(word).ok().map(|word| vec![word.to_owned()]));
    });
    is_text.then_some(found)
}

/// Whether an expression reads a field of an entry, or what lies in it, as text.
fn is_field(log: &ShownColumns, asked: &Expr) -> bool {
    let fields = log.schema();
    let fields = fields.field(log.fields_column()).name();
    match JsonFunction::of_expr(asked) {
        Some((JsonRead::Text | JsonRead::Str, Expr::Column(column), path)) => {
            column.name == *fields && matches!(path.first(), Some(PathStep::Key(_)))
        }
        _ => false,
    }
}

/// Whether a text may be what a value is written as that is no text: a number, a truth value, a list, an object, bytes.
fn may_be_no_text(text: &str) -> bool {
    let begins = text.as_bytes().first();
    matches!(begins, Some(b'{' | b'[' | b'-' | b'0'..=b'9'))
        || matches!(text, "true" | "false")
        || STANDARD.decode(text).is_ok()
}

//! `TIMESTAMP` in a statement, in microseconds: DataFusion's is one of nanoseconds, which end in 2262.
//!
//! A literal with more digits than microseconds have stays in nanoseconds, and so does a type that names its
//! digits (`TIMESTAMP(9)`). The columns of a table that is made are left alone.

use sqlparser::ast::{
    CastKind, DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments,
    TimezoneInfo, Value, ValueWithSpan, VisitMut,
};

use crate::dialect::{AT_TIME_ZONE, call};
use crate::rewrite::{EachExpr, rewrite};

/// Digits of a second's fraction that microseconds have.
const DIGITS: u64 = 6;

/// `CAST(x AS TIMESTAMP)`, as the function that a statement's text has in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct TimestampCast {
    /// With a time zone, which is UTC.
    pub(crate) has_zone: bool,
    /// What can't be cast is null.
    pub(crate) is_try: bool,
}

/// The names of all of them: without and with a zone, each as a cast and as one that tries.
const NAMES: [[&str; 2]; 2] =
    [["timestamp_of", "try_timestamp_of"], ["timestamptz_of", "try_timestamptz_of"]];

impl TimestampCast {
    pub(crate) fn all() -> [Self; 4] {
        [(false, false), (false, true), (true, false), (true, true)]
            .map(|(has_zone, is_try)| Self { has_zone, is_try })
    }

    /// The one of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::all().into_iter().find(|of| of.name() == name)
    }

    /// The cast of a statement that it stands for.
    pub(crate) fn written(self, expr: Box<Expr>) -> Expr {
        let kind = if self.is_try { CastKind::TryCast } else { CastKind::Cast };
        let zone = match self.has_zone {
            true => TimezoneInfo::WithTimeZone,
            false => TimezoneInfo::None,
        };
        let data_type = DataType::Timestamp(None, zone);
        Expr::Cast { kind, expr, data_type, array: false, format: None }
    }

    pub(crate) fn name(self) -> &'static str {
        let [plain, tried] = NAMES[usize::from(self.has_zone)];
        if self.is_try { tried } else { plain }
    }
}

/// The statement, or part of one, with types that reach as far as its times.
pub(crate) fn widen(part: &mut impl VisitMut) {
    rewrite(part, &mut EachExpr(widen_one));
}

fn widen_one(expr: &mut Expr) {
    match expr {
        Expr::TypedString(literal) => {
            if let (DataType::Timestamp(digits @ None, _), Value::SingleQuotedString(text)) =
                (&mut literal.data_type, &literal.value.value)
                && is_coarse(text)
            {
                *digits = Some(DIGITS);
            }
        }
        Expr::Cast { kind, expr: inner, data_type, array: false, format: None } => {
            let DataType::Timestamp(digits @ None, zone) = data_type else { return };
            match literal(inner) {
                Some(text) if is_coarse(text) => *digits = Some(DIGITS),
                // Its digits are needed.
                Some(_) => {}
                None if is_null(inner) => *digits = Some(DIGITS),
                // A parameter, of which the cast tells the type.
                None if matches!(inner.as_ref(), Expr::Value(_)) => {}
                None => {
                    let has_zone = matches!(zone, TimezoneInfo::WithTimeZone | TimezoneInfo::Tz);
                    let is_try = matches!(kind, CastKind::TryCast | CastKind::SafeCast);
                    let inner = std::mem::replace(inner.as_mut(), Expr::value(Value::Null));
                    *expr = call(TimestampCast { has_zone, is_try }.name(), vec![inner]);
                }
            }
        }
        _ => {}
    }
}

/// The opposite: an expression of a statement as it was written, for a name that people read.
pub(crate) fn as_written(expr: &mut Expr) {
    rewrite(expr, &mut EachExpr(write_one));
}

fn write_one(expr: &mut Expr) {
    match expr {
        Expr::TypedString(literal) => forget_digits(&mut literal.data_type),
        Expr::Cast { data_type, .. } => forget_digits(data_type),
        Expr::Function(function) => {
            let name = function.name.to_string();
            let cast = TimestampCast::named(&name);
            if cast.is_none() && name != AT_TIME_ZONE {
                return;
            }
            let mut args = arguments(function).into_iter().map(Box::new);
            let written = match (cast, args.next(), args.next()) {
                (Some(cast), Some(inner), None) => cast.written(inner),
                (None, Some(timestamp), Some(time_zone)) => {
                    Expr::AtTimeZone { timestamp, time_zone }
                }
                _ => return,
            };
            *expr = written;
        }
        _ => {}
    }
}

fn forget_digits(data_type: &mut DataType) {
    if let DataType::Timestamp(digits @ Some(DIGITS), _) = data_type {
        *digits = None;
    }
}

fn arguments(function: &Function) -> Vec<Expr> {
    let FunctionArguments::List(list) = &function.args else { return Vec::new() };
    let plain = list.args.iter().filter_map(|arg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(arg)) => Some(arg.clone()),
        _ => None,
    });
    plain.collect()
}

fn literal(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(text), .. }) => Some(text),
        _ => None,
    }
}

fn is_null(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(value) if value.value == Value::Null)
}

/// Whether microseconds have all digits of a time.
fn is_coarse(text: &str) -> bool {
    let fraction = text.split_once('.').map_or("", |(_, rest)| rest);
    let digits = fraction.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
    digits.trim_end_matches('0').len() <= DIGITS as usize
}

//! Names of columns, each of which stands once in what a query gives.
//!
//! DataFusion takes expressions apart by names that it derives from them, in which neither casts nor
//! parentheses show: `sum(x)` and `sum(CAST(x AS DOUBLE))` are both `sum(t.x)`. It refuses a query in which
//! two of one `SELECT`, or two that are grouped or aggregated, have one name. Such a statement is planned once
//! more, with columns that are named as they are written, and with casts and parentheses that show.
//!
//! Of columns that still have one name the second becomes `name:1`, the third `name:2`, in subqueries as in
//! answers.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::arrow::datatypes::{Field, Schema};
use datafusion::common::{DataFusionError, SchemaError};
use datafusion_sql::parser::Statement;
use sqlparser::ast::{
    Expr, Ident, ObjectName, Select, SelectItem, SelectItemQualifiedWildcardKind, TableFactor,
    Value, WildcardAdditionalOptions,
};

use crate::dialect::call;
use crate::error::{refused, wrapped};
use crate::rewrite::{Rewriter, rewrite};
use crate::statement;
use crate::time_types::{TimestampCast, as_written};

/// The function that a cast or parentheses become, so that the names which the planner derives show them.
pub(crate) const AS_WRITTEN: &str = "as_written";
/// Columns of one statement that `*` stands for and that others are called like, as far as it is tried.
const CLASHES_MAX: usize = 64;

/// What `plan` makes of a statement, which `again` parses once more; if names clash in it, of one that means the same without
/// such.
///
/// # Errors
/// Those of `plan`.
pub(crate) fn with_unique<T>(
    statement: Statement,
    again: impl Fn() -> Result<Statement, DataFusionError>,
    plan: impl Fn(Statement) -> Result<T, DataFusionError>,
) -> Result<T, DataFusionError> {
    // It is parsed again where it must be, and not copied for all others.
    let mut clash = match plan(statement) {
        Err(error) if let Some(clash) = NameClash::of(&error) => clash,
        planned => return planned,
    };
    let mut taken = HashSet::new();
    loop {
        taken.extend(clash.column);
        let mut renamed = again()?;
        if let Some(parsed) = statement::parsed_in(&mut renamed) {
            rewrite(parsed, &mut Renaming { taken: &taken, arguments: 0 });
        }
        clash = match plan(renamed) {
            Err(error) if let Some(clash) = NameClash::of(&error) => clash,
            planned => return planned,
        };
        if taken.len() >= CLASHES_MAX
            || clash.column.as_ref().is_none_or(|name| taken.contains(name))
        {
            return Err(refused(format!(
                "two columns or expressions of a SELECT can't be told apart by their names: list the columns in \
                 place of *, and give expressions a name with AS ({})",
                clash.told
            )));
        }
    }
}

/// Two names that are the same.
struct NameClash {
    /// The column of a table, where something else is called like it.
    column: Option<String>,
    told: String,
}

impl NameClash {
    fn of(error: &DataFusionError) -> Option<Self> {
        let of_no_column = |told: String| Some(Self { column: None, told });
        match error {
            DataFusionError::Plan(text) if text.contains("require unique expression names") => {
                of_no_column(text.clone())
            }
            DataFusionError::SchemaError(schema, _) => match schema.as_ref() {
                SchemaError::AmbiguousReference { field } if field.relation.is_some() => {
                    Some(Self { column: Some(field.name.clone()), told: schema.to_string() })
                }
                SchemaError::DuplicateQualifiedField { .. }
                | SchemaError::DuplicateUnqualifiedField { .. } => of_no_column(schema.to_string()),
                _ => None,
            },
            other => wrapped(other).and_then(Self::of),
        }
    }
}

/// Names the columns of each `SELECT`, and has casts and parentheses show in what the planner calls the rest.
struct Renaming<'a> {
    /// Columns of tables whose names must not be taken beside a `*`.
    taken: &'a HashSet<String>,
    /// How many intervals and tables with arguments are around: they want literals.
    arguments: usize,
}

impl Rewriter for Renaming<'_> {
    fn enter_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        name_columns(select, self.taken);
        ControlFlow::Continue(())
    }

    fn enter_table(&mut self, table: &mut TableFactor) {
        self.arguments += usize::from(has_arguments(table));
    }

    fn leave_table(&mut self, table: &mut TableFactor) {
        self.arguments -= usize::from(has_arguments(table));
    }

    fn enter_expr(&mut self, expr: &mut Expr) {
        self.arguments += usize::from(matches!(expr, Expr::Interval(_)));
    }

    fn leave_expr(&mut self, expr: &mut Expr) {
        self.arguments -= usize::from(matches!(expr, Expr::Interval(_)));
        if self.arguments == 0 && is_hidden(expr) {
            let inner = std::mem::replace(expr, Expr::value(Value::Null));
            *expr = call(AS_WRITTEN, vec![inner]);
        }
    }
}

/// Whether a table in `FROM` is a call of a function, or the like.
pub(crate) fn has_arguments(table: &TableFactor) -> bool {
    match table {
        TableFactor::Table { args, .. } => args.is_some(),
        TableFactor::Derived { .. } | TableFactor::NestedJoin { .. } => false,
        _ => true,
    }
}

/// Whether an expression changes what is in it without a trace in its derived name.
fn is_hidden(expr: &Expr) -> bool {
    match expr {
        Expr::Cast { .. } => true,
        Expr::Nested(inner) => matches!(
            inner.as_ref(),
            Expr::BinaryOp { .. } | Expr::UnaryOp { .. } | Expr::Between { .. }
        ),
        Expr::Function(function) => TimestampCast::named(&function.name.to_string()).is_some(),
        _ => false,
    }
}

fn name_columns(select: &mut Select, taken: &HashSet<String>) {
    let wildcards = Wildcards::of(&select.projection);
    let mut used = HashSet::new();
    for item in &mut select.projection {
        let (name, is_own) = match item {
            SelectItem::UnnamedExpr(expr) => match wildcards.column(expr) {
                Some((name, is_again)) => {
                    if is_again {
                        used.insert(name.clone());
                    }
                    (name, true)
                }
                None => (text_of(expr), false),
            },
            SelectItem::ExprWithAlias { alias, .. } => {
                let name = normal(alias);
                if !wildcards.is_empty() && taken.contains(&name) {
                    used.insert(name.clone());
                }
                (name, true)
            }
            _ => continue,
        };
        let free = unused(&name, &mut used);
        if is_own && free == name {
            continue;
        }
        let free = Ident::with_quote('"', free);
        match item {
            SelectItem::ExprWithAlias { alias, .. } => *alias = free,
            SelectItem::UnnamedExpr(expr) => {
                let expr = std::mem::replace(expr, Expr::value(Value::Null));
                *item = SelectItem::ExprWithAlias { expr, alias: free };
            }
            _ => {}
        }
    }
}

/// The wildcards of a list.
#[derive(Default)]
struct Wildcards {
    /// `*`.
    has_all: bool,
    /// The tables of `table.*`.
    tables: Vec<String>,
}

impl Wildcards {
    fn of(items: &[SelectItem]) -> Self {
        let leaves_out = |options: &WildcardAdditionalOptions| {
            options.opt_exclude.is_some() || options.opt_except.is_some()
        };
        let mut wildcards = Self::default();
        for item in items {
            match item {
                SelectItem::Wildcard(options) => wildcards.has_all |= !leaves_out(options),
                SelectItem::QualifiedWildcard(
                    SelectItemQualifiedWildcardKind::ObjectName(table),
                    options,
                ) if !leaves_out(options) => wildcards.tables.extend(last_of(table)),
                _ => {}
            }
        }
        wildcards
    }

    fn is_empty(&self) -> bool {
        !self.has_all && self.tables.is_empty()
    }

    /// The name of a column, and whether a wildcard stands for it as well.
    fn column(&self, expr: &Expr) -> Option<(String, bool)> {
        match expr {
            Expr::Identifier(name) => Some((normal(name), !self.is_empty())),
            Expr::CompoundIdentifier(parts) => {
                let [.., table, name] = parts.as_slice() else { return None };
                Some((normal(name), self.has_all || self.tables.contains(&normal(table))))
            }
            Expr::Nested(inner) => self.column(inner),
            _ => None,
        }
    }
}

pub(crate) fn last_of(name: &ObjectName) -> Option<String> {
    name.0.last().and_then(|part| part.as_ident()).map(normal)
}

/// A name as it is looked up.
pub(crate) fn normal(name: &Ident) -> String {
    match name.quote_style {
        Some(_) => name.value.clone(),
        None => name.value.to_ascii_lowercase(),
    }
}

/// An expression as it was written.
fn text_of(expr: &Expr) -> String {
    let mut expr = expr.clone();
    as_written(&mut expr);
    expr.to_string()
}

/// `name`, or if it is used one that isn't; it is used from then on.
fn unused(name: &str, used: &mut HashSet<String>) -> String {
    let numbered = (1..).map(|number| format!("{name}:{number}"));
    let free = std::iter::once(name.to_owned()).chain(numbered).find(|name| !used.contains(name));
    let free = free.unwrap_or_default();
    used.insert(free.clone());
    free
}

/// The names of columns, each once: of those that are the same the first has it, if no other is called so.
pub(crate) fn unique_names(schema: &Schema) -> Vec<String> {
    let names = || schema.fields().iter().map(|field| field.name().clone());
    let (mut used, mut seen): (HashSet<String>, HashSet<String>) =
        (names().collect(), HashSet::new());
    let each = names().map(|name| match seen.insert(name.clone()) {
        true => name,
        false => unused(&name, &mut used),
    });
    each.collect()
}

/// The same columns under names that stand once.
pub(crate) fn unique_schema(schema: &Schema) -> Schema {
    let fields = schema.fields().iter().zip(unique_names(schema));
    let fields = fields.map(|(field, name)| match *field.name() == name {
        true => Arc::clone(field),
        false => Arc::new(Field::clone(field).with_name(name)),
    });
    Schema::new_with_metadata(fields.collect::<Vec<_>>(), schema.metadata().clone())
}

/// A column by its name, or the only one that differs from it in case alone.
///
/// # Errors
/// What `missing` says where there is none, and `InvalidArgument` where there are several.
pub(crate) fn column_in<'a>(
    names: impl Iterator<Item = &'a str> + Clone,
    name: &str,
    missing: impl FnOnce() -> DataFusionError,
) -> Result<usize, DataFusionError> {
    if let Some(index) = names.clone().position(|known| known == name) {
        return Ok(index);
    }
    let wanted = name.to_lowercase();
    let mut same = names.enumerate().filter(|(_, known)| known.to_lowercase() == wanted);
    match (same.next(), same.next()) {
        (Some((index, _)), None) => Ok(index),
        (Some((_, one)), Some((_, other))) => Err(refused(format!(
            "the column {name} may be \"{one}\" or \"{other}\": write the one that is meant in double quotes"
        ))),
        (None, _) => Err(missing()),
    }
}

/// A name as it must stand in SQL to be taken as it is.
pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

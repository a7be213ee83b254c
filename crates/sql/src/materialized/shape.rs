//! What the query of a materialised view asks, as far as it can be kept: its groups, its aggregates, its condition.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::ops::ControlFlow;

use datafusion::arrow::datatypes::Schema;
use sqlparser::ast::{
    self, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, GroupByExpr, Query, Select,
    SelectItem, SetExpr, TableFactor, Value,
};
use timestrata_engine::{Error, Result};

use crate::error::invalid;
use crate::names::{last_of, normal};
use crate::rewrite::{Rewriter, rewrite};
use crate::statement;

/// What is told to those who asked for something else.
const TAKEN: &str = "a materialised view is SELECT time_bucket('1 minute', time), columns, and sum, count, min, max, avg, first(x, time) or \
                     last(x, time) FROM one table, maybe WHERE, GROUP BY the bucket and the columns";

/// A query that can be kept.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    /// The interval of its buckets, as it was written.
    pub(crate) interval: String,
    /// What rows are grouped by, as it was written: their bucket first.
    pub(crate) groups: Vec<String>,
    pub(crate) aggregates: Vec<Aggregate>,
    /// Where each column comes from.
    pub(crate) columns: Vec<Origin>,
    pub(crate) condition: Option<String>,
    /// All names of columns in it.
    pub(crate) names: BTreeSet<String>,
}

/// A call of an aggregate function, as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Aggregate {
    pub(crate) function: AggregateKind,
    /// Its first argument; `*` of `count(*)`.
    pub(crate) argument: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AggregateKind {
    Sum,
    Count,
    Min,
    Max,
    Avg,
    First,
    Last,
}

/// Where a column of a view comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    Group(usize),
    Aggregate(usize),
}

fn refuse(why: impl Display) -> Error {
    invalid(format!("{why}: {TAKEN}"))
}

/// The table that a query is of, if it is of one.
pub(crate) fn table_of(query: &str) -> Result<String> {
    let query = parsed(query)?;
    Ok(parts(&query)?.table)
}

impl Shape {
    /// What a query asks of a table with these columns, whose time is called so.
    ///
    /// # Errors
    /// `InvalidArgument` for a query that can't be kept.
    pub(crate) fn of(query: &str, columns: &Schema, time: &str) -> Result<Self> {
        let query = parsed(query)?;
        let names = names_in(&query)?;
        let parts = parts(&query)?;
        let items = parts.items()?;
        let mut groups = Vec::new();
        let mut interval = None;
        for group in parts.groups {
            let group = resolved(group, &items, columns)?;
            match bucket_interval(group, time)? {
                Some(found) if interval.is_none() => {
                    interval = Some(found);
                    groups.insert(0, group);
                }
                Some(_) => return Err(refuse("it has two buckets of time")),
                None if is_column(group) => groups.push(group),
                None => return Err(refuse(format!("it can't be grouped by {group}"))),
            }
        }
        let Some(interval) = interval else {
            return Err(refuse("it has no bucket of time among its groups"));
        };
        let (mut aggregates, mut origins) = (Vec::new(), Vec::new());
        for item in &items {
            match groups.iter().position(|group| *group == item.expr) {
                Some(group) => origins.push(Origin::Group(group)),
                None => {
                    aggregates.push(Aggregate::of(item.expr, time)?);
                    origins.push(Origin::Aggregate(aggregates.len() - 1));
                }
            }
        }
        Ok(Self {
            interval,
            groups: groups.into_iter().map(ToString::to_string).collect(),
            aggregates,
            columns: origins,
            condition: parts.select.selection.as_ref().map(ToString::to_string),
            names,
        })
    }
}

fn parsed(query: &str) -> Result<Box<Query>> {
    let mut parsed = statement::parse(query, usize::MAX)?;
    match statement::parsed_in(&mut parsed) {
        Some(ast::Statement::Query(query)) => Ok(query.clone()),
        _ => Err(refuse("this is no query")),
    }
}

/// The parts of a query.
struct Parts<'a> {
    select: &'a Select,
    table: String,
    groups: &'a [Expr],
}

/// An item of the list of columns.
struct Item<'a> {
    expr: &'a Expr,
    alias: Option<String>,
}

fn parts(query: &Query) -> Result<Parts<'_>> {
    let SetExpr::Select(select) = query.body.as_ref() else {
        return Err(refuse("it is not one SELECT"));
    };
    let [from] = select.from.as_slice() else {
        return Err(refuse("it is not of one table"));
    };
    let TableFactor::Table { name, .. } = &from.relation else {
        return Err(refuse(format!("{} is no table", from.relation)));
    };
    let GroupByExpr::Expressions(groups, _) = &select.group_by else {
        return Err(refuse("it has no groups"));
    };
    // What is not understood must not be left out: a query has nothing but these parts if it is written like them.
    let condition = select.selection.as_ref().map(|condition| format!(" WHERE {condition}"));
    let (items, by) = (listed(&select.projection), listed(groups));
    let condition = condition.unwrap_or_default();
    let plain = format!("SELECT {items} FROM {name}{condition} GROUP BY {by}");
    if query.to_string() != plain {
        return Err(refuse("it has parts that can't be kept"));
    }
    let table = last_of(name).ok_or_else(|| refuse("it is not of one table"))?;
    Ok(Parts { select, table, groups })
}

fn listed(parts: &[impl Display]) -> String {
    parts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

impl<'a> Parts<'a> {
    fn items(&self) -> Result<Vec<Item<'a>>> {
        let item = |item: &'a SelectItem| match item {
            SelectItem::UnnamedExpr(expr) => Ok(Item { expr, alias: None }),
            SelectItem::ExprWithAlias { expr, alias } => {
                Ok(Item { expr, alias: Some(normal(alias)) })
            }
            other => Err(refuse(format!("'{other}' is no group and no aggregate"))),
        };
        self.select.projection.iter().map(item).collect()
    }
}

/// What rows are grouped by, where a group is named by the place or the name of a column.
fn resolved<'a>(group: &'a Expr, items: &[Item<'a>], columns: &Schema) -> Result<&'a Expr> {
    match group {
        Expr::Value(value) => {
            let place = match &value.value {
                Value::Number(place, _) => place.parse::<usize>().ok(),
                _ => None,
            };
            let item = place.and_then(|place| items.get(place.checked_sub(1)?));
            item.map(|item| item.expr).ok_or_else(|| refuse(format!("there is no column {group}")))
        }
        Expr::Identifier(name) => {
            let name = normal(name);
            let named = |item: &&Item<'_>| item.alias.as_ref() == Some(&name);
            match items.iter().find(named) {
                Some(item) if item.expr != group && columns.index_of(&name).is_ok() => {
                    Err(refuse(format!(
                        "'{name}' is a column of the table and of the view: group by its place, as in GROUP BY 1"
                    )))
                }
                Some(item) => Ok(item.expr),
                None => Ok(group),
            }
        }
        _ => Ok(group),
    }
}

fn is_column(expr: &Expr) -> bool {
    matches!(expr, Expr::Identifier(_))
}

/// A call without anything around it, and what it is called with, as it was written.
fn plain_call(expr: &Expr) -> Option<(String, Vec<String>)> {
    let Expr::Function(call) = expr else { return None };
    let FunctionArguments::List(list) = &call.args else { return None };
    let argument = |argument: &FunctionArg| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.to_string()),
        FunctionArg::Unnamed(FunctionArgExpr::Wildcard) => Some("*".to_owned()),
        _ => None,
    };
    let arguments: Vec<String> = list.args.iter().map(argument).collect::<Option<_>>()?;
    let is_plain = expr.to_string() == format!("{}({})", call.name, arguments.join(", "));
    is_plain.then(|| (call.name.to_string().to_lowercase(), arguments))
}

fn is_time(argument: &str, time: &str) -> bool {
    argument == time || argument.trim_matches('"') == time || argument.to_lowercase() == time
}

/// The interval of a bucket, if that is what rows are grouped by.
fn bucket_interval(group: &Expr, time: &str) -> Result<Option<String>> {
    let Some((name, arguments)) = plain_call(group) else { return Ok(None) };
    if name != "time_bucket" {
        return Ok(None);
    }
    match arguments.as_slice() {
        [interval, of] if is_time(of, time) => Ok(Some(interval.clone())),
        _ => Err(refuse(format!(
            "time_bucket takes an interval and the table's time column, '{time}', here"
        ))),
    }
}

impl Aggregate {
    fn of(expr: &Expr, time: &str) -> Result<Self> {
        let refused = || refuse(format!("{expr} is no group and no aggregate that can be kept"));
        let (name, arguments) = plain_call(expr).ok_or_else(refused)?;
        let function = match name.as_str() {
            "sum" => AggregateKind::Sum,
            "count" => AggregateKind::Count,
            "min" => AggregateKind::Min,
            "max" => AggregateKind::Max,
            "avg" => AggregateKind::Avg,
            "first" => AggregateKind::First,
            "last" => AggregateKind::Last,
            _ => return Err(refused()),
        };
        let is_end = matches!(function, AggregateKind::First | AggregateKind::Last);
        match arguments.as_slice() {
            [argument] if !is_end => Ok(Self { function, argument: argument.clone() }),
            [argument, by] if is_end && is_time(by, time) => {
                Ok(Self { function, argument: argument.clone() })
            }
            _ => Err(refused()),
        }
    }
}

/// All names of columns in a query, which has nothing in it that reads other tables.
fn names_in(query: &Query) -> Result<BTreeSet<String>> {
    let mut found = Found { names: BTreeSet::new(), queries: 0, compound: None };
    rewrite(&mut query.clone(), &mut found);
    if found.queries > 1 {
        return Err(refuse("it has a query in it"));
    }
    match found.compound {
        Some(name) => Err(refuse(format!("write {name} without what is before the last point"))),
        None => Ok(found.names),
    }
}

struct Found {
    names: BTreeSet<String>,
    queries: usize,
    compound: Option<String>,
}

impl Rewriter for Found {
    fn enter_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.queries += 1;
        ControlFlow::Continue(())
    }

    fn enter_expr(&mut self, expr: &mut Expr) {
        match expr {
            Expr::Identifier(name) => {
                self.names.insert(normal(name));
            }
            Expr::CompoundIdentifier(_) => self.compound = Some(expr.to_string()),
            _ => {}
        }
    }
}

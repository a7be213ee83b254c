//! `SELECT symbol, avg(price) FROM trades SAMPLE BY 1h FILL(PREV)`, as QuestDB has it: rows by buckets of the table's time and by
//! whatever else is selected that is no aggregate, in the order of time; and buckets without rows filled.
//!
//! It becomes what it stands for: `time_bucket` and `GROUP BY ALL`, and `gap_fill` around these.

use std::ops::ControlFlow;

use datafusion::common::{DataFusionError, Result};
use datafusion::execution::SessionState;
use sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, FunctionArguments, GroupByExpr, Ident, OrderBy,
    OrderByExpr, OrderByKind, OrderByOptions, Query, Select, SelectItem, SetExpr, TableFactor,
    Value,
};
use sqlparser::parser::Parser;

use crate::dialect::{StandardPrecedence, call};
use crate::error::refused;
use crate::names::{last_of, normal, quoted};
use crate::planner_context::NamedTables;
use crate::rewrite::{Rewriter, rewrite};
use crate::sample_tokens::MARKER;

/// The bucket, where it is not selected, and how many rows a group has, where gaps are filled with values.
const BUCKET: &str = "__bucket";
const ROWS: &str = "__rows";

/// Makes each query with that clause what it stands for.
pub(crate) struct Samples<'a> {
    pub(crate) state: &'a SessionState,
    pub(crate) tables: &'a dyn NamedTables,
    pub(crate) outcome: Result<()>,
}

impl Rewriter for Samples<'_> {
    fn enter_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let clause = match query.body.as_ref() {
            SetExpr::Select(select) => Clause::of(select),
            _ => None,
        };
        let Some(clause) = clause else { return ControlFlow::Continue(()) };
        self.outcome = clause.and_then(|clause| self.sample(query, &clause));
        match self.outcome {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }
}

/// What a clause says.
struct Clause {
    interval: String,
    fills: Vec<String>,
    zone: String,
    start: Expr,
    end: Expr,
}

impl Clause {
    /// That of a query, if it has one.
    fn of(select: &Select) -> Option<Result<Self>> {
        let [Expr::Function(function)] = select.cluster_by.as_slice() else { return None };
        if function.name.to_string() != MARKER {
            return None;
        }
        let FunctionArguments::List(list) = &function.args else { return None };
        let values = list.args.iter().filter_map(|arg| match arg {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => Some(value.clone()),
            _ => None,
        });
        let values: Vec<Expr> = values.collect();
        let [interval, fills, zone, start, end] = values.as_slice() else {
            return Some(Err(refused("SAMPLE BY: FROM and TO take one time each")));
        };
        let fills = text_of(fills);
        let fills = fills.split(',').filter(|fill| !fill.is_empty()).map(str::to_uppercase);
        Some(Ok(Self {
            interval: text_of(interval),
            fills: fills.collect(),
            zone: text_of(zone),
            start: start.clone(),
            end: end.clone(),
        }))
    }

    fn has_no_gaps_filled(&self) -> bool {
        self.fills.iter().all(|fill| fill == "NONE")
    }

    /// How gaps are filled, by a word of `gap_fill`'s; and with which values, for each aggregate, where it is by values.
    fn fill(&self, aggregates: usize) -> Result<(&'static str, Vec<String>)> {
        if let [one] = self.fills.as_slice() {
            match one.as_str() {
                "NULL" => return Ok(("null", Vec::new())),
                "PREV" => return Ok(("previous", Vec::new())),
                "LINEAR" => return Ok(("linear", Vec::new())),
                _ => {}
            }
        }
        let is_value = |fill: &String| fill == "NULL" || fill.parse::<f64>().is_ok();
        if !self.fills.iter().all(is_value) {
            return Err(refused(
                "FILL takes one of NONE, NULL, PREV and LINEAR for all columns, or a value for each",
            ));
        }
        match (self.fills.as_slice(), aggregates) {
            ([one], count) => Ok(("null", vec![one.clone(); count])),
            (fills, count) if fills.len() == count => Ok(("null", fills.to_vec())),
            (fills, count) => Err(refused(format!(
                "FILL has {} values for {count} aggregates: give one for each, or one for all",
                fills.len()
            ))),
        }
    }
}

/// One column of the answer.
struct Column {
    name: String,
    is_aggregate: bool,
}

impl Samples<'_> {
    fn sample(&self, query: &mut Query, clause: &Clause) -> Result<()> {
        let SetExpr::Select(select) = query.body.as_mut() else { return Ok(()) };
        let time = self.time_of(select)?;
        let groups = matches!(&select.group_by, GroupByExpr::Expressions(by, _) if by.is_empty());
        if !groups {
            return Err(refused(
                "SAMPLE BY groups by all that is selected and no aggregate: leave GROUP BY out",
            ));
        }
        select.cluster_by.clear();
        select.group_by = GroupByExpr::All(Vec::new());
        let mut bucket_args = vec![literal(&clause.interval), name(&time)];
        if !clause.zone.is_empty() {
            bucket_args.push(literal(&clause.zone));
        }
        let bucket = call("time_bucket", bucket_args);
        let (columns, shown) = self.columns(select, &time, &bucket)?;
        let bucket_name = shown.clone().unwrap_or_else(|| BUCKET.to_owned());
        if shown.is_none() {
            select.projection.insert(0, aliased(bucket, BUCKET));
        }
        if query.order_by.is_none() {
            query.order_by = Some(ordered_by(&bucket_name));
        }
        if clause.has_no_gaps_filled() && shown.is_some() {
            return Ok(());
        }
        let outer = outer(clause, &columns, &bucket_name)?;
        select.projection.push(aliased(counted(), ROWS));
        let inner = std::mem::replace(query.body.as_mut(), SetExpr::Select(Box::new(outer)));
        put_in(query, inner);
        Ok(())
    }

    /// The column that the table of a query has its times in.
    fn time_of(&self, select: &Select) -> Result<String> {
        let one = match select.from.as_slice() {
            [from] if from.joins.is_empty() => match &from.relation {
                TableFactor::Table { name, args: None, .. } => last_of(name),
                _ => None,
            },
            _ => None,
        };
        let Some(table) = one else {
            return Err(refused(
                "SAMPLE BY takes one table: of other rows, group by time_bucket('1 hour', time)",
            ));
        };
        self.tables.time_column(&table)
    }

    /// Gives all columns names, and those of the time the bucket; and says what the bucket is called, if it is selected.
    fn columns(
        &self,
        select: &mut Select,
        time: &str,
        bucket: &Expr,
    ) -> Result<(Vec<Column>, Option<String>)> {
        let (mut columns, mut shown) = (Vec::new(), None);
        for item in &mut select.projection {
            let (expr, name) = match item {
                SelectItem::UnnamedExpr(expr) => (expr.clone(), named(expr)),
                SelectItem::ExprWithAlias { expr, alias } => (expr.clone(), normal(alias)),
                _ => return Err(refused("SAMPLE BY takes columns and aggregates, and not *")),
            };
            let is_time = is_column(&expr, time);
            if is_time {
                shown.get_or_insert_with(|| name.clone());
            }
            let is_aggregate = self.has_aggregate(&expr);
            *item = aliased(if is_time { bucket.clone() } else { expr }, &name);
            columns.push(Column { name, is_aggregate });
        }
        Ok((columns, shown))
    }

    fn has_aggregate(&self, expr: &Expr) -> bool {
        struct Looking<'a>(&'a SessionState, bool);
        impl Rewriter for Looking<'_> {
            fn enter_expr(&mut self, expr: &mut Expr) {
                let Expr::Function(function) = expr else { return };
                let name = function.name.to_string().to_lowercase();
                self.1 |= self.0.aggregate_functions().contains_key(&name);
            }
        }
        let mut looking = Looking(self.state, false);
        rewrite(&mut expr.clone(), &mut looking);
        looking.1
    }
}

/// The query around one whose rows are `(SELECT 1)` in it for now.
fn outer(clause: &Clause, columns: &[Column], bucket: &str) -> Result<Select> {
    let aggregates = columns.iter().filter(|column| column.is_aggregate).count();
    let (word, values) = match clause.has_no_gaps_filled() {
        true => ("", Vec::new()),
        false => clause.fill(aggregates)?,
    };
    let mut values = values.into_iter();
    let item = |column: &Column| {
        let name = quoted(&column.name);
        match column.is_aggregate.then(|| values.next()).flatten() {
            Some(value) if value != "NULL" => {
                format!("CASE WHEN {ROWS} IS NULL THEN {value} ELSE {name} END AS {name}")
            }
            _ => name,
        }
    };
    let items: Vec<String> = columns.iter().map(item).collect();
    let from = match word {
        "" => "(SELECT 1)".to_owned(),
        word => {
            let keys =
                columns.iter().filter(|column| !column.is_aggregate && column.name != bucket);
            let keys: Vec<String> = keys.map(|column| literal(&column.name).to_string()).collect();
            let mut arguments = format!(
                "(SELECT 1), {}, {}, fill => '{word}'",
                literal(bucket),
                literal(&clause.interval)
            );
            if !keys.is_empty() {
                arguments += &format!(", by => [{}]", keys.join(", "));
            }
            let bounds = [("start", &clause.start), ("end", &clause.end)];
            for (name, bound) in bounds.into_iter().filter(|(_, bound)| !is_null(bound)) {
                arguments += &format!(", {name} => {bound}");
            }
            if !clause.zone.is_empty() {
                arguments += &format!(", zone => {}", literal(&clause.zone));
            }
            format!("gap_fill({arguments})")
        }
    };
    let text = format!("SELECT {} FROM {from}", items.join(", "));
    let parsed = Parser::new(&StandardPrecedence)
        .try_with_sql(&text)
        .and_then(|mut parser| parser.parse_select());
    parsed.map_err(|error| DataFusionError::SQL(Box::new(error), None))
}

/// Puts the rows of a query in the place of `(SELECT 1)` in `query`.
fn put_in(query: &mut Query, inner: SetExpr) {
    let inner = Query { body: Box::new(inner), ..empty_query(query) };
    let SetExpr::Select(select) = query.body.as_mut() else { return };
    let Some(from) = select.from.first_mut() else { return };
    match &mut from.relation {
        TableFactor::Derived { subquery, .. } => **subquery = inner,
        TableFactor::Table { args: Some(args), .. } => {
            let first = args.args.first_mut();
            if let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Subquery(subquery)))) =
                first
            {
                **subquery = inner;
            }
        }
        _ => {}
    }
}

/// A query like another with nothing but a body.
fn empty_query(query: &Query) -> Query {
    Query {
        with: None,
        order_by: None,
        limit_clause: None,
        fetch: None,
        locks: Vec::new(),
        ..query.clone()
    }
}

fn ordered_by(column: &str) -> OrderBy {
    let options = OrderByOptions { asc: None, nulls_first: None };
    let by = OrderByExpr { expr: name(column), options, with_fill: None };
    OrderBy { kind: OrderByKind::Expressions(vec![by]), interpolate: None }
}

fn counted() -> Expr {
    call("count", vec![Expr::value(Value::Number("1".to_owned(), false))])
}

fn aliased(expr: Expr, name: &str) -> SelectItem {
    SelectItem::ExprWithAlias { expr, alias: Ident::with_quote('"', name) }
}

fn name(column: &str) -> Expr {
    Expr::Identifier(Ident::with_quote('"', column))
}

fn literal(text: &str) -> Expr {
    Expr::value(Value::SingleQuotedString(text.to_owned()))
}

fn is_null(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(value) if value.value == Value::Null)
}

/// The text of a literal.
fn text_of(expr: &Expr) -> String {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => text.clone(),
            _ => String::new(),
        },
        _ => String::new(),
    }
}

/// What an expression without a name is called.
fn named(expr: &Expr) -> String {
    match expr {
        Expr::Identifier(name) => normal(name),
        Expr::CompoundIdentifier(parts) => parts.last().map(normal).unwrap_or_default(),
        other => other.to_string(),
    }
}

fn is_column(expr: &Expr, column: &str) -> bool {
    let last = match expr {
        Expr::Identifier(name) => Some(name),
        Expr::CompoundIdentifier(parts) => parts.last(),
        _ => None,
    };
    last.is_some_and(|last| last.value.to_lowercase() == column.to_lowercase())
}

//! Columns that tables are joined by, in `WHERE`: the planner takes one that `USING` makes of two for either of them, and so for
//! ambiguous. It is the one of the table whose rows are all kept.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Ident, JoinConstraint, JoinOperator, ObjectName, Query, Select, TableFactor,
    TableWithJoins,
};

use crate::rewrite::{Rewriter, rewrite};

/// Says of which table each such column is, where all tables are joined by it. One of a `FULL JOIN` is of neither.
pub(crate) fn tell_tables(select: &mut Select) {
    let ([from], Some(selection)) = (select.from.as_slice(), &mut select.selection) else { return };
    let Some((table, columns)) = joined(from) else { return };
    // A query within has columns of its own.
    let mut within = Within(false);
    rewrite(selection, &mut within);
    if !within.0 {
        rewrite(selection, &mut Columns { table, columns });
    }
}

/// The columns by which all tables are joined, and the one that has them.
fn joined(from: &TableWithJoins) -> Option<(Ident, Vec<Ident>)> {
    let mut table = name_of(&from.relation)?;
    let mut columns: Option<Vec<Ident>> = None;
    for join in &from.joins {
        let (using, keeps_left) = match &join.join_operator {
            JoinOperator::Join(by) | JoinOperator::Inner(by) => (by, true),
            JoinOperator::Left(by) | JoinOperator::LeftOuter(by) => (by, true),
            JoinOperator::Right(by) | JoinOperator::RightOuter(by) => (by, false),
            _ => return None,
        };
        let JoinConstraint::Using(names) = using else { return None };
        let names: Vec<Ident> = names.iter().filter_map(only_ident).collect();
        if !keeps_left {
            table = name_of(&join.relation)?;
        }
        columns = Some(match columns {
            None => names,
            Some(before) => before.into_iter().filter(|one| is_among(&names, one)).collect(),
        });
    }
    columns.filter(|columns| !columns.is_empty()).map(|columns| (table, columns))
}

fn name_of(table: &TableFactor) -> Option<Ident> {
    match table {
        TableFactor::Table { alias: Some(alias), .. }
        | TableFactor::Derived { alias: Some(alias), .. } => Some(alias.name.clone()),
        TableFactor::Table { name, alias: None, .. } => last_ident(name),
        _ => None,
    }
}

fn only_ident(name: &ObjectName) -> Option<Ident> {
    if name.0.len() == 1 { last_ident(name) } else { None }
}

fn is_among(columns: &[Ident], ident: &Ident) -> bool {
    let is_it = |column: &Ident| match (column.quote_style, ident.quote_style) {
        (None, None) => column.value.eq_ignore_ascii_case(&ident.value),
        _ => column.value == ident.value,
    };
    columns.iter().any(is_it)
}

/// Whether there is a query in a part.
struct Within(bool);

impl Rewriter for Within {
    fn enter_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.0 = true;
        ControlFlow::Break(())
    }
}

struct Columns {
    table: Ident,
    columns: Vec<Ident>,
}

impl Rewriter for Columns {
    fn leave_expr(&mut self, expr: &mut Expr) {
        if let Expr::Identifier(ident) = expr
            && is_among(&self.columns, ident)
        {
            *expr = Expr::CompoundIdentifier(vec![self.table.clone(), ident.clone()]);
        }
    }
}

fn last_ident(name: &ObjectName) -> Option<Ident> {
    name.0.last().and_then(|part| part.as_ident()).cloned()
}

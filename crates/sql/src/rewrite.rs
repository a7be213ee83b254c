//! Walks over the syntax tree of a statement that change it.
//!
//! The parser's library makes a walk anew for each type that is called back, which is more than five hundred functions
//! each time. All of ours go through one type, so that they are built once.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Query, Select, TableFactor, VisitMut, VisitorMut};

/// What is done with the parts of a statement. Those in a part come after it is entered, and before it is left.
pub(crate) trait Rewriter {
    /// `Break` ends the walk.
    fn enter_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// `Break` ends the walk.
    fn enter_select(&mut self, _: &mut Select) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn enter_table(&mut self, _: &mut TableFactor) {}

    fn leave_table(&mut self, _: &mut TableFactor) {}

    fn enter_expr(&mut self, _: &mut Expr) {}

    fn leave_expr(&mut self, _: &mut Expr) {}
}

/// Does one thing with each expression, once those in it are done.
pub(crate) struct EachExpr(pub(crate) fn(&mut Expr));

impl Rewriter for EachExpr {
    fn leave_expr(&mut self, expr: &mut Expr) {
        self.0(expr);
    }
}

/// Calls `rewriter` for all parts of a statement, or of a part of one.
pub(crate) fn rewrite(part: &mut impl VisitMut, rewriter: &mut dyn Rewriter) {
    // Whoever ends a walk knows it.
    let _: ControlFlow<()> = part.visit(&mut Walk(rewriter));
}

struct Walk<'a>(&'a mut dyn Rewriter);

impl VisitorMut for Walk<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        self.0.enter_query(query)
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        self.0.enter_select(select)
    }

    fn pre_visit_table_factor(&mut self, table: &mut TableFactor) -> ControlFlow<()> {
        self.0.enter_table(table);
        ControlFlow::Continue(())
    }

    fn post_visit_table_factor(&mut self, table: &mut TableFactor) -> ControlFlow<()> {
        self.0.leave_table(table);
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        self.0.enter_expr(expr);
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        self.0.leave_expr(expr);
        ControlFlow::Continue(())
    }
}

//! Materialised views: the rows of an aggregate over time, kept up to date from what changes in its table.
//!
//! A view is a stream of *partial results*, one row a bucket and group: sums and counts, ends with their times (an average is a sum and a count). They add up,
//! whatever was added up before, so that rows that come are added without a look at those that are there. What goes or is replaced can't be taken off a
//! minimum: its whole bucket is counted again, from the table's rows.
//!
//! ```text
//!   commits of the table     | .......... folded .......... | F+1 ........ S |
//!                                         |                       |      |
//!                            rows of the view, as of F            |      |  rows that came: added
//!                                         |                       |      |  buckets where rows went: counted again
//!                                         v                       v      v
//!   the view at S  =     buckets that nothing touched   +   what changed since F, of the table as it is at S
//! ```
//!
//! *Folding* (`crate::folding`) writes that into the view, in one commit with the new F (`timestrata_table::place_of`): after a kill the view has all of a change or nothing of it, and goes
//! on from F. A thread of the store does it, while there is a [`crate::Sql`] that may write. *Reading* does the same sum without writing it: so a view answers as of the
//! snapshot it is read at, however far folding has come, and costs as much more as has not been folded.
//!
//! Retention takes rows out of the table and not out of the view. So a bucket of which rows may have expired is not counted again, and the table refuses
//! what would ask for it (`timestrata_table`, `materialized`). Where changes since F are not kept, because the store is read as it was or was open without
//! `history_min`, all other buckets are counted again.
//!
//! Weighed against it: to write into the view with each commit of the table, which is as exact and costs each writer the sum and a second stream; and to answer as
//! of F, which is cheaper to read and not what a SeqNo says.

mod answer;
mod definition;
mod follower;
mod gathering;
mod shape;

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::logical_expr::LogicalPlan;
use timestrata_engine::Stream;
use timestrata_table::materialized_from;

use self::answer::answered;
pub(crate) use self::answer::{Place, renewed};
pub(crate) use self::definition::{Definition, unfit};
pub(crate) use self::follower::{Folding, Follower};
pub(crate) use self::gathering::{Gathering, Unfolded};
use crate::catalog::{Catalog, PlansViews};
use crate::planning::{Planning, planned_view};

/// Plans of views, materialised and others.
#[derive(Debug)]
pub(crate) struct ViewPlans;

impl PlansViews for ViewPlans {
    fn plan(&self, catalog: Catalog, view: &Arc<Stream>, query: &str) -> Result<LogicalPlan> {
        let read = catalog.read_from().clone();
        let planning = Planning { state: catalog.planning_state(), catalog };
        match materialized_from(view) {
            Some(_) => answered(&planning, &read, view, query),
            None => planned_view(&planning, query),
        }
    }
}

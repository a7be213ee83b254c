//! What a materialised view answers at a snapshot, and what is written to bring it up to date.

use std::sync::Arc;
use std::time::Duration;

use datafusion::arrow::datatypes::Schema;
use datafusion::catalog::TableProvider;
use datafusion::common::{Column, Result, TableReference};
use datafusion::datasource::{MemTable, ViewTable, provider_as_source};
use datafusion::execution::SessionState;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, lit};
use timestrata_engine::{
    Cell, ErrorKind, KeyRange, LeadKey, Result as EngineResult, ScanSpec, SeqNo, Snapshot, Store,
    Stream,
};
use timestrata_table::{MARGIN, place_of};

use super::definition::{ADDED, BASE, Definition, KEPT, time_literal};
use super::follower::Follower;
use super::gathering::{Gathering, Unfolded, complement};
use crate::error::{carried, refused};
use crate::planner_context::NamedTables;
use crate::planning::Planning;
use crate::ranges::Ranges;
use crate::schema::SqlTable;
use crate::table::{ReadFrom, provider};

/// How far a materialised view has come.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    /// The commit up to which the table's changes are in the view.
    pub(crate) folded: SeqNo,
    /// Before which time rows could have expired then.
    pub(crate) horizon: Option<i64>,
}

impl Place {
    /// `None`: it has not begun.
    pub(crate) fn at(snapshot: &Snapshot, view: &str) -> EngineResult<Option<Self>> {
        let name = place_of(view);
        let Some(stream) = snapshot.streams().find(|stream| stream.name() == name) else {
            return Ok(None);
        };
        let rows = snapshot.collect(stream.id(), &ScanSpec::default())?;
        let (Some(folded), Some(horizon)) =
            (rows.column_by_name("folded"), rows.column_by_name("horizon"))
        else {
            return Ok(None);
        };
        let Some(last) = rows.num_rows().checked_sub(1) else { return Ok(None) };
        let horizon = match Cell::of(horizon.as_ref(), last) {
            Some(Cell::Int(horizon)) => Some(horizon),
            _ => None,
        };
        Ok(match Cell::of(folded.as_ref(), last) {
            Some(Cell::UInt(folded)) => Some(Self { folded: SeqNo(folded), horizon }),
            _ => None,
        })
    }
}

/// The query of a materialised view at the catalog's snapshot, as a plan: over what is kept, and what has changed since.
pub(crate) fn answered(
    planning: &Planning,
    read: &ReadFrom,
    rows: &Arc<Stream>,
    query: &str,
) -> Result<LogicalPlan> {
    let definition = Definition::of(planning, query).map_err(carried)?;
    let unfolded = unfolded(&definition, &read.store, &read.snapshot, rows).map_err(carried)?;
    let tables = Tables::new(&definition, read, rows, &unfolded, None)?;
    definition.finished(&planning.state, &tables, &tables.query())
}

/// The rows that bring a view up to date, in place of those that it has where something has changed.
pub(crate) fn renewed(
    definition: &Definition,
    state: &SessionState,
    read: &ReadFrom,
    rows: &Arc<Stream>,
    unfolded: &Unfolded,
) -> Result<LogicalPlan> {
    let tables = Tables::new(definition, read, rows, unfolded, Some(&unfolded.touched))?;
    definition.plan(state, &tables, &tables.query())
}

/// What a snapshot has that the view at it has not.
fn unfolded(
    definition: &Definition,
    store: &Store,
    snapshot: &Snapshot,
    rows: &Stream,
) -> EngineResult<Unfolded> {
    let Some(place) = Place::at(snapshot, rows.name())? else {
        return Ok(Unfolded::everything(None));
    };
    // What was folded last is in a commit of its own.
    if snapshot.seq() <= place.folded.next() {
        return Ok(Unfolded::nothing());
    }
    let closed = definition.open_from(store.wall_ns(), Duration::ZERO);
    let mut gathering = Gathering::new(definition, closed);
    let followed = Follower::behind(store, place.folded)
        .and_then(|mut follower| follower.gather(&mut gathering, snapshot.seq(), rows.id()));
    match followed {
        Ok(()) => Ok(gathering.finish()),
        // A store as it was keeps no changes: all is counted again that can be. Buckets whose rows expired since it was folded last took no changes
        // meanwhile.
        Err(error)
            if matches!(error.kind(), ErrorKind::HistoryLost | ErrorKind::InvalidArgument) =>
        {
            let margin = definition.units(i64::try_from(MARGIN.as_nanos() / 2).unwrap_or(0));
            let closed = place.horizon.map(|horizon| horizon.saturating_add(margin));
            Ok(Unfolded::everything(closed.map(|closed| definition.first_from(closed))))
        }
        Err(error) => Err(error),
    }
}

/// The tables of the queries over what is kept.
struct Tables<'a> {
    definition: &'a Definition,
    kept: Option<Arc<dyn TableProvider>>,
    added: Option<Arc<dyn TableProvider>>,
    base: Option<Arc<dyn TableProvider>>,
}

impl<'a> Tables<'a> {
    /// `only`: of what is kept, what is in there.
    fn new(
        definition: &'a Definition,
        read: &ReadFrom,
        rows: &Arc<Stream>,
        unfolded: &Unfolded,
        only: Option<&Ranges>,
    ) -> Result<Self> {
        let (again, rest) = (&unfolded.again, complement(&unfolded.again));
        let kept = only.map_or(rest.clone(), |only| only.intersect(&rest));
        let table = provider(SqlTable::whole(rows), read);
        let kept = within(table, rows.schema(), 0, &kept)?;
        let time = definition.time_name();
        let column = definition.read.index_of(time)?;
        let added = match unfolded.added.is_empty() {
            true => None,
            false => {
                let batches = vec![unfolded.added.clone()];
                let table = MemTable::try_new(Arc::clone(&definition.read), batches)?;
                within(Arc::new(table), &definition.read, column, &rest)?
            }
        };
        let base = provider(definition.base.clone(), read);
        let stored = definition.base.stream.schema();
        let base = within(base, stored, definition.base.stream.lead_column(), again)?;
        Ok(Self { definition, kept, added, base })
    }

    /// One partial result a group.
    fn query(&self) -> String {
        let definition = self.definition;
        let kept = self.kept.as_ref().map(|_| definition.kept());
        let added = self.added.as_ref().map(|_| definition.partial(ADDED));
        let merged = match (kept, added) {
            (Some(kept), Some(added)) => {
                Some(definition.merged(&format!("{kept} UNION ALL {added}")))
            }
            (kept, added) => kept.or(added),
        };
        let again = self.base.as_ref().map(|_| definition.partial(BASE));
        match (merged, again) {
            (Some(merged), Some(again)) => format!("{merged} UNION ALL {again}"),
            (merged, again) => merged.or(again).unwrap_or_else(|| definition.kept()),
        }
    }
}

impl NamedTables for Tables<'_> {
    fn named(&self, name: &TableReference) -> Result<Arc<dyn TableProvider>> {
        let table = match name.table() {
            KEPT => &self.kept,
            ADDED => &self.added,
            BASE => &self.base,
            _ => &None,
        };
        table.clone().ok_or_else(|| refused(format!("there is no table '{name}' in a view")))
    }
}

/// The rows of a table whose times are in some ranges; `None` where there are none of these.
fn within(
    table: Arc<dyn TableProvider>,
    schema: &Schema,
    time: usize,
    ranges: &Ranges,
) -> Result<Option<Arc<dyn TableProvider>>> {
    if ranges.as_slice().is_empty() {
        return Ok(None);
    }
    if ranges.is_all() {
        return Ok(Some(table));
    }
    let field = schema.field(time);
    let column = || Expr::Column(Column::from_name(field.name()));
    let literal = |key: LeadKey| key.time().map(|time| lit(time_literal(time, field.data_type())));
    let in_range = |range: &KeyRange| {
        let from = range.lo.and_then(literal).map(|from| column().gt_eq(from));
        let to = range.hi.and_then(literal).map(|to| column().lt(to));
        from.into_iter().chain(to).reduce(Expr::and).unwrap_or_else(|| lit(true))
    };
    let condition = ranges.as_slice().iter().map(in_range).reduce(Expr::or);
    let scan = LogicalPlanBuilder::scan("t", provider_as_source(table), None)?;
    let filtered = scan.filter(condition.unwrap_or_else(|| lit(false)))?.build()?;
    Ok(Some(Arc::new(ViewTable::new(filtered, None))))
}

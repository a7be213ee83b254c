//! What one query has set aside of the memory of all.

use std::fmt;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::execution::memory_pool::{
    MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation,
};
use timestrata_engine::RunningQuery;

/// Hands everything on to the pool of all queries, and counts it. It refuses nothing by itself: who gets no
/// memory mostly spills first.
#[derive(Debug)]
pub(super) struct QueryPool {
    all: Arc<dyn MemoryPool>,
    query: RunningQuery,
}

impl QueryPool {
    pub(super) fn new(all: Arc<dyn MemoryPool>, query: RunningQuery) -> Self {
        Self { all, query }
    }
}

impl fmt::Display for QueryPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.all.fmt(f)
    }
}

impl MemoryPool for QueryPool {
    fn name(&self) -> &'static str {
        "QueryPool"
    }

    fn register(&self, consumer: &MemoryConsumer) {
        self.all.register(consumer);
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        self.all.unregister(consumer);
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        self.all.grow(reservation, additional);
        self.query.grow(additional as u64);
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        self.all.shrink(reservation, shrink);
        self.query.shrink(shrink as u64);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        self.all.try_grow(reservation, additional)?;
        self.query.grow(additional as u64);
        Ok(())
    }

    fn reserved(&self) -> usize {
        self.all.reserved()
    }

    fn memory_limit(&self) -> MemoryLimit {
        self.all.memory_limit()
    }
}

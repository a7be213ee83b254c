//! What is asked of logs, beside what is asked of all models.

use timestrata_logs::Query;
use timestrata_logs::filter::Filter;

use crate::error::{Failure, Result};
use crate::routes::asked::{Asked, Question};

/// A request to a log: which log it is, and what is asked of it.
pub(super) type LogRequest = Question;

impl Asked {
    /// `filter`.
    ///
    /// # Errors
    /// `400` with all that the parser says.
    pub(super) fn filter(&mut self) -> Result<Filter> {
        let text = self.take("filter")?.unwrap_or_default();
        text.parse()
            .map_err(|error: timestrata_engine::Error| Failure::bad_request(error.to_string()))
    }

    /// `filter`, `from`, `to` and `by`.
    pub(super) fn query(&mut self) -> Result<Query> {
        let (filter, by) = (self.filter()?, self.parsed("by")?);
        let (from, to) = (self.time("from")?, self.time("to")?);
        if let (Some(from), Some(to)) = (from, to)
            && from > to
        {
            return Err(Failure::bad_request("the range ends before it begins"));
        }
        Ok(Query { filter, by, from, to, ..Query::default() })
    }
}

//! The SQL that answers a question of logs.

#[cfg(test)]
mod tests;

use timestrata_values::time::text as time_text;

use crate::filter::{Figure, Function, Group, Question, Target};
use crate::{Clock, Query};

/// A log that is asked, and the clock that it goes by.
///
/// ```
/// use timestrata_logs::filter::Question;
/// use timestrata_logs::{AskedLog, Clock, Query};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// let question: Question = "error | stats count by host".parse()?;
/// let logs = ["app", "web"].map(|name| AskedLog { name, clock: Clock::Timestamp });
/// let statement = question.statement(&logs, &Query::default());
/// assert!(statement.contains("UNION ALL"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AskedLog<'a> {
    /// Its name.
    pub name: &'a str,
    /// What its times are by, where the query names no other.
    pub clock: Clock,
}

impl Question {
    /// The statement that answers it of one log or of several, over the times of `range`; its filter, order and limit
    /// are not looked at.
    pub fn statement(&self, logs: &[AskedLog<'_>], range: &Query) -> String {
        let parts: Vec<String> = logs.iter().map(|log| self.entries_of(*log, range)).collect();
        let groups = self.groups.iter().map(|group| (group_sql(group), group.name()));
        let figures = self.figures.iter().map(|figure| (figure_sql(figure), figure.name.clone()));
        let columns: Vec<String> = groups
            .chain(figures)
            .map(|(sql, name)| format!("{sql} AS {}", quoted(&name)))
            .collect();
        let mut statement = format!(
            "SELECT {} FROM ({}) AS entries",
            columns.join(", "),
            parts.join(" UNION ALL ")
        );
        let places: Vec<String> = (1..=self.groups.len()).map(|place| place.to_string()).collect();
        if !places.is_empty() {
            statement.push_str(" GROUP BY ");
            statement.push_str(&places.join(", "));
        }
        // Behind what was asked for, the groups: so that equal rows have an order too.
        let asked = self.order.iter().map(|(name, is_descending)| {
            let way = if *is_descending { "DESC NULLS LAST" } else { "ASC NULLS LAST" };
            format!("{} {way}", quoted(name))
        });
        let rest = self.groups.iter().map(Group::name);
        let rest = rest.filter(|name| self.order.iter().all(|(asked, _)| asked != name));
        let order: Vec<String> =
            asked.chain(rest.map(|name| format!("{} NULLS LAST", quoted(&name)))).collect();
        if !order.is_empty() {
            statement.push_str(" ORDER BY ");
            statement.push_str(&order.join(", "));
        }
        if let Some(limit) = self.limit {
            statement.push_str(&format!(" LIMIT {limit}"));
        }
        statement
    }

    /// The entries of one log that are looked at.
    fn entries_of(&self, log: AskedLog<'_>, range: &Query) -> String {
        let time = match range.by.unwrap_or(log.clock) {
            Clock::Timestamp => "timestamp",
            Clock::SourceTime => "coalesce(source_time, timestamp)",
        };
        let filter = self.filter.to_string();
        let from = match filter.as_str() {
            "*" => quoted(log.name),
            filter => format!("search({}, {})", quoted(log.name), literal(filter)),
        };
        let bound =
            |sign: &str, ns: i64| format!("{time} {sign} TIMESTAMP {}", literal(&time_text(ns)));
        let bounds = [range.from.map(|from| bound(">=", from)), range.to.map(|to| bound("<", to))];
        let bounds: Vec<String> = bounds.into_iter().flatten().collect();
        let bounds = match bounds.is_empty() {
            true => String::new(),
            false => format!(" WHERE {}", bounds.join(" AND ")),
        };
        format!(
            "SELECT {} AS log, {time} AS \"time\", timestamp, source_time, level, message, labels, \
             fields FROM {from}{bounds}",
            literal(log.name)
        )
    }
}

fn group_sql(group: &Group) -> String {
    match group {
        Group::Time(step) => format!(
            "time_bucket(INTERVAL '{step} nanoseconds', \"time\", TIMESTAMP '1970-01-01T00:00:00Z')"
        ),
        Group::Log => "log".to_owned(),
        Group::Field(target) => value_of(target),
    }
}

fn figure_sql(figure: &Figure) -> String {
    let value = figure.of.as_ref().map(value_of);
    let number = |value: Option<String>| {
        format!("TRY_CAST({} AS DOUBLE)", value.unwrap_or_else(|| "NULL".to_owned()))
    };
    match (figure.function, value) {
        (Function::Count, None) => "count(*)".to_owned(),
        (Function::Count, Some(value)) => format!("count({value})"),
        (Function::Distinct, value) => {
            format!("count(DISTINCT {})", value.unwrap_or_else(|| "NULL".to_owned()))
        }
        (Function::Sum, value) => format!("sum({})", number(value)),
        (Function::Mean, value) => format!("avg({})", number(value)),
        (Function::Min, value) => format!("min({})", number(value)),
        (Function::Max, value) => format!("max({})", number(value)),
        (Function::Percentile(percent), value) => format!(
            "approx_percentile_cont({}) WITHIN GROUP (ORDER BY {})",
            percent / 100.0,
            number(value)
        ),
        (Function::Rate(step), _) => format!("count(*) * 1e9 / {step}.0"),
    }
}

/// The value of a part of an entry: of a field its label's, else its own, as a filter takes it.
fn value_of(target: &Target) -> String {
    match target {
        Target::Anywhere | Target::Message => "message".to_owned(),
        Target::Level => "level".to_owned(),
        Target::Timestamp => "timestamp".to_owned(),
        Target::SourceTime => "source_time".to_owned(),
        Target::Field(name) => {
            let plain = literal(name);
            let mut values = format!("labels->>{plain}, fields->>{plain}");
            let path: Vec<&str> = name.split('.').collect();
            if let [outer @ .., last] = path.as_slice()
                && !outer.is_empty()
            {
                let outer: String =
                    outer.iter().map(|part| format!("->{}", literal(part))).collect();
                values.push_str(&format!(", fields{outer}->>{}", literal(last)));
            }
            format!("coalesce({values})")
        }
    }
}

/// A name of a column or a log.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A text as it stands in SQL.
fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

//! Where in a message a filter has found what it looks for, for who shows that.

use std::ops::Range;

use super::{Expr, Filter, Target, Term, Test};

impl Filter {
    /// The places in a message, in bytes, of the words, phrases and regular expressions that the filter wants in it: in
    /// order, none empty, none touching another. What it wants not to be there, and what it wants of fields, has none.
    ///
    /// ```
    /// use timestrata_logs::filter::Filter;
    ///
    /// # fn main() -> timestrata_engine::Result<()> {
    /// let filter: Filter = "disk (full or /9[0-9]%/) not debug".parse()?;
    /// assert_eq!(filter.places("Disk 98% full"), [0..4, 5..8, 9..13]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn places(&self, message: &str) -> Vec<Range<usize>> {
        let mut places = Vec::new();
        add(self.root(), message, &mut places);
        places.retain(|place| !place.is_empty());
        places.sort_unstable_by_key(|place| (place.start, place.end));
        places.dedup_by(|next, before| {
            let is_one = next.start <= before.end;
            if is_one {
                before.end = before.end.max(next.end);
            }
            is_one
        });
        places
    }
}

fn add(expr: &Expr, message: &str, places: &mut Vec<Range<usize>>) {
    match expr {
        Expr::And(parts) | Expr::Or(parts) => {
            parts.iter().for_each(|part| add(part, message, places));
        }
        Expr::Term(Term {
            target: Target::Anywhere | Target::Message,
            test: Test::Contains(pattern),
        }) => places.extend(pattern.places(message)),
        Expr::All | Expr::Not(_) | Expr::Term(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a filter finds in a message.
    fn found<'a>(filter: &str, message: &'a str) -> Vec<&'a str> {
        let places = filter.parse::<Filter>().unwrap().places(message);
        places.into_iter().map(|place| &message[place]).collect()
    }

    #[test]
    fn what_a_filter_wants_in_a_message_has_places() {
        assert_eq!(found("error", "error: no Error, two errors"), ["error", "Error"]);
        assert_eq!(found("err*", "two errors"), ["err"]);
        assert_eq!(found("message:\"öl ist\"", "Öl ist weg"), ["Öl ist"]);
        assert_eq!(found("a or (b c)", "a b c"), ["a", "b", "c"]);
        assert_eq!(found("\"a b\" \"b c\"", "a b c"), ["a b c"]);
        assert_eq!(found("/x*/", "axxb"), ["xx"]);
        assert_eq!(found("/(?i)DISK/ or disk", "a disk"), ["disk"]);
        for none in ["", "not a", "level>=warn", "host:a", "message=a"] {
            assert!(found(none, "a").is_empty(), "{none}");
        }
    }
}

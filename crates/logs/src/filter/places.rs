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

    fn places(filter: &str, message: &str) -> Vec<Range<usize>> {
        filter.parse::<Filter>().unwrap().places(message)
    }

    #[test]
    fn what_a_filter_wants_in_a_message_has_places() {
        assert_eq!(places("error", "error: no Error, two errors"), [0..5, 10..15]);
        assert_eq!(places("err*", "two errors"), [4..7]);
        assert_eq!(places("message:\"öl ist\"", "Öl ist weg"), [0..7]);
        assert_eq!(places("a or (b c)", "a b c"), [0..1, 2..3, 4..5]);
        assert_eq!(places("\"a b\" \"b c\"", "a b c"), [0..5]);
        assert_eq!(places("/x*/", "axxb"), [1..3]);
        assert_eq!(places("/(?i)DISK/ or disk", "a disk"), [2..6]);
        for none in ["", "not a", "level>=warn", "host:a", "message=a"] {
            assert!(places(none, "a").is_empty(), "{none}");
        }
    }
}

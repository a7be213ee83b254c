//! A search in the texts of many rows that lie one behind the other in memory.

use std::ops::Range;

use super::finder::Finder;

/// Texts of rows, end to end, and where each begins: `offsets` ascend, one more than there are rows.
#[derive(Clone, Copy)]
pub(super) struct RowTexts<'a> {
    pub(super) text: &'a [u8],
    pub(super) offsets: &'a [i32],
}

/// What a place of a text in a row says of the row.
pub(super) enum Verdict {
    /// It matches.
    Match,
    /// This place is none of a match; another may be.
    NotHere,
    /// It doesn't match.
    NoMatch,
}

impl<'a> RowTexts<'a> {
    pub(super) fn each(self) -> impl Iterator<Item = &'a [u8]> {
        self.offsets.windows(2).map(move |bounds| match bounds {
            [start, end] => self.text.get(position(*start)..position(*end)).unwrap_or_default(),
            _ => &[],
        })
    }

    /// Calls `hit` with each row that matches, in order, where `judge` is asked about rows that hold
    /// what is to be found: it gets the row, and a place in it.
    pub(super) fn find(
        self,
        finder: &Finder,
        judge: impl Fn(&[u8], Range<usize>) -> Verdict,
        mut hit: impl FnMut(usize),
    ) {
        let mut places = finder.places(self.text);
        places.go_to(self.offsets.first().map_or(0, |first| position(*first)));
        let (mut row, mut bounds) = (0, 0..0);
        while let Some(place) = places.next() {
            if place.start >= bounds.end {
                row = self.row_at(row, place.start);
                let Some([start, end]) = self.offsets.get(row..row + 2) else { return };
                bounds = position(*start)..position(*end);
            }
            let Some(text) = self.text.get(bounds.clone()) else { return };
            let Some(start) = place.start.checked_sub(bounds.start) else { continue };
            if place.end > bounds.end {
                continue;
            }
            match judge(text, start..start + place.len()) {
                Verdict::NotHere => continue,
                Verdict::Match => hit(row),
                Verdict::NoMatch => {}
            }
            places.go_to(bounds.end);
        }
    }

    /// The row of a position that isn't before row `from`. Looks further and further ahead, so that
    /// the next row is found at once, and one far away soon.
    fn row_at(self, from: usize, at: usize) -> usize {
        let ends = self.offsets.get(from + 1..).unwrap_or_default();
        let is_before = |end: &i32| position(*end) <= at;
        let mut reach = 1;
        while ends.get(reach - 1).is_some_and(is_before) {
            reach *= 2;
        }
        let near = ends.get(reach / 2..reach.min(ends.len())).unwrap_or_default();
        from + reach / 2 + near.partition_point(is_before)
    }
}

fn position(offset: i32) -> usize {
    usize::try_from(offset).unwrap_or(0)
}

//! The inner loop of a merge where two sources are next to each other for a while: mostly
//! the rows that came in order, and some that came late.
//!
//! It goes along the source that has fewer rows there, and for each of its rows counts those of
//! the other that go before. Both are followed only up to a key that is below everything
//! else, and that neither passes within its window, so no other source, block or equal
//! can come between. What is left behind, the general merge takes.

use std::hint::select_unpredictable;

use super::batch_builder::{BatchBuilder, SLICE_ROWS_MIN, add_piece};
use super::copy::Piece;
use super::lead::{Lead, gallop};
use super::merge::{Head, Lane};

/// Keys that are compared at once: as a fixed number, without a branch for each.
const KEYS_AT_ONCE: usize = 8;

/// Fewer rows than this don't pay for the attempt.
const ROWS_MIN: usize = 64;
/// Steps of the general merge between two attempts, at most.
const PAUSE_MAX: u32 = 64;

/// When to try: after attempts that gave little, less often.
#[derive(Debug, Default)]
pub(super) struct Pacing {
    pause: u32,
    left: u32,
}

impl Pacing {
    #[inline]
    pub(super) fn is_due(&mut self) -> bool {
        let due = self.left == 0;
        self.left = self.left.saturating_sub(1);
        due
    }

    #[inline]
    pub(super) fn note(&mut self, rows: usize) {
        self.pause = match rows < ROWS_MIN {
            true => (2 * self.pause + 1).min(PAUSE_MAX),
            false => 0,
        };
        self.left = self.pause;
    }
}

/// One of the two sources.
struct PairSide<'a, S> {
    keys: &'a [S],
    row: usize,
    /// Rows from here on are not for this loop.
    end: usize,
    held: usize,
    older: bool,
}

/// Merges rows of the first two heads into `builder`, as many as can be and about `room` at
/// most; gives how many rows it went past. The heads have their new keys then, but not their
/// new places.
pub(super) fn merge_pair<L: Lead>(
    heads: &mut [Head<L::Value>],
    lanes: &mut [Lane<'_, L::Stored>],
    builder: &mut BatchBuilder,
    latest: bool,
    stop: Option<L::Value>,
    room: usize,
) -> usize {
    let [first, second, others @ ..] = heads else { return 0 };
    let ends = [first.slot, second.slot].map(|slot| {
        let lane = &lanes[slot];
        L::load(&lane.keys[lane.end - 1])
    });
    let bounds = others.first().map(|other| other.key).into_iter().chain(stop).chain(ends);
    let Some(bound) = bounds.min() else { return 0 };
    let marked = [first.slot, second.slot].iter().any(|slot| lanes[*slot].loaded.markers.is_some());
    if bound <= second.key || marked || builder.counting {
        return 0;
    }
    let mut side = |head: &Head<L::Value>, older: bool| {
        let lane = &mut lanes[head.slot];
        let rows = &lane.keys[lane.row..lane.end];
        let below = gallop(rows.len(), |row| L::load(&rows[row]) < bound);
        let held = builder.index_of(lane.loaded, &mut lane.held);
        PairSide { keys: lane.keys, row: lane.row, end: lane.row + below, held, older }
    };
    let first_is_older = first.cursor < second.cursor;
    let (mut many, mut few) = (side(first, first_is_older), side(second, !first_is_older));
    let swapped = many.end - many.row < few.end - few.row;
    if swapped {
        std::mem::swap(&mut many, &mut few);
    }
    let mut pieces = builder.lend_pieces();
    let (rows, kept) = match (latest, many.older) {
        (false, true) => merge_keep::<L>(&mut many, &mut few, &mut pieces, room, |a, b| a <= b),
        (false, false) => merge_keep::<L>(&mut many, &mut few, &mut pieces, room, |a, b| a < b),
        (true, _) => merge_latest::<L>(&mut many, &mut few, &mut pieces, room),
    };
    builder.take_back(pieces, kept);
    let (of_first, of_second) = if swapped { (few, many) } else { (many, few) };
    for (head, side) in [(first, of_first), (second, of_second)] {
        lanes[head.slot].row = side.row;
        head.key = L::load(&side.keys[side.row]);
    }
    rows
}

impl<S> PairSide<'_, S> {
    /// The next rows, which are gone past.
    #[inline]
    fn take(&mut self, rows: usize) -> Piece {
        let piece = Piece { held: self.held, start: self.row, rows };
        self.row += rows;
        piece
    }
}

/// Rows gone past, and how many of them are in `pieces`.
fn merge_keep<L: Lead>(
    many: &mut PairSide<'_, L::Stored>,
    few: &mut PairSide<'_, L::Stored>,
    pieces: &mut Vec<Piece>,
    room: usize,
    goes_before: impl Fn(L::Value, L::Value) -> bool,
) -> (usize, usize) {
    let mut rows = 0;
    while few.row < few.end && rows < room {
        let key = L::load(&few.keys[few.row]);
        let before = count::<L>(many, |other| goes_before(other, key));
        if before >= SLICE_ROWS_MIN {
            // So long a piece may go without being copied.
            break;
        }
        if before > 0 {
            pieces.push(many.take(before));
            pieces.push(few.take(1));
        } else {
            add_piece(pieces, few.take(1));
        }
        rows += before + 1;
    }
    (rows, rows)
}

/// As [`merge_keep`]; of two equals only the newer is kept, and in one source no key is twice.
fn merge_latest<L: Lead>(
    many: &mut PairSide<'_, L::Stored>,
    few: &mut PairSide<'_, L::Stored>,
    pieces: &mut Vec<Piece>,
    room: usize,
) -> (usize, usize) {
    let (mut rows, mut replaced) = (0, 0);
    while few.row < few.end && rows < room {
        let key = L::load(&few.keys[few.row]);
        let before = count::<L>(many, |other| other < key);
        if before >= SLICE_ROWS_MIN {
            break;
        }
        if before > 0 {
            pieces.push(many.take(before));
        }
        rows += before + 1;
        if many.row < many.end && L::load(&many.keys[many.row]) == key {
            replaced += 1;
            if !many.older {
                few.row += 1;
                continue;
            }
            many.row += 1;
            rows += 1;
        }
        add_piece(pieces, few.take(1));
    }
    (rows, rows - replaced)
}

/// How many rows hold `before`, counted from the next one on.
#[inline]
fn count<L: Lead>(side: &PairSide<'_, L::Stored>, before: impl Fn(L::Value) -> bool) -> usize {
    let rest = &side.keys[side.row..side.end];
    let Some((next, behind)) = rest.split_first_chunk::<KEYS_AT_ONCE>() else {
        return rest.iter().take_while(|key| before(L::load(key))).count();
    };
    // How long runs are can't be foreseen: a branch for each key would go wrong once a run.
    let mut count = KEYS_AT_ONCE;
    for (index, key) in next.iter().enumerate().rev() {
        count = select_unpredictable(before(L::load(key)), count, index);
    }
    match count < KEYS_AT_ONCE {
        true => count,
        false => count + gallop(behind.len(), |row| before(L::load(&behind[row]))),
    }
}

//! Tiles: 256 hashes of one level side by side, as `c2sp.org/tlog-tiles` names and stores them.
//!
//! A tree is cut into tiles that are eight levels high. A tile stores the hashes of its lowest level only;
//! the seven levels above those, and its root, follow from them. The root of a full tile is one hash of a tile of
//! the next level of tiles. So 65,536 leaves are 256 tiles of level 0 and one of level 1:
//!
//! ```text
//!                         root of the tree                    levels of the tree
//!                        /                \
//!    tile 1/000     r0 r1 ... r255                            8: what tiles of level 1 store
//!                   |  |       |
//!                  / \/ \     / \                             1 to 7: not stored
//!    tile 0/000   h0 ... h255  |                              0: what tiles of level 0 store: the hash
//!    tile 0/001        h256 ... h511 ...  h65535              of each entry
//! ```
//!
//! For example, node 5 at level 3 of the tree covers the leaves 40 to 47. These are in tile `0/000`, and
//! the node is made of 8 of its hashes; [`Tile::around`] says which tile, level and index that is:
//!
//! ```
//! use timestrata_merkle::{Place, Tile};
//!
//! let (tile, level, index) = Tile::around(Place { level: 3, index: 5 });
//! assert_eq!((tile.to_string().as_str(), level, index), ("tile/0/000", 3, 5));
//! // Node 300 at level 9 is made of two hashes of the third tile of level 1.
//! let (tile, level, index) = Tile::around(Place { level: 9, index: 300 });
//! assert_eq!((tile.to_string().as_str(), level, index), ("tile/1/002", 1, 44));
//! ```

use std::fmt;
use std::str::FromStr;

use crate::TextError;
use crate::geometry::Place;

/// Levels of a tree that one tile spans.
pub const TILE_HEIGHT: u8 = 8;
/// Hashes of a full tile.
pub const TILE_WIDTH: usize = 1 << TILE_HEIGHT;
/// The highest level that a path may name.
const LEVEL_MAX: u8 = 63;
/// What one element of a path counts.
const PATH_BASE: u64 = 1_000;

/// What a tile has.
///
/// ```
/// use timestrata_merkle::{Tile, TileKind};
///
/// let tile: Tile = "tile/entries/001.p/44".parse()?;
/// assert_eq!((tile.kind, tile.width), (TileKind::Entries, 44));
/// # Ok::<(), timestrata_merkle::TextError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TileKind {
    /// The hashes at one level of tiles, 0 for leaves.
    Hashes(u8),
    /// The entries themselves.
    Entries,
}

/// The place of a tile, full or partial.
///
/// ```
/// use timestrata_merkle::{Tile, tiles_of};
///
/// let tile: Tile = "tile/0/000".parse()?;
/// assert!(tile.is_full() && tiles_of(300).any(|known| known == tile));
/// # Ok::<(), timestrata_merkle::TextError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tile {
    /// What it has.
    pub kind: TileKind,
    /// From the left, from 0.
    pub index: u64,
    /// How many hashes or entries it has, 1 to 256.
    pub width: usize,
}

impl Tile {
    /// The full tile that a complete subtree lies in, its level in there, and its index at that level.
    /// The root of a tile lies in the tile above.
    #[must_use]
    pub fn around(place: Place) -> (Self, u8, usize) {
        let (level, inside) = (place.level / TILE_HEIGHT, place.level % TILE_HEIGHT);
        let width = 1 << (TILE_HEIGHT - inside);
        let kind = TileKind::Hashes(level);
        let index = usize::try_from(place.index % width).unwrap_or(0);
        (Self { kind, index: place.index / width, width: TILE_WIDTH }, inside, index)
    }

    /// Whether it has all the hashes or entries that a tile can have.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.width == TILE_WIDTH
    }

    /// The leaves under it, from the lowest up to before the last, as far as 64 bits go.
    #[must_use]
    pub fn leaves(&self) -> std::ops::Range<u64> {
        let level = match self.kind {
            TileKind::Hashes(level) => level,
            TileKind::Entries => 0,
        };
        let each = 1_u64.checked_shl(u32::from(level) * u32::from(TILE_HEIGHT));
        let each = each.unwrap_or(u64::MAX);
        let first = self.index.saturating_mul(TILE_WIDTH as u64).saturating_mul(each);
        first..first.saturating_add((self.width as u64).saturating_mul(each))
    }
}

/// All tiles of hashes of a tree of `size` leaves, and those of its entries, lowest level first.
pub fn tiles_of(size: u64) -> impl Iterator<Item = Tile> {
    let levels = (0..=LEVEL_MAX).map_while(move |level| {
        let shift = u32::from(level) * u32::from(TILE_HEIGHT);
        let hashes = size.checked_shr(shift).filter(|hashes| *hashes > 0)?;
        Some((TileKind::Hashes(level), hashes))
    });
    let entries = (size > 0).then_some((TileKind::Entries, size));
    entries.into_iter().chain(levels).flat_map(|(kind, hashes)| {
        let (full, rest) = (hashes / TILE_WIDTH as u64, hashes % TILE_WIDTH as u64);
        let whole = (0..full).map(move |index| Tile { kind, index, width: TILE_WIDTH });
        let rest = usize::try_from(rest).ok().filter(|rest| *rest > 0);
        whole.chain(rest.map(|width| Tile { kind, index: full, width }))
    })
}

/// Its path below a log's root: `tile/1/x001/234.p/7`.
impl fmt::Display for Tile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            TileKind::Hashes(level) => write!(f, "tile/{level}/")?,
            TileKind::Entries => f.write_str("tile/entries/")?,
        }
        let mut elements = vec![self.index % PATH_BASE];
        let mut rest = self.index / PATH_BASE;
        while rest > 0 {
            elements.push(rest % PATH_BASE);
            rest /= PATH_BASE;
        }
        while let Some(element) = elements.pop() {
            match elements.is_empty() {
                true => write!(f, "{element:03}")?,
                false => write!(f, "x{element:03}/")?,
            }
        }
        match self.width {
            TILE_WIDTH => Ok(()),
            width => write!(f, ".p/{width}"),
        }
    }
}

impl FromStr for Tile {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        let wrong = || TextError::new("a tile's path", "tile/LEVEL/INDEX", format!("{text:?}"));
        let rest = text.strip_prefix("tile/").ok_or_else(wrong)?;
        let (kind, rest) = rest.split_once('/').ok_or_else(wrong)?;
        let kind = match kind {
            "entries" => TileKind::Entries,
            level => TileKind::Hashes(level.parse().map_err(|_| wrong())?),
        };
        let (index, width) = match rest.split_once(".p/") {
            Some((index, width)) => (index, width.parse().map_err(|_| wrong())?),
            None => (rest, TILE_WIDTH),
        };
        let mut number = 0_u64;
        for element in index.split('/') {
            let element: u64 = element.trim_start_matches('x').parse().map_err(|_| wrong())?;
            number = number.checked_mul(PATH_BASE).ok_or_else(wrong)?;
            number = number.checked_add(element).ok_or_else(wrong)?;
        }
        let tile = Self { kind, index: number, width };
        let is_known = width > 0 && !matches!(kind, TileKind::Hashes(level) if level > LEVEL_MAX);
        // There is one way to write each: others, as with more zeros, are none.
        (is_known && tile.to_string() == text).then_some(tile).ok_or_else(wrong)
    }
}

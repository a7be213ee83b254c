//! Time logs: values (bytes, or objects as CBOR) by timestamp.
//!
//! A time log is one stream that keeps every row, `{time: Timestamp(unit, UTC), value: Binary}`,
//! sorted by time; values with the same time stay in the order in which they were
//! committed. Late values cost no more than those in order. A typed log has columns of its own
//! in place of `value`: [`ValueColumns`]. The stream's properties say what it is:
//! `model = timelog`, `codec = bytes | cbor | json | arrow | pickle`, `unit = s | ms | us | ns`,
//! in a typed log `values = scalar | record`, and `min_time` where times below it are refused.
//!
//! A [`Timelog`] writes, and reads what is there now; a [`TimelogView`] has the same reads
//! and never changes.
//!
//! ```
//! use timestrata_engine::{Durability, Settings, Store};
//! use timestrata_timelog::{Timelog, TimelogOptions};
//!
//! # fn main() -> timestrata_engine::Result<()> {
//! let store = Store::memory(Settings::default())?;
//! let log = Timelog::create(&store, "door", TimelogOptions::default())?;
//! log.append(1_700_000_000_000, b"opened")?;
//! log.append(1_700_000_060_000, b"closed")?;
//! log.append(1_700_000_030_000, b"held open")?; // late, and sorted all the same
//!
//! let seen: Vec<_> = log.range(..1_700_000_060_000)?.entries().collect::<Result<_, _>>()?;
//! assert_eq!(seen.len(), 2);
//! assert_eq!(&seen[1].value[..], b"held open");
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod alter;
mod batch;
mod block;
mod bulk;
mod codec;
mod columns;
mod commit_part;
pub mod memory;
mod options;
mod selection;
mod tail;
mod view;
mod write;

pub use batch::{EntryBatch, VALUE_BYTES_MAX};
pub use block::{Entry, EntryBlock, Value};
pub use bulk::TimelogBulk;
pub use codec::{Codec, Unit};
pub use columns::ValueColumns;
pub use commit_part::TimelogWrite;
pub use options::{TimelogOptions, VALUE_COLUMN, codec_of, is_timelog};
pub use selection::{Blocks, Decoded, Entries, Selection};
pub use tail::{Tail, TailBlock, TailCursor, TailOptions};
pub use view::TimelogView;
pub use write::Timelog;

//! Moments of a store, as people write them.

use arrow_schema::TimeUnit;
use timestrata_engine::{Error, ErrorKind, Moment, Result, SeqNo};

use crate::time::in_unit;

/// Reads a moment: the number of a commit, `pin=` and the name of a pin, or a time. A whole number is always a commit's.
///
/// ```
/// use timestrata_engine::{Moment, SeqNo};
/// use timestrata_values::moment_of_text;
///
/// # fn main() -> timestrata_engine::Result<()> {
/// assert_eq!(moment_of_text("1200")?, Moment::Commit(SeqNo(1200)));
/// assert_eq!(moment_of_text("pin=monday")?, Moment::Pin("monday".to_owned()));
/// assert_eq!(moment_of_text("1970-01-01T00:00:02Z")?, Moment::Time(2_000_000_000));
/// assert!(moment_of_text("yesterday").is_err());
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// `InvalidArgument` for what is none of these.
pub fn moment_of_text(text: &str) -> Result<Moment> {
    let text = text.trim();
    if let Some(name) = text.strip_prefix("pin=") {
        return Ok(Moment::Pin(name.to_owned()));
    }
    if let Ok(seq) = text.parse() {
        return Ok(Moment::Commit(SeqNo(seq)));
    }
    // Numbers that are no commit's are no times either.
    let is_number = text.parse::<f64>().is_ok();
    if let Some(Ok(time_ns)) = in_unit(text, None, TimeUnit::Nanosecond).filter(|_| !is_number) {
        return Ok(Moment::Time(time_ns));
    }
    let shown: String = text.chars().take(60).collect();
    let message = format!(
        "{shown:?} is no moment: it may be the number of a commit, 'pin=' and the name of a pin, or a time, such as \
         2026-05-01T09:30:00Z"
    );
    Err(Error::new(ErrorKind::InvalidArgument, message))
}

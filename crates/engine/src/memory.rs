//! Whether there is memory for what is about to be made, asked before anything of it is.
//!
//! Where memory can't be had, Arrow's buffers and Rust's own collections end the process. So a large copy is
//! asked for first: as much is allocated and let go of again, which costs a system call or two, since
//! pages that nobody touches are never made. Nothing has been written then. It is no promise: another thread may be
//! faster, and a system that lends more than it has ends whoever touches too much of it.
//!
//! Called where rows are put in order, joined and copied.

use std::hint::black_box;

use arrow_array::RecordBatch;

use crate::{Error, ErrorKind, Result};

/// What is smaller isn't asked for.
const ASKED_BYTES_MIN: usize = 4 << 20;
/// What sorting takes for a row, beside the row: its place, and the key that is compared.
const SORTED_ROW_BYTES: usize = 32;

/// An error if so many bytes can't be had now; `what` they are for says the error.
///
/// # Errors
/// `OutOfMemory`.
pub(crate) fn ask(bytes: usize, what: &str) -> Result<()> {
    if bytes < ASKED_BYTES_MIN {
        return Ok(());
    }
    let mut asked: Vec<u8> = Vec::new();
    let had = asked.try_reserve_exact(bytes);
    // Or the compiler sees that nobody uses it, and leaves the allocation out.
    black_box(asked.as_ptr());
    had.map_err(|cause| {
        let mib = bytes.div_ceil(1 << 20);
        Error::new(ErrorKind::OutOfMemory, format!("there is no memory {what}: {mib} MiB"))
            .caused_by(cause)
    })
}

/// An error if a copy of these batches can't be had in memory now; `what` it is for (`"to join rows"`) says the
/// error. For those who copy rows before they hand them to the engine.
///
/// # Errors
/// `OutOfMemory`.
pub fn ask_for_copy<'a>(
    batches: impl IntoIterator<Item = &'a RecordBatch>,
    what: &str,
) -> Result<()> {
    ask(batches.into_iter().map(bytes_of).sum(), what)
}

/// The same for these rows in another order.
pub(crate) fn ask_for_order(batch: &RecordBatch, what: &str) -> Result<()> {
    ask(bytes_of(batch).saturating_add(batch.num_rows() * SORTED_ROW_BYTES), what)
}

/// Bytes that the rows of a batch take; of types of which Arrow can't tell, what their buffers hold.
fn bytes_of(batch: &RecordBatch) -> usize {
    let columns = batch.columns().iter();
    let each = columns.map(|column| {
        let data = column.to_data();
        data.get_slice_memory_size().unwrap_or_else(|_| data.get_buffer_memory_size())
    });
    each.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_t_be_had_is_an_error_and_not_the_end_of_the_process() {
        let error = ask(usize::MAX / 4, "to try it").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfMemory);
        assert!(error.to_string().contains("there is no memory to try it"), "{error}");
        ask(ASKED_BYTES_MIN, "to try it").unwrap();
    }
}

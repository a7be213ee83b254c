//! How far a graph's new content is, and what became of it.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use timestrata_codeindex::{Progress, Skipped, Written};

use super::super::counted;
use crate::message::tell;

/// What was left out that is named at most.
const NAMED_MAX: usize = 20;

/// A bar on a terminal, gone when what it was for has come to an end.
pub(super) struct Bar(ProgressBar);

impl Bar {
    pub(super) fn new() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} files") {
            bar.set_style(style);
        }
        Self(bar)
    }

    pub(super) fn show(&self, progress: Progress) {
        self.0.set_length(progress.files_all as u64);
        self.0.set_position(progress.files as u64);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// Names what was left out, as pieces of this kind.
pub(super) fn tell_skipped(skipped: &[Skipped], piece: &str) {
    for skipped in skipped.iter().take(NAMED_MAX) {
        match skipped.path.as_str() {
            "" => tell(format_args!("left out: {}", skipped.why)),
            path => tell(format_args!("left out: {path}: {}", skipped.why)),
        }
    }
    if let Some(more) = skipped.len().checked_sub(NAMED_MAX).filter(|more| *more > 0) {
        tell(format_args!("left out: {} more", counted(more as u64, piece)));
    }
}

/// What of a graph was changed.
pub(super) fn changes(written: &Written) -> String {
    format!(
        "{} written, {} deleted, {} linked, {} unlinked",
        counted(written.blocks_put as u64, "block"),
        written.blocks_deleted,
        counted(written.edges_linked as u64, "edge"),
        written.edges_unlinked,
    )
}

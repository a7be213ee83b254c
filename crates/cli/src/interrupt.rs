//! Being told to stop, and seeing that nobody reads any more.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::failure::{Failure, Result};

/// What a shell gives for a command that a signal has ended: this and the signal's number.
const ENDED_BY_SIGNAL: i32 = 128;

/// Whether somebody wants this command to end: Ctrl-C, or a signal to terminate.
#[derive(Debug, Clone)]
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Listens from now on, so that a signal no longer ends the command at once; the second one does.
    pub(crate) fn listen() -> Result<Self> {
        Self::listen_to(&[SIGINT, SIGTERM])
    }

    /// The same of Ctrl-C alone: who sits at a prompt ends at once when it is terminated.
    pub(crate) fn listen_to_ctrl_c() -> Result<Self> {
        Self::listen_to(&[SIGINT])
    }

    fn listen_to(signals: &[i32]) -> Result<Self> {
        let heard = Arc::new(AtomicBool::new(false));
        for &signal in signals {
            // The order counts: what ends it looks at what was heard before.
            flag::register_conditional_shutdown(
                signal,
                ENDED_BY_SIGNAL + signal,
                Arc::clone(&heard),
            )
            .and_then(|_| flag::register(signal, Arc::clone(&heard)))
            .map_err(|cause| Failure::plain(format!("can't hear signals: {cause}")))?;
        }
        Ok(Self(heard))
    }

    /// Forgets what was heard: it was for what has ended since.
    pub(crate) fn forget(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    /// Whether it was told to end.
    pub(crate) fn is_heard(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Whether whoever read stdout has gone. A write would say so; who has nothing to write asks.
pub(crate) fn is_output_closed() -> bool {
    let stdout = io::stdout();
    let mut watched = [PollFd::new(stdout.as_fd(), PollFlags::empty())];
    let is_over = |flags: PollFlags| flags.intersects(PollFlags::POLLERR | PollFlags::POLLHUP);
    poll(&mut watched, PollTimeout::ZERO).is_ok()
        && watched.iter().any(|found| found.revents().is_some_and(is_over))
}

//! Threads: those that an actor starts are actors too.

use std::io;
use std::thread::Thread;

use super::schedule::{self, Joined};

/// As `std::thread::JoinHandle`.
#[derive(Debug)]
pub struct JoinHandle<T> {
    thread: std::thread::JoinHandle<T>,
    actor: Option<Joined>,
}

impl<T> JoinHandle<T> {
    /// Waits for its end.
    ///
    /// # Errors
    /// What it panicked with.
    pub fn join(self) -> std::thread::Result<T> {
        if let Some(actor) = &self.actor {
            actor.wait();
        }
        self.thread.join()
    }

    /// The thread.
    pub fn thread(&self) -> &Thread {
        self.thread.thread()
    }

    /// Whether it is over.
    pub fn is_finished(&self) -> bool {
        self.thread.is_finished()
    }
}

/// Starts a thread.
///
/// # Errors
/// If the system has no more of them.
pub fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    match schedule::spawn_actor(name, body) {
        Ok((thread, actor)) => Ok(JoinHandle { thread: thread?, actor: Some(actor) }),
        Err(body) => {
            let thread = std::thread::Builder::new().name(name.to_owned()).spawn(body)?;
            Ok(JoinHandle { thread, actor: None })
        }
    }
}

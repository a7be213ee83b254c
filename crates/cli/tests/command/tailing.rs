//! A verb under way whose lines are read one by one.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

use crate::runner::Runner;

/// A tail under way. Killed when dropped.
pub(crate) struct Tail {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Tail {
    pub(crate) fn start(runner: &Runner, verb: &[&str]) -> Self {
        let mut child = runner.command(verb).stdout(Stdio::piped()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        Self { child, out }
    }

    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.out.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Sends a signal; gives the exit code.
    pub(crate) fn end(&mut self, signal: &str) -> Option<i32> {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
        self.child.wait().unwrap().code()
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

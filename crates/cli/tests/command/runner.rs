//! Runs the real `timestrata` on a directory of its own.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Output, Stdio};

use tempfile::TempDir;

/// So often is looked for rows that are on their way: minutes.
const LOOKS_MAX: usize = 20_000;

/// A directory for one test: files of the user, and a store at `store`.
pub(crate) struct Runner {
    dir: TempDir,
}

/// What a run left.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Runner {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Makes a file of the user.
    #[expect(clippy::disallowed_methods, reason = "a user's file, not a file of a store")]
    pub(crate) fn file(&self, name: &str, text: impl AsRef<[u8]>) -> String {
        fs::write(self.path(name), text).unwrap();
        name.to_owned()
    }

    /// The text of a file of the user.
    #[expect(clippy::disallowed_methods, reason = "a user's file, not a file of a store")]
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Puts a folder in the place of another one.
    #[expect(clippy::disallowed_methods, reason = "what a user does to whole stores")]
    pub(crate) fn replace(&self, from: &str, to: &str) {
        fs::rename(self.path(to), self.path("replaced")).unwrap();
        fs::rename(self.path(from), self.path(to)).unwrap();
    }

    /// Makes a folder of the user.
    #[expect(clippy::disallowed_methods, reason = "a user's folder, not one of a store")]
    pub(crate) fn dir(&self, name: &str) {
        fs::create_dir(self.path(name)).unwrap();
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_timestrata"));
        command.args(arguments).current_dir(self.dir.path()).stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        Ran::of(&self.command(arguments).output().unwrap())
    }

    /// Runs a command that must succeed; gives its stdout.
    pub(crate) fn ok(&self, arguments: &[&str]) -> String {
        let ran = self.run(arguments);
        assert_eq!(ran.code, 0, "{arguments:?}: {ran:?}");
        ran.out
    }

    /// Runs a command that must succeed; gives what it told on stderr.
    pub(crate) fn told(&self, arguments: &[&str]) -> String {
        let ran = self.run(arguments);
        assert_eq!(ran.code, 0, "{arguments:?}: {ran:?}");
        ran.err
    }

    /// Runs a command that must fail with `code` and say all of `words` on stderr.
    pub(crate) fn fails(&self, arguments: &[&str], code: i32, words: &[&str]) -> Ran {
        let ran = self.run(arguments);
        assert_eq!(ran.code, code, "{arguments:?}: {ran:?}");
        for word in words {
            assert!(ran.err.contains(word), "no '{word}' in the message of {arguments:?}: {ran:?}");
        }
        assert!(!ran.err.contains("panicked"), "{ran:?}");
        ran
    }

    pub(crate) fn run_with_stdin(&self, arguments: &[&str], input: &[u8]) -> Ran {
        let mut child = self.start(arguments);
        child.stdin().write_all(input).unwrap();
        child.close_stdin();
        child.finish()
    }

    /// Starts a command and leaves its stdin open.
    pub(crate) fn start(&self, arguments: &[&str]) -> Running {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdin = child.stdin.take();
        Running { child: Some(child), stdin }
    }

    /// Rows of a log, as `info` counts them; 0 while there is none.
    pub(crate) fn rows(&self, store: &str, name: &str) -> u64 {
        let ran = self.run(&["info", store, name, "--json"]);
        if ran.code != 0 {
            return 0;
        }
        let info: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
        info["streams"][0]["rows"].as_u64().unwrap()
    }

    /// Waits until a stream of `store` has so many rows. Each look is a process, and takes as long as one does; rows that
    /// never come are a failure, and keep nobody waiting for good.
    pub(crate) fn await_rows(&self, name: &str, writer: &mut Running, rows: u64) {
        let mut found = 0;
        for _ in 0..LOOKS_MAX {
            found = self.rows("store", name);
            if found >= rows {
                return;
            }
            assert!(!writer.has_ended(), "the writer has ended with {found} of {rows} rows");
        }
        panic!("'{name}' has {found} rows of {rows} after {LOOKS_MAX} looks");
    }
}

impl Ran {
    pub(crate) fn of(output: &Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// A command under way. Killed when dropped.
pub(crate) struct Running {
    child: Option<Child>,
    stdin: Option<ChildStdin>,
}

impl Running {
    pub(crate) fn id(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }

    pub(crate) fn stdin(&mut self) -> &mut ChildStdin {
        self.stdin.as_mut().unwrap()
    }

    pub(crate) fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Waits for its end.
    pub(crate) fn finish(mut self) -> Ran {
        self.close_stdin();
        self.wait_with_stdin_open()
    }

    /// Waits for an end that is not that of its stdin.
    pub(crate) fn wait_with_stdin_open(mut self) -> Ran {
        Ran::of(&self.child.take().unwrap().wait_with_output().unwrap())
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.as_mut().unwrap().try_wait().unwrap().is_some()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A file of the shared real data, `None` (and a message) where it isn't.
pub(crate) fn shared_data(name: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let path = root.parent().unwrap().join("shared/data").join(name);
    if path.exists() {
        return Some(path);
    }
    println!("skipped: {} is not there", path.display());
    None
}

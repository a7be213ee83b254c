//! Secrets in files (tokens, signing keys): who else could read or change them.
//!
//! Judged is the file that is opened, so what a symbolic link leads to. What only a program in between
//! knows (a pipe, a terminal) has no others.
//!
//! Refused is what whoever starts the program can put right. What is mounted read-only, or handed out by
//! root for everybody to read, is told and taken: so containers get their secrets (0444 or 0644, of root),
//! where nobody else is there to read them and no `chmod` would be obeyed.

use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use nix::sys::statvfs::{FsFlags, fstatvfs};
use nix::unistd::geteuid;

use crate::failure::{Failure, Result};
use crate::input;
use crate::message::tell;

const PERMISSIONS: u32 = 0o7777;
const WRITE_BY_OTHERS: u32 = 0o022;
/// Not the group's: a service's secret is mostly root's, and its group's to read (0640).
const READ_BY_ALL: u32 = 0o004;
const ROOT: u32 = 0;

/// What a secret's file is like.
#[derive(Debug, Clone, Copy)]
struct Facts {
    mode: u32,
    owner: u32,
    us: u32,
    /// Nothing can be changed through the mount that it is on.
    is_mounted_read_only: bool,
}

/// What may be wrong with it.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Private,
    Told(String),
    Refused(String),
}

impl Facts {
    /// None of what has nobody else to be read by.
    #[expect(clippy::disallowed_types, reason = "a user's file, not a file of a store")]
    fn of(file: &std::fs::File) -> io::Result<Option<Self>> {
        let metadata = file.metadata()?;
        if !metadata.is_file() && !metadata.file_type().is_fifo() {
            return Ok(None);
        }
        let mount = fstatvfs(file)?;
        Ok(Some(Self {
            mode: metadata.mode(),
            owner: metadata.uid(),
            us: geteuid().as_raw(),
            is_mounted_read_only: mount.flags().contains(FsFlags::ST_RDONLY),
        }))
    }

    fn verdict(self) -> Verdict {
        let mode = self.mode & PERMISSIONS;
        let is_foreign = self.owner != self.us && self.owner != ROOT;
        let (what, is_refused) = if is_foreign {
            (format!("belongs to another user ({}), who can read and change it", self.owner), true)
        } else if mode & WRITE_BY_OTHERS != 0 {
            (format!("can be changed by others than its owner (mode {mode:04o})"), true)
        } else if mode & READ_BY_ALL != 0 {
            (format!("can be read by every user (mode {mode:04o})"), self.owner != ROOT)
        } else {
            return Verdict::Private;
        };
        match is_refused && !self.is_mounted_read_only {
            true => Verdict::Refused(what),
            false => Verdict::Told(what),
        }
    }
}

/// The whole of a small file that nobody else shall know; `what` it is says an error.
#[expect(clippy::disallowed_types, reason = "a user's file, not a file of a store")]
pub(crate) fn read(path: &Path, what: &str) -> Result<String> {
    let could_not = input::could_not_read_text(path, what);
    let mut file = std::fs::File::open(path).map_err(&could_not)?;
    if let Some(facts) = Facts::of(&file).map_err(&could_not)? {
        heed(facts.verdict(), path, what)?;
    }
    let mut text = String::new();
    io::Read::read_to_string(&mut file, &mut text).map_err(&could_not)?;
    Ok(text)
}

/// The same question of a file that is read elsewhere, which also says why it can't be.
#[expect(clippy::disallowed_types, reason = "a user's file, not a file of a store")]
pub(crate) fn check(path: &Path, what: &str) -> Result<()> {
    match std::fs::File::open(path).and_then(|file| Facts::of(&file)) {
        Ok(Some(facts)) => heed(facts.verdict(), path, what),
        Ok(None) | Err(_) => Ok(()),
    }
}

fn heed(verdict: Verdict, path: &Path, what: &str) -> Result<()> {
    let path = path.display();
    match verdict {
        Verdict::Private => Ok(()),
        Verdict::Told(why) => {
            tell(format_args!("warning: {what} {why} [{path}]"));
            Ok(())
        }
        Verdict::Refused(why) => Err(Failure::failed(
            format!("{what} {why} [{path}]"),
            format!("make it yours alone: chmod 600 {path} (640 where a group shall read it)"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u32 = 1000;

    /// The facts, and whether it is private (`.`), told of (`t`) or refused (`r`).
    fn expect(mode: u32, owner: u32, us: u32, is_mounted_read_only: bool, expected: char) {
        let verdict = Facts { mode, owner, us, is_mounted_read_only }.verdict();
        let found = match verdict {
            Verdict::Private => '.',
            Verdict::Told(_) => 't',
            Verdict::Refused(_) => 'r',
        };
        assert_eq!(found, expected, "{mode:o} of {owner}, we are {us}: {verdict:?}");
    }

    #[test]
    fn what_others_could_change_or_our_own_file_that_all_may_read_is_refused() {
        for (mode, expected) in [
            (0o100_600, '.'),
            (0o100_400, '.'),
            (0o100_640, '.'),
            (0o100_660, 'r'),
            (0o100_602, 'r'),
            (0o100_666, 'r'),
            (0o100_644, 'r'),
            (0o100_444, 'r'),
        ] {
            expect(mode, US, US, false, expected);
        }
    }

    #[test]
    fn what_root_hands_out_to_be_read_is_told_of_and_taken() {
        for us in [US, ROOT] {
            expect(0o100_444, ROOT, us, false, 't');
            expect(0o100_644, ROOT, us, false, 't');
            expect(0o100_640, ROOT, us, false, '.');
            expect(0o100_664, ROOT, us, false, 'r');
        }
    }

    #[test]
    fn another_user_s_file_is_refused_whoever_we_are() {
        expect(0o100_600, US + 1, US, false, 'r');
        expect(0o100_600, US, ROOT, false, 'r');
    }

    #[test]
    fn what_is_mounted_read_only_is_told_of_at_most() {
        expect(0o100_600, US, US, true, '.');
        expect(0o100_644, US, US, true, 't');
        expect(0o100_666, US, US, true, 't');
        expect(0o100_600, US + 1, US, true, 't');
    }
}

//! Asking a witness (`c2sp.org/tlog-witness`) to cosign what a log is.

use std::fmt;

use timestrata_engine::{Error, ErrorKind};

use crate::Server;

/// How often a witness is asked at most: it says once what it has seen, and may see another checkpoint meanwhile.
const ASKED_MAX: usize = 4;
/// So much of what a witness says is told.
const TOLD_CHARACTERS: usize = 200;
const TEXT: &str = "text/plain; charset=utf-8";

impl Server {
    /// Has the witness at this address cosign a log's checkpoint. `request` gives what it is sent, from how many records on it has
    /// seen of the log: 0, until it says otherwise. Gives what was sent at last, and the answer: lines of signatures, for
    /// the caller to hold against the witness's key. Errors begin with `log`.
    ///
    /// ```no_run
    /// use timestrata_client::{Server, ServerOptions};
    /// use timestrata_engine::Error;
    ///
    /// # let checkpoint = "example.org/log\n0\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n\n";
    /// let witness = Server::new("https://witness.example", &ServerOptions::default())?;
    /// let request = |old| Ok::<_, Error>(format!("old {old}\n\n{checkpoint}"));
    /// let (sent, signatures) = witness.cosign("events/0", request)?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of `request`; where no answer came; where the witness refuses: `Conflict` if it has seen another log of this name, or
    /// sees other checkpoints meanwhile, `NotFound` if it doesn't know the log, else `InvalidArgument`.
    pub fn cosign<A: fmt::Display, E: From<Error>>(
        &self,
        log: &str,
        request: impl Fn(u64) -> Result<A, E>,
    ) -> Result<(A, String), E> {
        let refused = |kind, what: String| E::from(Error::new(kind, format!("{log}: {what}")));
        let mut old = 0;
        for _ in 0..ASKED_MAX {
            let sent = request(old)?;
            let asking = self.request("POST", &["add-checkpoint"]);
            let (status, answer) = asking.exchange(TEXT, sent.to_string().as_bytes())?;
            match status {
                200 => return Ok((sent, answer)),
                409 => {
                    let size = answer.trim().parse().ok().filter(|size| *size != old);
                    old = size.ok_or_else(|| {
                        let what = format!(
                            "the witness has seen another log of {old} records ({}): keep both checkpoints, the log was changed \
                             or is signed in two places",
                            told(&answer)
                        );
                        refused(ErrorKind::Conflict, what)
                    })?;
                }
                status => {
                    let (kind, advice) = meaning(status);
                    let answer = told(&answer);
                    let what = format!(
                        "the witness refuses the checkpoint with {status} ({answer}): {advice}"
                    );
                    return Err(refused(kind, what));
                }
            }
        }
        let what =
            "the witness sees other checkpoints meanwhile: have one program ask it at a time";
        Err(refused(ErrorKind::Conflict, what.to_owned()))
    }
}

/// What a witness says by a status, and what to do.
fn meaning(status: u16) -> (ErrorKind, &'static str) {
    match status {
        404 => (
            ErrorKind::NotFound,
            "it doesn't know the log, so give its operator the origin and the log's public key",
        ),
        403 => (
            ErrorKind::InvalidArgument,
            "it knows the log by another key, so give its operator the log's public key",
        ),
        422 => (
            ErrorKind::Conflict,
            "it has seen another log of this name, which was changed, or is signed in two places",
        ),
        _ => (ErrorKind::InvalidArgument, "see what it says, and try again later"),
    }
}

fn told(answer: &str) -> String {
    let line = answer.trim().lines().next().unwrap_or_default();
    line.chars().filter(|each| !each.is_control()).take(TOLD_CHARACTERS).collect()
}

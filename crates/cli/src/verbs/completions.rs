//! `timestrata completions`.

use std::io::{self, Write};

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::failure::{Failure, Result};

/// Print a script that completes this command's words in a shell.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  timestrata completions bash > ~/.local/share/bash-completion/completions/timestrata")]
pub(crate) struct CompletionsArgs {
    /// The shell.
    shell: Shell,
}

pub(crate) fn run<C: CommandFactory>(arguments: &CompletionsArgs) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut C::command(), "timestrata", &mut script);
    io::stdout().write_all(&script).map_err(Failure::output)
}

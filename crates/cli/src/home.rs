//! Paths that begin with `~`, where no shell has seen to it: in quotes, and behind `--option=`.

use std::any::TypeId;
use std::path::{Path, PathBuf};

use clap::Command;
use clap::builder::{PathBufValueParser, TypedValueParser};

/// The same command, whose arguments that are paths are led home, at whatever depth they are.
pub(crate) fn with_paths_led_home(command: Command) -> Command {
    let led = |argument: clap::Arg| match argument.get_value_parser().type_id()
        == TypeId::of::<PathBuf>()
    {
        true => argument.value_parser(PathBufValueParser::new().map(|path| led_home(&path))),
        false => argument,
    };
    command.mut_args(led).mut_subcommands(with_paths_led_home)
}

/// The path with the user's own folder for a leading `~`; `~somebody` is a name as any other.
pub(crate) fn led_home(path: &Path) -> PathBuf {
    match (path.strip_prefix("~"), std::env::home_dir()) {
        (Ok(rest), Some(home)) if rest.as_os_str().is_empty() => home,
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::faces::Place;

    #[test]
    fn a_tilde_leads_home_only_where_it_is_a_folder_by_itself() {
        let home = std::env::home_dir().unwrap();
        assert_eq!(led_home(Path::new("~")), home);
        assert_eq!(led_home(Path::new("~/a/~")), home.join("a/~"));
        for other in ["", "-", "a", "./~", "/~", "~a", "~a/b", "a/~/b"] {
            assert_eq!(led_home(Path::new(other)), Path::new(other));
        }
    }

    #[test]
    fn every_argument_that_is_a_path_is_led_home() {
        let command = with_paths_led_home(crate::CommandLine::command());
        let home = std::env::home_dir().unwrap();
        let words = ["timestrata", "logs", "context", "~/s.store", "web", "7", "--before", "1"];
        let found = command.clone().try_get_matches_from(words).unwrap();
        let (_, logs) = found.subcommand().unwrap();
        let (_, context) = logs.subcommand().unwrap();
        let store = Place::Directory(home.join("s.store"));
        assert_eq!(context.get_one::<Place>("store"), Some(&store));
        let words = ["timestrata", "ingest", "s", "t", "~/a", "b", "--as", "table"];
        let found = command.try_get_matches_from(words).unwrap();
        let files: Vec<_> =
            found.subcommand().unwrap().1.get_many::<PathBuf>("files").unwrap().collect();
        assert_eq!(files, [&home.join("a"), &PathBuf::from("b")]);
    }
}

//! `--format` and `--json`: the same of every verb that prints.

use clap::builder::EnumValueParser;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, ValueEnum};

/// Forms in which something is printed, one of which is JSON.
pub(crate) trait Form: ValueEnum + Copy + Send + Sync + 'static {
    /// The name of the one that is printed where nobody says which.
    const DEFAULT: &'static str;
    const JSON: Self;
}

/// Which form is wanted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FormArg<F>(F);

impl<F: Form> FormArg<F> {
    pub(crate) fn get(&self) -> F {
        self.0
    }
}

// By hand: what clap derives keeps one default for all types.
impl<F: Form> Args for FormArg<F> {
    fn augment_args(command: Command) -> Command {
        let format = Arg::new("format")
            .long("format")
            .value_name("FORMAT")
            .help("How it is printed")
            .value_parser(EnumValueParser::<F>::new())
            .default_value(F::DEFAULT);
        let json = Arg::new("json")
            .long("json")
            .help("The same as --format json")
            .action(ArgAction::SetTrue)
            .conflicts_with("format");
        command.arg(format).arg(json)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<F: Form> FromArgMatches for FormArg<F> {
    fn from_arg_matches(found: &ArgMatches) -> Result<Self, clap::Error> {
        let asked = found.get_one::<F>("format").filter(|_| !found.get_flag("json"));
        Ok(Self(asked.copied().unwrap_or(F::JSON)))
    }

    fn update_from_arg_matches(&mut self, found: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(found)?;
        Ok(())
    }
}

/// How a report is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// For people.
    Text,
    /// A JSON object; of several things one a line.
    Json,
}

impl Form for ReportFormat {
    const DEFAULT: &'static str = "text";
    const JSON: Self = Self::Json;
}

impl FormArg<ReportFormat> {
    pub(crate) fn is_json(&self) -> bool {
        self.0 == ReportFormat::Json
    }
}

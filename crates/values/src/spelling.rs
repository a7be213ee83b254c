//! How options are spelled in messages: as whoever reads one would write them.

/// The face that a message is for. Options have one name, such as `on_error`, which each face spells in its way.
///
/// ```
/// use timestrata_values::spelling::Spelling;
///
/// assert_eq!(Spelling::Command.option("on_error", "skip"), "--on-error skip");
/// assert_eq!(Spelling::Keyword.option("on_error", "skip"), "on_error='skip'");
/// assert_eq!(Spelling::Parameter.option("on_error", "skip"), "on_error=skip");
/// assert_eq!(Spelling::Command.switch("time_of_load"), "--time-of-load");
/// assert_eq!(Spelling::Keyword.switch("time_of_load"), "time_of_load=True");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Spelling {
    /// A field of an options struct in Rust.
    #[default]
    Field,
    /// A flag of a command.
    Command,
    /// A keyword argument in Python.
    Keyword,
    /// A parameter of an HTTP request.
    Parameter,
}

impl Spelling {
    /// An option with a value: text, as it would stand between quotes.
    #[must_use]
    pub fn option(self, name: &str, value: &str) -> String {
        match self {
            Self::Field => format!("{name}: {value}"),
            Self::Command if value.contains([' ', '%', '#']) => {
                format!("--{} '{value}'", name.replace('_', "-"))
            }
            Self::Command => format!("--{} {value}", name.replace('_', "-")),
            Self::Keyword => format!("{name}='{value}'"),
            Self::Parameter => format!("{name}={}", value.replace('%', "%25").replace(' ', "%20")),
        }
    }

    /// An option that is on or off, switched on.
    #[must_use]
    pub fn switch(self, name: &str) -> String {
        match self {
            Self::Field => format!("{name}: true"),
            Self::Command => format!("--{}", name.replace('_', "-")),
            Self::Keyword => format!("{name}=True"),
            Self::Parameter => format!("{name}=true"),
        }
    }

    /// Whether the first line names columns: off. The one option that a command spells by its contrary.
    #[must_use]
    pub fn no_header(self) -> &'static str {
        match self {
            Self::Field => "has_header: false",
            Self::Command => "--no-header",
            Self::Keyword => "header=False",
            Self::Parameter => "header=false",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_spelled_so_that_they_arrive_as_they_are() {
        let format = "%d.%m.%Y %H:%M";
        assert_eq!(
            Spelling::Command.option("time_format", format),
            "--time-format '%d.%m.%Y %H:%M'"
        );
        assert_eq!(Spelling::Keyword.option("time_format", format), "time_format='%d.%m.%Y %H:%M'");
        let parameter = Spelling::Parameter.option("time_format", format);
        assert_eq!(parameter, "time_format=%25d.%25m.%25Y%20%25H:%25M");
    }
}

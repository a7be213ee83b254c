//! One file a verb: its arguments, and what it does.

pub(crate) mod backup;
#[cfg(feature = "sql")]
pub(crate) mod changes;
pub(crate) mod check;
pub(crate) mod compact;
pub(crate) mod completions;
#[cfg(feature = "sql")]
pub(crate) mod config;
pub(crate) mod delete;
pub(crate) mod export;
pub(crate) mod graph;
pub(crate) mod info;
pub(crate) mod ingest;
mod kept;
pub(crate) mod logs;
#[cfg(feature = "sql")]
pub(crate) mod mcp;
pub(crate) mod purge;
pub(crate) mod query;
pub(crate) mod repair;
pub(crate) mod restore;
#[cfg(feature = "sql")]
pub(crate) mod serve;
#[cfg(feature = "sql")]
pub(crate) mod sql;
pub(crate) mod timelog;
#[cfg(feature = "sql")]
pub(crate) mod token;
pub(crate) mod topic;
pub(crate) mod version;

/// The verbs of a command: of each, what clap calls it, its arguments, and what runs it.
macro_rules! verbs {
    ($($(#[$attribute:meta])* $name:ident: $arguments:ty => $run:expr,)*) => {
        #[derive(Debug, clap::Subcommand)]
        enum Verb {
            $($(#[$attribute])* $name($arguments),)*
        }

        impl Verb {
            fn run(&self) -> crate::failure::Result<()> {
                match self {
                    $($(#[$attribute])* Self::$name(arguments) => $run(arguments),)*
                }
            }
        }
    };
}
pub(crate) use verbs;

/// A number with its thousands set apart.
fn grouped(number: u64) -> String {
    indicatif::HumanCount(number).to_string()
}

/// Bytes as people read them.
fn bytes_shown(bytes: u64) -> String {
    indicatif::BinaryBytes(bytes).to_string()
}

/// `1 row`, `2 rows`.
fn counted(number: u64, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {thing}{plural}", grouped(number))
}

/// `1 entry`, `2 entries`.
fn counted_entries(number: u64) -> String {
    match number {
        1 => "1 entry".to_owned(),
        _ => format!("{} entries", grouped(number)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        let cases = [(0, "0"), (999, "999"), (1000, "1,000"), (336_776, "336,776")];
        for (number, shown) in cases {
            assert_eq!(grouped(number), shown);
        }
        assert_eq!(counted(1, "row"), "1 row");
        assert_eq!(counted(2000, "row"), "2,000 rows");
    }
}

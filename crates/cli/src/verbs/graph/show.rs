//! `timestrata graph find`, `show` and `path`.

use std::io::{self, BufWriter, Write};

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use serde_json::json;
use timestrata::graph::Direction;
use timestrata_codeindex::{Linked, Relation, Shown};

use super::{GraphOfStore, ShownFormat};
use crate::failure::{Failure, Result};
use crate::message::tell;
use crate::output::FormArg;

/// Print what has a name, with file and line.
#[derive(Debug, Args)]
pub(crate) struct FindArgs {
    #[command(flatten)]
    of: GraphOfStore,
    /// The name.
    name: String,
    #[command(flatten)]
    form: FormArg<ShownFormat>,
}

/// Print what a name is linked to, with file and line of each place.
#[derive(Debug, Args)]
#[command(after_help = "\
Where several things have the name, each line says of which it is. The exit code is 1 where there is nothing \
to print.

Examples:
  timestrata graph show ./store code callers Parser.parse
  timestrata graph show ./store code members src/parser.py")]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    of: GraphOfStore,
    /// What to show.
    #[arg(value_parser = relation())]
    what: Relation,
    /// The name.
    name: String,
    #[command(flatten)]
    form: FormArg<ShownFormat>,
}

/// Reads the name of a relation.
fn relation() -> impl TypedValueParser<Value = Relation> {
    let shown = |relation: Relation| PossibleValue::new(relation.name()).help(relation.about());
    let named = |name: String| Relation::ALL.into_iter().find(|relation| relation.name() == name);
    PossibleValuesParser::new(Relation::ALL.map(shown))
        .try_map(move |name| named(name).ok_or("no such relation"))
}

/// Print a shortest chain of calls, imports and inheritance from one name to another.
#[derive(Debug, Args)]
pub(crate) struct PathArgs {
    #[command(flatten)]
    of: GraphOfStore,
    /// Where it begins.
    from: String,
    /// Where it ends.
    to: String,
    #[command(flatten)]
    form: FormArg<ShownFormat>,
}

pub(super) fn find(arguments: &FindArgs) -> Result<()> {
    let graph = arguments.of.open()?;
    let mut out = Printer::new(arguments.form.get());
    for shown in graph.named(&arguments.name)? {
        out.print(&shown, None)?;
    }
    out.finish()
}

pub(super) fn run(arguments: &ShowArgs) -> Result<()> {
    let relation = arguments.what;
    let (direction, _) = relation.edges();
    let mut out = Printer::new(arguments.form.get());
    let found = arguments.of.open()?.links(&arguments.name, relation)?;
    let is_one_of_many = found.len() > 1;
    let mut is_any = false;
    for Linked { of, links } in &found {
        for shown in links {
            // A reference stands in the file of who refers.
            let file = if direction == Direction::In { shown } else { of };
            out.print(shown, Some(&ShownEnd { of, file, is_one_of_many }))?;
            is_any = true;
        }
    }
    out.finish()?;
    if !is_any {
        return Err(Failure::plain(relation.none(&arguments.name)));
    }
    if let ([first, _, ..], ShownFormat::Text) = (found.as_slice(), arguments.form.get()) {
        tell(format_args!(
            "{} things are called '{}', 'graph find' lists them; a longer name means fewer, such as '{}'",
            found.len(),
            arguments.name,
            first.of.qualified
        ));
    }
    Ok(())
}

pub(super) fn path(arguments: &PathArgs) -> Result<()> {
    let PathArgs { from, to, .. } = arguments;
    let Some(route) = arguments.of.open()?.chain(from, to)? else {
        return Err(Failure::plain(format!("nothing leads from '{from}' to '{to}'")));
    };
    let mut out = Printer::new(arguments.form.get());
    for shown in &route {
        out.print(shown, None)?;
    }
    out.finish()
}

/// The other end of what is shown.
struct ShownEnd<'a> {
    /// What was asked about.
    of: &'a Shown,
    /// Whose file the places of the reference are in.
    file: &'a Shown,
    /// Whether others have its name too.
    is_one_of_many: bool,
}

/// Answers on their way to stdout.
struct Printer {
    out: BufWriter<io::Stdout>,
    format: ShownFormat,
}

impl Printer {
    fn new(format: ShownFormat) -> Self {
        Self { out: BufWriter::new(io::stdout()), format }
    }

    /// Prints what was found; of one end of an edge, a line for each place where it is referred to.
    fn print(&mut self, shown: &Shown, end: Option<&ShownEnd<'_>>) -> Result<()> {
        let written = match self.format {
            ShownFormat::Text => self.print_text(shown, end),
            ShownFormat::Json => self.print_json(shown, end),
        };
        written.map_err(Failure::output)
    }

    fn print_text(&mut self, shown: &Shown, end: Option<&ShownEnd<'_>>) -> io::Result<()> {
        let guessed = if shown.is_by_name { " (by its name only)" } else { "" };
        let Shown { kind, qualified, .. } = shown;
        let of = match end {
            Some(ShownEnd { of, is_one_of_many: true, .. }) => {
                format!(", of {} {} [{}]", of.kind, of.qualified, place(of))
            }
            _ => String::new(),
        };
        // What stands in something is referred to nowhere.
        let Some(ShownEnd { file, .. }) = end.filter(|_| !shown.sites.is_empty()) else {
            return writeln!(self.out, "{}: {kind} {qualified}{guessed}{of}", place(shown));
        };
        let path = file.path.as_deref().unwrap_or("-");
        for site in &shown.sites {
            let (line, column) = (site.line, site.column + 1);
            writeln!(self.out, "{path}:{line}:{column}: {kind} {qualified}{guessed}{of}")?;
        }
        Ok(())
    }

    fn print_json(&mut self, shown: &Shown, end: Option<&ShownEnd<'_>>) -> io::Result<()> {
        let mut value = shown.to_json();
        if let (Some(ShownEnd { of, .. }), Some(value)) = (end, value.as_object_mut()) {
            let of = json!({ "id": of.id.to_string(), "kind": of.kind, "name": of.qualified, "path": of.path });
            value.insert("of".to_owned(), of);
        }
        writeln!(self.out, "{value}")
    }

    fn finish(mut self) -> Result<()> {
        self.out.flush().map_err(Failure::output)
    }
}

/// Where something begins: `path:line`, or `-` for what nothing in the tree has.
fn place(shown: &Shown) -> String {
    let line = shown.start.map_or(1, |start| start.line);
    shown.path.as_ref().map_or_else(|| "-".to_owned(), |path| format!("{path}:{line}"))
}

//! `timestrata graph find`, `show` and `path`.

use std::io::{self, BufWriter, Write};

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use serde_json::json;
use timestrata::graph::{Direction, GraphView};
use timestrata_codeindex::{Relation, Shown, chain, find as find_name, shown_edges};

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

/// What has a name; an error if nothing has.
fn named(view: &GraphView, of: &GraphOfStore, name: &str) -> Result<Vec<Shown>> {
    let found = find_name(view, name)?;
    if found.is_empty() {
        return Err(Failure::failed(
            format!("graph '{}': nothing is called '{name}'", of.graph),
            "names are as the sources have them: 'parse', 'Parser.parse', 'src/parser.py'",
        ));
    }
    Ok(found)
}

pub(super) fn find(arguments: &FindArgs) -> Result<()> {
    let view = arguments.of.view()?;
    let mut out = Printer::new(arguments.form.get());
    for shown in named(&view, &arguments.of, &arguments.name)? {
        out.print(&shown, None)?;
    }
    out.finish()
}

pub(super) fn run(arguments: &ShowArgs) -> Result<()> {
    let view = arguments.of.view()?;
    let relation = arguments.what;
    let (direction, kind) = relation.edges();
    let mut out = Printer::new(arguments.form.get());
    let candidates = named(&view, &arguments.of, &arguments.name)?;
    let is_one_of_many = candidates.len() > 1;
    let mut is_any = false;
    for of in &candidates {
        for shown in shown_edges(&view, of.id, direction, kind)? {
            // A reference stands in the file of who refers.
            let file = if direction == Direction::In { &shown } else { of };
            out.print(&shown, Some(&ShownEnd { of, file, is_one_of_many }))?;
            is_any = true;
        }
    }
    out.finish()?;
    if !is_any {
        return Err(Failure::plain(relation.none(&arguments.name)));
    }
    if let ([first, _, ..], ShownFormat::Text) = (candidates.as_slice(), arguments.form.get()) {
        tell(format_args!(
            "{} things are called '{}', 'graph find' lists them; a longer name means fewer, such as '{}'",
            candidates.len(),
            arguments.name,
            first.qualified
        ));
    }
    Ok(())
}

pub(super) fn path(arguments: &PathArgs) -> Result<()> {
    let view = arguments.of.view()?;
    let (from, to) = (
        named(&view, &arguments.of, &arguments.from)?,
        named(&view, &arguments.of, &arguments.to)?,
    );
    let Some(route) = chain(&view, &from, &to, || Ok(()))? else {
        return Err(Failure::plain(format!(
            "nothing leads from '{}' to '{}'",
            arguments.from, arguments.to
        )));
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
        let place = |site: &timestrata_codeindex::Site| json!([site.line, site.column]);
        let mut value = json!({
            "id": shown.id.to_string(),
            "kind": shown.kind,
            "name": shown.qualified,
            "path": shown.path,
            "start": shown.start.as_ref().map(place),
            "sites": shown.sites.iter().map(place).collect::<Vec<_>>(),
            "by_name_only": shown.is_by_name,
        });
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

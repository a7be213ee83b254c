//! `timestrata graph find`, `show` and `path`.

use std::io::{self, BufWriter, Write};

use clap::{Args, ValueEnum};
use serde_json::json;
use timestrata::graph::{Along, Direction, GraphView};
use timestrata_codeindex::{Shown, find as find_name, node_of, shown_edges};

use super::{Format, Of};
use crate::failure::{Failure, Result};

/// Print what has a name, with file and line.
#[derive(Debug, Args)]
pub(crate) struct FindArguments {
    #[command(flatten)]
    of: Of,
    /// The name.
    name: String,
    /// How it is printed.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// Print what a name is linked to, with file and line of each place.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    of: Of,
    /// What to show.
    #[arg(value_enum)]
    what: What,
    /// The name.
    name: String,
    /// How it is printed.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// Who calls it.
    Callers,
    /// What it calls.
    Callees,
    /// What it imports.
    Imports,
    /// Who imports it.
    Importers,
    /// What it inherits from.
    Bases,
    /// What inherits from it.
    Derived,
    /// What stands in it.
    Members,
}

impl What {
    fn edges(self) -> (Direction, &'static str) {
        match self {
            Self::Callers => (Direction::In, "calls"),
            Self::Callees => (Direction::Out, "calls"),
            Self::Imports => (Direction::Out, "imports"),
            Self::Importers => (Direction::In, "imports"),
            Self::Bases => (Direction::Out, "inherits"),
            Self::Derived => (Direction::In, "inherits"),
            Self::Members => (Direction::Out, "contains"),
        }
    }
}

/// Print a shortest chain of calls, imports and inheritance from one name to another.
#[derive(Debug, Args)]
pub(crate) struct PathArguments {
    #[command(flatten)]
    of: Of,
    /// Where it begins.
    from: String,
    /// Where it ends.
    to: String,
    /// How it is printed.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// What has a name; an error if nothing has.
fn named(view: &GraphView, of: &Of, name: &str) -> Result<Vec<Shown>> {
    let found = find_name(view, name)?;
    if found.is_empty() {
        return Err(Failure::failed(
            format!("graph '{}': nothing is called '{name}'", of.graph),
            "names are as the sources have them: 'parse', 'Parser.parse', 'src/parser.py'",
        ));
    }
    Ok(found)
}

pub(super) fn find(arguments: &FindArguments) -> Result<()> {
    let view = arguments.of.view()?;
    let mut out = Printer::new(arguments.format);
    for shown in named(&view, &arguments.of, &arguments.name)? {
        out.print(&shown, None)?;
    }
    out.finish()
}

pub(super) fn run(arguments: &Arguments) -> Result<()> {
    let view = arguments.of.view()?;
    let (direction, kind) = arguments.what.edges();
    let mut out = Printer::new(arguments.format);
    for of in named(&view, &arguments.of, &arguments.name)? {
        for shown in shown_edges(&view, of.id, direction, kind)? {
            // A reference stands in the file of who refers.
            let file = if direction == Direction::In { &shown } else { &of };
            out.print(&shown, Some(file))?;
        }
    }
    out.finish()
}

pub(super) fn path(arguments: &PathArguments) -> Result<()> {
    let view = arguments.of.view()?;
    let (from, to) = (
        named(&view, &arguments.of, &arguments.from)?,
        named(&view, &arguments.of, &arguments.to)?,
    );
    let along = Along { kinds: &["calls", "imports", "inherits"], ..Along::default() };
    let mut best = None;
    for source in &from {
        for target in &to {
            let found = view.shortest_path(source.id, target.id, &along, false)?.route;
            let length = |route: &timestrata::graph::Route| route.ids.len();
            best = match (best, found) {
                (Some(best), Some(found)) if length(&found) < length(&best) => Some(found),
                (best @ Some(_), _) => best,
                (None, found) => found,
            };
        }
    }
    let Some(route) = best else {
        return Err(Failure::plain(format!(
            "nothing leads from '{}' to '{}'",
            arguments.from, arguments.to
        )));
    };
    let mut out = Printer::new(arguments.format);
    for id in &route.ids {
        if let Some(shown) = node_of(&view, *id)? {
            out.print(&shown, None)?;
        }
    }
    out.finish()
}

/// Answers on their way to stdout.
struct Printer {
    out: BufWriter<io::Stdout>,
    format: Format,
}

impl Printer {
    fn new(format: Format) -> Self {
        Self { out: BufWriter::new(io::stdout()), format }
    }

    /// Prints what was found; with `file`, a line for each place in that file where it is referred to.
    fn print(&mut self, shown: &Shown, file: Option<&Shown>) -> Result<()> {
        let written = match self.format {
            Format::Text => self.print_text(shown, file),
            Format::Json => self.print_json(shown),
        };
        written.map_err(|cause| Failure::output(&cause))
    }

    fn print_text(&mut self, shown: &Shown, file: Option<&Shown>) -> io::Result<()> {
        let guessed = if shown.is_by_name { " (by its name only)" } else { "" };
        let Shown { kind, qualified, .. } = shown;
        let path = |of: &Shown| of.path.clone().unwrap_or_else(|| "-".to_owned());
        let Some(file) = file else {
            let line = shown.start.map_or(1, |start| start.line);
            return match &shown.path {
                Some(path) => writeln!(self.out, "{path}:{line}: {kind} {qualified}"),
                None => writeln!(self.out, "-: {kind} {qualified}"),
            };
        };
        for site in &shown.sites {
            let (path, line, column) = (path(file), site.line, site.column + 1);
            writeln!(self.out, "{path}:{line}:{column}: {kind} {qualified}{guessed}")?;
        }
        Ok(())
    }

    fn print_json(&mut self, shown: &Shown) -> io::Result<()> {
        let place = |site: &timestrata_codeindex::Site| json!([site.line, site.column]);
        let value = json!({
            "id": shown.id.to_string(),
            "kind": shown.kind,
            "name": shown.qualified,
            "path": shown.path,
            "start": shown.start.as_ref().map(place),
            "sites": shown.sites.iter().map(place).collect::<Vec<_>>(),
            "by_name_only": shown.is_by_name,
        });
        writeln!(self.out, "{value}")
    }

    fn finish(mut self) -> Result<()> {
        self.out.flush().map_err(|cause| Failure::output(&cause))
    }
}

//! `timestrata sql`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use arrow_schema::SchemaRef;
use clap::Args;
use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;
use timestrata::{Access, Io, Store, duration_of_text, size_of_text};
use timestrata_client::Server;
use timestrata_sql::{BlockingResult, Params, Sql, SqlOptions};

use super::counted;
use crate::at::At;
use crate::faces::{Place, Rows, StoreArg, open};
use crate::failure::{Failure, Result};
use crate::interrupt::Interrupt;
use crate::message::tell;
use crate::output::{FormArg, Format, show_batches};

/// Memory that a query may use where nobody says how much.
const MEMORY_DEFAULT: u64 = 1 << 30;

/// Ask in SQL, over all tables and logs of a store.
#[derive(Debug, Args)]
#[command(after_help = "\
Without a query: reads statements until they end with ';', with history. '\\d' lists the tables, \
'\\d NAME' the columns of one, '\\?' says what there is, '\\q' ends.

Beside what SQL has: time_bucket(interval '1 hour', time), first(value, time), last(value, time), \
the table functions asof_join, gap_fill and latest_on, SAMPLE BY, ASOF JOIN, PIVOT and SUMMARIZE.

Examples:
  timestrata sql ./store \"SELECT count(*) FROM flights WHERE dep_delay > 60\"
  timestrata sql ./store --format csv \"SELECT * FROM weather LIMIT 10\" > weather.csv
  timestrata sql ./store --timeout 30s \"SELECT count(*) FROM flights a, flights b\"
  timestrata sql ./store --at 1200 \"SELECT count(*) FROM flights\"
  timestrata sql http://127.0.0.1:8080 --token-file ./token \"SELECT count(*) FROM flights\"
  timestrata sql ./store --write \"DELETE FROM flights WHERE carrier = 'ZZ'\"")]
pub(crate) struct SqlArgs {
    #[command(flatten)]
    store: StoreArg,
    /// The statement; '-' reads it from stdin.
    query: Option<String>,
    #[command(flatten)]
    form: FormArg<Format>,
    /// Allow statements that change something: of a directory nobody else may be writing, and a server must allow it too.
    #[arg(long, conflicts_with = "at")]
    write: bool,
    #[command(flatten)]
    at: At,
    /// Memory that a query may use; what is more is spilled to disk. Default: 1 GiB.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    memory: Option<u64>,
    /// How long a query may be worked on, such as '30s'; without it there is no limit.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    timeout: Option<Duration>,
}

pub(super) fn duration(text: &str) -> std::result::Result<Duration, String> {
    duration_of_text(text).ok_or_else(|| "a duration such as '30s'".to_owned())
}

pub(super) fn size(text: &str) -> std::result::Result<u64, String> {
    size_of_text(text).ok_or_else(|| "a size such as '512MiB'".to_owned())
}

pub(crate) fn run(arguments: &SqlArgs) -> Result<()> {
    let SqlArgs { store, at, write, memory, .. } = arguments;
    let face = face(store, at, *write, *memory)?;
    let query = match arguments.query.as_deref() {
        Some("-") => Some(std::io::read_to_string(std::io::stdin()).map_err(|cause| {
            Failure::failed(format!("could not read stdin: {cause}"), "send text in UTF-8")
        })?),
        given => given.map(str::to_owned),
    };
    // From here on: until then Ctrl-C ends the command at once.
    let interrupt = Interrupt::listen_to_ctrl_c()?;
    let sql = face.open(&interrupt)?;
    let (time_max, format) = (arguments.timeout, arguments.form.get());
    let asking = Asking { sql, time_max, format, interrupt };
    let done = match query {
        None => converse(&asking),
        Some(query) => asking.answer(&query).map(drop),
    };
    let closed = asking.sql.close();
    done.and(closed)
}

/// Prints the rows of one statement that reads.
pub(super) fn answer(store: &StoreArg, at: &At, statement: &str, format: Format) -> Result<()> {
    let face = face(store, at, false, None)?;
    let interrupt = Interrupt::listen_to_ctrl_c()?;
    let sql = face.open(&interrupt)?;
    let asking = Asking { sql, time_max: None, format, interrupt };
    let done = asking.answer(statement).map(drop);
    let closed = asking.sql.close();
    done.and(closed)
}

/// Who answers statements.
trait SqlFace {
    /// The rows of one, which is given up when somebody interrupts it.
    fn rows(&self, statement: &str, time_max: Option<Duration>) -> Result<Box<dyn Rows>>;
    fn close(&self) -> Result<()>;
}

/// Who is going to answer them: a store is opened, or told from a server, before anybody listens for Ctrl-C.
enum Opening<'a> {
    Here(Store, SqlOptions),
    There { store: &'a StoreArg, at: &'a At, may_write: bool, url: &'a str },
}

fn face<'a>(
    store: &'a StoreArg,
    at: &'a At,
    may_write: bool,
    memory: Option<u64>,
) -> Result<Opening<'a>> {
    let dir = match &store.store {
        Place::Server(_) if memory.is_some() => {
            return Err(Failure::usage(
                "--memory is for a store's directory",
                "the server's own setting says what a query may use: 'sql.memory'",
            ));
        }
        Place::Server(url) => return Ok(Opening::There { store, at, may_write, url }),
        Place::Directory(dir) => dir,
    };
    let opened = open(dir, if may_write { Access::WriteExisting } else { Access::Read })?;
    let opened = at.of(opened)?;
    let memory = memory.unwrap_or(MEMORY_DEFAULT);
    let options = SqlOptions {
        memory_bytes_max: usize::try_from(memory).unwrap_or(usize::MAX),
        read_only: !may_write,
        ..SqlOptions::default()
    };
    Ok(Opening::Here(opened, options))
}

impl Opening<'_> {
    fn open(self, interrupt: &Interrupt) -> Result<Box<dyn SqlFace>> {
        match self {
            Self::Here(store, options) => {
                let may_write = !options.read_only;
                let sql = Sql::open(&store, options)?;
                Ok(Box::new(OpenedSql { store, sql, may_write, interrupt: interrupt.clone() }))
            }
            Self::There { store, at, may_write, url } => {
                let server = store.server(url, Some(interrupt))?;
                Ok(Box::new(ServedSql { server, at: at.text(), may_write }))
            }
        }
    }
}

struct OpenedSql {
    store: Store,
    sql: Sql,
    may_write: bool,
    interrupt: Interrupt,
}

impl Rows for BlockingResult {
    fn schema(&self) -> SchemaRef {
        Self::schema(self)
    }
}

impl SqlFace for OpenedSql {
    fn rows(&self, statement: &str, time_max: Option<Duration>) -> Result<Box<dyn Rows>> {
        if !self.may_write && !timestrata_sql::is_query(statement)? {
            let message = "SQL is for reading here: no statement may write";
            return Err(Failure::failed(
                message,
                "say --write, while nobody else writes to the store",
            ));
        }
        let heard = self.interrupt.clone();
        let running = self.store.begin_query_for(statement, time_max, move || !heard.is_heard());
        let sql = self.sql.for_query(&running);
        drop(running);
        Ok(Box::new(sql.query_blocking(statement, Params::none())?))
    }

    fn close(&self) -> Result<()> {
        Ok(self.store.close()?)
    }
}

struct ServedSql {
    server: Server,
    at: Option<String>,
    may_write: bool,
}

impl SqlFace for ServedSql {
    fn rows(&self, statement: &str, time_max: Option<Duration>) -> Result<Box<dyn Rows>> {
        if !self.may_write && !timestrata_sql::is_query(statement)? {
            let message = "SQL is for reading here: no statement may write";
            return Err(Failure::failed(
                message,
                "say --write, and have the server allow it: 'sql.may_write'",
            ));
        }
        Ok(Box::new(self.server.sql(statement, self.at.as_deref(), time_max)?))
    }

    fn close(&self) -> Result<()> {
        Ok(())
    }
}

/// Who asks, and how.
struct Asking {
    sql: Box<dyn SqlFace>,
    time_max: Option<Duration>,
    format: Format,
    interrupt: Interrupt,
}

impl Asking {
    /// Prints the rows of a query, which ends with Ctrl-C. Gives how many there were.
    fn answer(&self, query: &str) -> Result<u64> {
        let shown = self
            .sql
            .rows(query, self.time_max)
            .and_then(|mut rows| show_batches(&rows.schema(), &mut rows, self.format));
        // It was for this query.
        self.interrupt.forget();
        shown
    }
}

const HELP: &str = "\
statements end with ';' and may have several lines; Ctrl-C gives one up
  \\d        the tables and views
  \\d NAME   the columns of one
  \\?        this
  \\q        the end
  SUMMARIZE NAME;   what the columns of one hold";

/// What is typed on one line.
#[derive(Debug, PartialEq, Eq)]
enum Line {
    End,
    Help,
    /// What is asked by a word for it.
    Asks(String),
    /// A statement, or a part of one.
    Statement,
}

impl Line {
    /// A line without the blanks around it; within a statement it is a part of that.
    fn of(line: &str, begins: bool) -> Self {
        let line = line.trim_end_matches(';').trim_end();
        match line.split_once(char::is_whitespace) {
            _ if !begins => Self::Statement,
            None => match line {
                "\\q" | "exit" | "quit" => Self::End,
                "\\?" | "\\h" | "help" => Self::Help,
                "\\d" | "\\dt" => Self::Asks("SHOW TABLES".to_owned()),
                _ => Self::Statement,
            },
            Some(("\\d", name)) => {
                let name = name.trim().trim_matches('"');
                Self::Asks(format!("DESCRIBE {}", timestrata_sql::quoted(name)))
            }
            Some(_) => Self::Statement,
        }
    }
}

/// Reads statements from a terminal, until there are no more.
fn converse(asking: &Asking) -> Result<()> {
    let clock = Io::os().clock;
    let gone = |error: ReadlineError| Failure::plain(format!("could not read a line: {error}"));
    let mut editor = DefaultEditor::new().map_err(gone)?;
    let history = history_path();
    if let Some(history) = &history {
        // There is none at first.
        let _ = editor.load_history(history);
    }
    let mut statement = String::new();
    loop {
        let prompt = if statement.is_empty() { "timestrata> " } else { "        ... " };
        match editor.readline(prompt) {
            Ok(line) => match Line::of(line.trim(), statement.is_empty()) {
                Line::End => break,
                Line::Help => tell(format_args!("{HELP}")),
                Line::Asks(query) => report(asking.answer(&query)),
                Line::Statement => {
                    statement.push_str(&line);
                    statement.push('\n');
                    if line.trim_end().ends_with(';') {
                        let _ = editor.add_history_entry(statement.trim());
                        let begun_ns = clock.monotonic_ns();
                        let rows = asking.answer(statement.trim().trim_end_matches(';'));
                        if let Ok(rows) = &rows {
                            let took_ns = clock.monotonic_ns().saturating_sub(begun_ns);
                            let took = took_ns as f64 / 1e6;
                            tell(format_args!("{} in {took:.1} ms", counted(*rows, "row")));
                        }
                        report(rows);
                        statement.clear();
                    }
                }
            },
            // Of Ctrl-C only the statement is given up.
            Err(ReadlineError::Interrupted) => statement.clear(),
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(gone(error)),
        }
    }
    if let Some(history) = &history {
        keep_history(&mut editor, history);
    }
    Ok(())
}

/// What was typed before is a comfort; that it can't be kept is no reason to fail.
#[expect(clippy::disallowed_methods, reason = "a user's file, not a file of a store")]
fn keep_history(editor: &mut DefaultEditor, path: &Path) {
    let _ = path.parent().map(std::fs::create_dir_all);
    let _ = editor.save_history(path);
}

/// A mistake in one statement is no reason to leave.
fn report<T>(outcome: Result<T>) {
    if let Err(failure) = outcome {
        failure.report();
    }
}

/// Where the history is kept: in the user's directory for such things.
fn history_path() -> Option<PathBuf> {
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/state"));
    Some(state.or_else(home)?.join("timestrata").join("history"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_what_is_asked_often_are_no_part_of_a_statement() {
        for (line, meant) in [
            ("\\q", Line::End),
            ("quit;", Line::End),
            ("\\?", Line::Help),
            ("help;", Line::Help),
            ("\\d", Line::Asks("SHOW TABLES".to_owned())),
            ("\\d trades", Line::Asks("DESCRIBE \"trades\"".to_owned())),
            ("\\d \"a b\";", Line::Asks("DESCRIBE \"a b\"".to_owned())),
            ("SELECT 1;", Line::Statement),
            ("help me", Line::Statement),
        ] {
            assert_eq!(Line::of(line, true), meant, "{line}");
            assert_eq!(Line::of(line, false), Line::Statement, "{line}");
        }
    }
}

//! Views: `CREATE VIEW` and `DROP VIEW`, and the query of one as a plan.
//!
//! A view is kept as the text of its query (`timestrata_table::create_view`), and planned each time that it is read: so `*` in it is what its tables
//! have by then, and it gives an error where one of them has gone.

use datafusion::common::{Column, Result as DataFusionResult};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use datafusion_sql::parser::Statement;
use sqlparser::ast::{self, CreateTableOptions, CreateView, Ident, ObjectName, ObjectType};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Location, Token, Tokenizer};
use timestrata_engine::{Error, ErrorKind, Result};
use timestrata_table::is_view;

use crate::catalog::{CATALOG, Planning, SCHEMA};
use crate::change::blocking;
use crate::dialect::StandardPrecedence;
use crate::error::{carried, invalid, table_exists};
use crate::execution::{Execution, check_query, plan};
use crate::names::{normal, unique_names};
use crate::params::Params;
use crate::schema::SqlTable;
use crate::statement;
use crate::writer::ViewDefinition;

/// A statement about views.
#[derive(Debug)]
pub(crate) enum ViewStatement {
    Create { view: ViewDefinition, if_not_exists: bool },
    Drop { name: String, if_exists: bool },
}

impl ViewStatement {
    /// The statement, the parsed `text`, if it is one about views.
    ///
    /// # Errors
    /// `InvalidArgument` for clauses that are not supported.
    pub(crate) fn of(statement: &Statement, text: &str) -> Result<Option<Self>> {
        let Statement::Statement(statement) = statement else { return Ok(None) };
        match statement.as_ref() {
            ast::Statement::CreateView(create) => {
                check_clauses(create)?;
                let view = ViewDefinition {
                    name: view_name(&create.name)?,
                    query: query_of(text)?,
                    replaces: create.or_replace,
                };
                Ok(Some(Self::Create { view, if_not_exists: create.if_not_exists }))
            }
            ast::Statement::Drop { object_type: ObjectType::View, if_exists, names, .. } => {
                match names.as_slice() {
                    [name] => {
                        Ok(Some(Self::Drop { name: view_name(name)?, if_exists: *if_exists }))
                    }
                    _ => Err(invalid("DROP VIEW takes one view at a time")),
                }
            }
            _ => Ok(None),
        }
    }

    /// Makes or removes the view.
    pub(crate) async fn carry_out(self, execution: &Execution) -> Result<()> {
        let writer = execution.writer()?;
        let planning = execution.planning()?;
        match self {
            Self::Create { view, if_not_exists } => {
                if let Some(found) = planning.catalog.find(&view.name) {
                    match is_view(&found.stream) {
                        true if if_not_exists => return Ok(()),
                        true if view.replaces => {}
                        _ => return Err(name_taken(&found)),
                    }
                }
                planned_view(&planning, &view.query).map_err(crate::error::from_datafusion)?;
                drop(planning);
                blocking(move || writer.create_view(&view)).await
            }
            Self::Drop { name, if_exists } => match planning.catalog.find(&name) {
                Some(found) if is_view(&found.stream) => {
                    blocking(move || writer.drop_view(&found.name)).await
                }
                Some(found) => {
                    let name = found.name;
                    Err(invalid(format!("'{name}' is a table: DROP TABLE removes it")))
                }
                None if if_exists => Ok(()),
                None => Err(planning.catalog.no_table(&name)),
            },
        }
    }
}

/// The error where something is called as what is to be made.
pub(crate) fn name_taken(found: &SqlTable) -> Error {
    match is_view(&found.stream) {
        true => {
            let message = format!("there is a view '{}' already", found.name);
            Error::new(ErrorKind::AlreadyExists, message)
        }
        false => table_exists(&found.name),
    }
}

fn check_clauses(create: &CreateView) -> Result<()> {
    if create.materialized {
        return Err(invalid("CREATE MATERIALIZED VIEW is not supported: CREATE VIEW is"));
    }
    let has_others = create.or_alter
        || create.secure
        || create.with_no_schema_binding
        || create.temporary
        || create.copy_grants
        || create.options != CreateTableOptions::None
        || !create.cluster_by.is_empty()
        || create.comment.is_some()
        || create.to.is_some()
        || create.params.is_some();
    if has_others || (create.or_replace && create.if_not_exists) {
        return Err(invalid(
            "CREATE VIEW takes OR REPLACE or IF NOT EXISTS, a name, and AS with a query",
        ));
    }
    if !create.columns.is_empty() {
        return Err(invalid(
            "CREATE VIEW takes no list of columns: name them in its query, with AS",
        ));
    }
    Ok(())
}

/// The name that a view is made or removed by, of the one schema that there is.
fn view_name(name: &ObjectName) -> Result<String> {
    let parts: Option<Vec<&Ident>> = name.0.iter().map(|part| part.as_ident()).collect();
    let parts: Vec<String> = parts.unwrap_or_default().into_iter().map(normal).collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    match parts.as_slice() {
        [name] | [SCHEMA, name] | [CATALOG, SCHEMA, name] => Ok((*name).to_owned()),
        _ => Err(invalid(format!("'{name}' can't be the name of a view: views are in '{SCHEMA}'"))),
    }
}

/// The query of a statement that makes a view, as it was written: what is behind its first `AS`.
fn query_of(text: &str) -> Result<String> {
    let tokens = Tokenizer::new(&StandardPrecedence, text)
        .tokenize_with_location()
        .map_err(|error| invalid(format!("the SQL has a mistake: {error}")))?;
    if let Some(placeholder) = tokens.iter().find(|token| is_placeholder(&token.token)) {
        return Err(invalid(format!(
            "a view is kept without values for '{}': write the value into its query",
            placeholder.token
        )));
    }
    let is_as = |token: &Token| matches!(token, Token::Word(word) if word.keyword == Keyword::AS);
    let mut behind = tokens.iter().skip_while(|token| !is_as(&token.token)).skip(1);
    let first = behind.find(|token| !matches!(token.token, Token::Whitespace(_)));
    let last = tokens.iter().rfind(|token| {
        !matches!(token.token, Token::Whitespace(_) | Token::SemiColon | Token::EOF)
    });
    let query = first.zip(last).and_then(|(first, last)| {
        text.get(byte_at(text, first.span.start)..byte_at(text, last.span.end))
    });
    query.map(str::to_owned).ok_or_else(|| invalid("CREATE VIEW takes a query behind AS"))
}

fn is_placeholder(token: &Token) -> bool {
    matches!(token, Token::Placeholder(_) | Token::Question)
}

/// Where a place in a text is, which the parser counts by lines and signs.
fn byte_at(text: &str, place: Location) -> usize {
    let (mut line, mut column) = (1, 1);
    for (byte, sign) in text.char_indices() {
        if (line, column) == (place.line, place.column) {
            return byte;
        }
        (line, column) = if sign == '\n' { (line + 1, 1) } else { (line, column + 1) };
    }
    text.len()
}

/// The query of a view as a plan, each column under a name of its own.
pub(crate) fn planned_view(planning: &Planning, query: &str) -> DataFusionResult<LogicalPlan> {
    let statement = statement::parse(query, usize::MAX).map_err(carried)?;
    statement::check_allowed(&statement).map_err(carried)?;
    let plan = plan(planning, statement, Params::none(), query)?;
    check_query(&plan).map_err(carried)?;
    let names = unique_names(plan.schema().as_arrow());
    let columns = plan.schema().columns();
    if columns.iter().zip(&names).all(|(column, name)| column.name == *name) {
        return Ok(plan);
    }
    let named = |(column, name): (Column, String)| Expr::Column(column).alias(name);
    let named: Vec<Expr> = columns.into_iter().zip(names).map(named).collect();
    LogicalPlanBuilder::from(plan).project(named)?.build()
}

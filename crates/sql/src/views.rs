//! Views: `CREATE VIEW` and `DROP VIEW`.
//!
//! A view is kept as the text of its query (`timestrata_table::create_view`), and planned each time that it is read: so `*` in it is what its tables
//! have by then, and it gives an error where one of them has gone.

use std::sync::Arc;

use datafusion_sql::parser::Statement;
use sqlparser::ast::{self, CreateTableOptions, CreateView, Ident, ObjectName, ObjectType};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, Tokenizer};
use timestrata_engine::{Error, ErrorKind, Result};
use timestrata_table::{is_view, materialized_from};
use tokio::runtime::Handle;

use crate::catalog::{CATALOG, SCHEMA};
use crate::dialect::StandardPrecedence;
use crate::error::{from_datafusion, invalid, table_exists};
use crate::execution::{Execution, blocking};
use crate::folding::{begin, check_followed, fold};
use crate::materialized::Definition;
use crate::names::normal;
use crate::planning::planned_view;
use crate::schema::SqlTable;
use crate::tokens::byte_at;
use crate::writer::ViewDefinition;

/// A statement about views.
#[derive(Debug)]
pub(crate) enum ViewStatement {
    Create { view: ViewDefinition, is_kept: bool, if_not_exists: bool },
    Drop { name: String, is_kept: bool, if_exists: bool },
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
                    materialized: None,
                };
                let (is_kept, if_not_exists) = (create.materialized, create.if_not_exists);
                Ok(Some(Self::Create { view, is_kept, if_not_exists }))
            }
            ast::Statement::Drop {
                object_type: object_type @ (ObjectType::View | ObjectType::MaterializedView),
                if_exists,
                names,
                ..
            } => {
                let [name] = names.as_slice() else {
                    return Err(invalid("DROP VIEW takes one view at a time"));
                };
                let is_kept = *object_type == ObjectType::MaterializedView;
                let (name, if_exists) = (view_name(name)?, *if_exists);
                Ok(Some(Self::Drop { name, is_kept, if_exists }))
            }
            _ => Ok(None),
        }
    }

    /// Makes or removes the view.
    pub(crate) async fn carry_out(self, execution: &Execution) -> Result<()> {
        let writer = execution.writer()?;
        // What is kept can't read what one query is given.
        let planning = execution.planning_of_store()?;
        match self {
            Self::Create { mut view, is_kept, if_not_exists } => {
                if let Some(found) = planning.catalog.find(&view.name) {
                    match is_view(&found.stream) {
                        true if if_not_exists => return Ok(()),
                        true if view.replaces && materialized_from(&found.stream).is_none() => {}
                        _ => return Err(name_taken(&found)),
                    }
                }
                if !is_kept {
                    planned_view(&planning, &view.query).map_err(from_datafusion)?;
                    drop(planning);
                    return blocking(move || writer.create_view(&view)).await;
                }
                check_followed(&execution.shared.store)?;
                let definition = Definition::of(&planning, &view.query)?;
                view.materialized = Some(definition.view(view.name.clone(), &planning)?);
                drop(planning);
                let shared = Arc::clone(&execution.shared);
                blocking(move || {
                    writer.create_view(&view)?;
                    fold(&shared, &Handle::current(), &view.name)?;
                    begin(&shared)
                })
                .await
            }
            Self::Drop { name, is_kept, if_exists } => match planning.catalog.find(&name) {
                Some(found) if is_view(&found.stream) => {
                    if is_kept != materialized_from(&found.stream).is_some() {
                        let (is, drop) = match is_kept {
                            true => ("a view that is not materialised", "DROP VIEW"),
                            false => ("a materialised view", "DROP MATERIALIZED VIEW"),
                        };
                        let name = found.name;
                        return Err(invalid(format!("'{name}' is {is}: {drop} removes it")));
                    }
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
    if create.materialized && create.or_replace {
        return Err(invalid(
            "a materialised view is not replaced: drop it, and make it anew, of the rows that its table has by then",
        ));
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

//! Statements that change a table as a whole: `ALTER TABLE` and `TRUNCATE`.

use std::sync::Arc;

use datafusion::arrow::array::BooleanArray;
use datafusion::arrow::datatypes::{Field, FieldRef};
use datafusion::logical_expr::{DdlStatement, LogicalPlan};
use datafusion_sql::parser::Statement;
use sqlparser::ast::{
    self, AlterColumnOperation, AlterTableOperation, ColumnDef, ColumnOption, ObjectName,
    RenameTableNameKind,
};
use timestrata_engine::{KeyRange, Result};

use crate::error::{from_datafusion, invalid};
use crate::execution::{Execution, blocking};
use crate::names::{column_in, last_of, normal, quoted};
use crate::params::Params;
use crate::planning::{Planning, plan};
use crate::schema::{SqlTable, plain_field};
use crate::statement;
use crate::writer::{Predicate, TableChange};

/// A statement that changes a table as a whole.
#[derive(Debug)]
pub(crate) enum TableStatement {
    Alter { table: String, if_exists: bool, operations: Vec<AlterTableOperation> },
    Truncate { table: String, if_exists: bool },
}

impl TableStatement {
    /// The statement, if it is one of these.
    ///
    /// # Errors
    /// `InvalidArgument` for clauses that are not supported.
    pub(crate) fn of(statement: &Statement) -> Result<Option<Self>> {
        let Statement::Statement(statement) = statement else { return Ok(None) };
        Ok(Some(match statement.as_ref() {
            ast::Statement::AlterTable(alter) => {
                if alter.only || alter.location.is_some() || alter.on_cluster.is_some() {
                    return Err(unsupported());
                }
                Self::Alter {
                    table: name_of(&alter.name)?,
                    if_exists: alter.if_exists,
                    operations: alter.operations.clone(),
                }
            }
            ast::Statement::Truncate(truncate) => {
                let ([target], None) =
                    (truncate.table_names.as_slice(), truncate.partitions.as_ref())
                else {
                    return Err(invalid("TRUNCATE takes one table, all rows of which it deletes"));
                };
                Self::Truncate { table: name_of(&target.name)?, if_exists: truncate.if_exists }
            }
            _ => return Ok(None),
        }))
    }

    /// Does it. Gives how many rows went.
    pub(crate) async fn carry_out(self, execution: &Execution) -> Result<u64> {
        let writer = execution.writer()?;
        let planning = execution.planning_of_store()?;
        let (name, if_exists) = match &self {
            Self::Alter { table, if_exists, .. } | Self::Truncate { table, if_exists } => {
                (table, *if_exists)
            }
        };
        if if_exists && planning.catalog.find(name).is_none() {
            return Ok(0);
        }
        let table = planning.catalog.require(name)?;
        match self {
            Self::Truncate { .. } => {
                let all = |batch: &datafusion::arrow::array::RecordBatch| {
                    Ok(BooleanArray::from(vec![true; batch.num_rows()]))
                };
                let matches = Arc::new(all);
                let (stream, ranges) = (Arc::clone(&table.stream), vec![KeyRange::ALL]);
                let predicate = Predicate { stream, ranges, is_exact: true, matches };
                blocking(move || writer.delete_where(&table.name, &predicate)).await
            }
            Self::Alter { operations, .. } => {
                let changes = change_of(&planning, &table, &operations)?;
                drop(planning);
                let change = move || match changes {
                    Some(change) => writer.alter(&table.name, &change),
                    None => Ok(()),
                };
                blocking(change).await.map(|()| 0)
            }
        }
    }
}

fn unsupported() -> timestrata_engine::Error {
    invalid(
        "ALTER TABLE has ADD COLUMN name type, ALTER COLUMN name TYPE type (a type that holds all values of the \
         column's) and RENAME TO name: columns are neither renamed nor dropped; CREATE TABLE ... AS SELECT makes \
         another table, and a view shows one under other names",
    )
}

/// What is to be done, all at once; `None` if that is nothing.
fn change_of(
    planning: &Planning,
    table: &SqlTable,
    operations: &[AlterTableOperation],
) -> Result<Option<TableChange>> {
    if let [AlterTableOperation::RenameTable { table_name }] = operations {
        let (RenameTableNameKind::To(name) | RenameTableNameKind::As(name)) = table_name;
        return Ok(Some(TableChange::Rename { name: name_of(name)? }));
    }
    let (mut added, mut widened) = (Vec::new(), Vec::new());
    for operation in operations {
        match operation {
            AlterTableOperation::AddColumn {
                if_not_exists,
                column_def,
                column_position: None,
                ..
            } => {
                let name = normal(&column_def.name);
                let is_there = table.schema.field_with_name(&name).is_ok();
                if !(*if_not_exists && is_there) {
                    added.push(added_column(planning, column_def)?);
                }
            }
            AlterTableOperation::AlterColumn {
                column_name,
                op: AlterColumnOperation::SetDataType { data_type, using: None, .. },
            } => {
                let wanted = normal(column_name);
                let names = table.schema.fields().iter().map(|field| field.name().as_str());
                // One that isn't there is named by whoever changes it.
                let missing = || {
                    crate::error::refused(format!(
                        "table '{}' has no column '{wanted}'",
                        table.name
                    ))
                };
                let place = column_in(names, &wanted, missing).map_err(from_datafusion)?;
                let name = table.schema.field(place).name();
                widened.push(column_of(planning, name, &data_type.to_string())?);
            }
            _ => return Err(unsupported()),
        }
    }
    let is_nothing = added.is_empty() && widened.is_empty();
    Ok((!is_nothing).then_some(TableChange::Columns { added, widened }))
}

fn added_column(planning: &Planning, column: &ColumnDef) -> Result<FieldRef> {
    let name = normal(&column.name);
    if column.options.iter().any(|option| !matches!(option.option, ColumnOption::Null)) {
        return Err(invalid(format!(
            "column '{name}': a column that is added has neither NOT NULL nor DEFAULT, for the rows that are there hold nothing in it"
        )));
    }
    column_of(planning, &name, &column.data_type.to_string())
}

/// A column of a type of SQL's, as `CREATE TABLE` makes it.
fn column_of(planning: &Planning, name: &str, data_type: &str) -> Result<FieldRef> {
    let text = format!("CREATE TABLE t ({} {data_type})", quoted(name));
    let made = statement::parse(&text, usize::MAX).and_then(|parsed| {
        plan(planning, parsed, Params::none(), &text).map_err(from_datafusion)
    })?;
    match &made {
        LogicalPlan::Ddl(DdlStatement::CreateMemoryTable(create)) => {
            let field = create.input.schema().as_arrow().fields().first().map(plain_field);
            let field = field.map(|field| Arc::new(Field::clone(&field).with_nullable(true)));
            field.ok_or_else(|| invalid(format!("column '{name}' has no type")))
        }
        _ => Err(invalid(format!("column '{name}': {data_type} is no type of a column"))),
    }
}

fn name_of(name: &ObjectName) -> Result<String> {
    match name.0.len() {
        1 => last_of(name).ok_or_else(|| invalid(format!("{name} is no name of a table"))),
        _ => Err(invalid(format!("{name} is no name of a table: it has one part"))),
    }
}

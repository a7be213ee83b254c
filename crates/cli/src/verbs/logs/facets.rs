//! `timestrata logs facets`.

use std::fmt::Write as _;

use clap::{Args, ValueEnum};
use serde_json::json;
use timestrata::logs::{Facet, FacetsOptions};

use super::{LogOfStore, Wanted};
use crate::failure::Result;
use crate::message::tell;
use crate::output::{Form, FormArg, print};
use crate::terminal::{FAINT, Look, escape_json, push_visible};
use crate::verbs::{counted_entries, grouped};

/// Print which values fields have among the entries that a filter lets through, and how often.
#[derive(Debug, Args)]
#[command(after_help = "\
Without --field, the level and all fields that the entries have at their top are counted; labels are \
by their names. Values that are one of very many are counted together.

Examples:
  timestrata logs facets ./store app 'level>=error' --since 24h
  timestrata logs facets ./store app --field status,service,requests.total --values 5")]
pub(super) struct FacetsArgs {
    #[command(flatten)]
    of: LogOfStore,
    #[command(flatten)]
    wanted: Wanted,
    /// Fields, labels or 'level'; default: level and all fields.
    #[arg(long = "field", value_name = "A,B", value_delimiter = ',')]
    fields: Vec<String>,
    /// Values of each, the most frequent first.
    #[arg(long, value_name = "VALUES", default_value_t = FacetsOptions::default().values_max)]
    values: usize,
    #[command(flatten)]
    form: FormArg<FacetsFormat>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FacetsFormat {
    /// A line for each value below its field.
    Text,
    /// A JSON object a line, one for each field.
    Json,
}

impl Form for FacetsFormat {
    const DEFAULT: &'static str = "text";
    const JSON: Self = Self::Json;
}

pub(super) fn run(arguments: &FacetsArgs) -> Result<()> {
    let query = arguments.wanted.query()?;
    let options = FacetsOptions { fields: arguments.fields.clone(), values_max: arguments.values };
    let facets = arguments.of.view()?.facets(&query, &options)?;
    let mut out = String::new();
    match arguments.form.get() {
        FacetsFormat::Text => push_text(&facets, Look::of_stdout(), &mut out),
        FacetsFormat::Json => push_json(&facets, &mut out),
    }
    print(out)?;
    for name in &arguments.fields {
        if !facets.iter().any(|facet| facet.field == *name) {
            tell(format_args!("warning: no entry has a field '{name}'"));
        }
    }
    Ok(())
}

fn push_text(facets: &[Facet], look: Look, out: &mut String) {
    for (index, facet) in facets.iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        push_visible(&facet.field, out);
        look.paint(FAINT, &format!(": {}", counted_entries(facet.count)), out);
        out.push('\n');
        let most = facet.values.iter().map(|(_, count)| *count).chain([facet.others]).max();
        let width = grouped(most.unwrap_or(0)).len();
        // Memory takes what is written to it.
        for (value, count) in &facet.values {
            let _ = write!(out, "  {:>width$}  ", grouped(*count));
            push_visible(value, out);
            out.push('\n');
        }
        if facet.others > 0 {
            let others = format!("  {:>width$}  (others)", grouped(facet.others));
            look.paint(FAINT, &others, out);
            out.push('\n');
        }
    }
}

fn push_json(facets: &[Facet], out: &mut String) {
    for facet in facets {
        let values: Vec<_> = facet
            .values
            .iter()
            .map(|(value, count)| json!({ "value": value, "count": count }))
            .collect();
        let line = json!({
            "field": facet.field,
            "count": facet.count,
            "values": values,
            "others": facet.others,
        });
        let start = out.len();
        let _ = write!(out, "{line}");
        escape_json(out, start);
        out.push('\n');
    }
}

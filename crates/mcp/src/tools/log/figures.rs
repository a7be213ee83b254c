//! `histogram` and `facets`: how many entries of a log there are when, and with which values.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use timestrata::duration_of_text;
use timestrata::logs::{Bucket, Facet, FacetsOptions, Level};
use timestrata::table::time_text;

use super::super::arguments;
use super::{By, Wanted, refused, view, wanted};
use crate::asked::Asked;
use crate::failure::Result;
use crate::room::Cut;
use crate::tool::Tool;

/// Values of a field that are given where nobody says how many.
const VALUES_DEFAULT: u32 = 10;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct HistogramArguments {
    /// The log.
    name: String,
    /// What entries must have, as in 'search'; default: all entries.
    filter: Option<String>,
    /// First time wanted.
    from: Option<String>,
    /// First time not wanted any more.
    to: Option<String>,
    /// Only what is not older than this, instead of 'from': 90s, 15m, 12h, 30d.
    since: Option<String>,
    /// Which clock times go by; default: the log's own.
    by: Option<By>,
    /// Length of a stretch: 30s, 5m, 1h, 1d. Default: one that makes about 60.
    step: Option<String>,
    /// How long it may take, such as '10s'.
    timeout: Option<String>,
    /// The store as it was: a commit's number, 'pin=NAME' or a time. Default: now.
    at: Option<String>,
}

arguments!(HistogramArguments, timeout);

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct HistogramAnswer {
    /// Length of a stretch, in nanoseconds.
    step_ns: i64,
    /// Entries of all stretches.
    count: u64,
    /// Those stretches that have entries, oldest first.
    buckets: Vec<ShownBucket>,
    /// What was left out, and how to get it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cut: Vec<Cut>,
}

/// A stretch of time.
#[derive(Debug, Serialize, JsonSchema)]
struct ShownBucket {
    start: String,
    count: u64,
    /// How many of each level.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    levels: BTreeMap<&'static str, u64>,
}

impl ShownBucket {
    fn of(bucket: &Bucket) -> Self {
        let levels = Level::ALL.iter().zip(bucket.levels).filter(|(_, count)| *count > 0);
        let levels = levels.map(|(level, count)| (level.name(), count)).collect();
        Self { start: time_text(bucket.start), count: bucket.count, levels }
    }
}

pub(crate) struct Histogram;

impl Tool for Histogram {
    const NAME: &'static str = "histogram";
    const TITLE: &'static str = "Entries of a log over time";
    const DESCRIPTION: &'static str = "\
Count the entries of a log that a filter lets through, by stretches of time and levels: when something began, how \
often it happens. Example: {\"name\": \"app\", \"filter\": \"level>=error\", \"since\": \"24h\", \"step\": \"1h\"}";
    type Arguments = HistogramArguments;
    type Answer = HistogramAnswer;

    fn answer(arguments: HistogramArguments, asked: &Asked) -> Result<HistogramAnswer> {
        let HistogramArguments { name, step, .. } = &arguments;
        let query = wanted!(arguments).query(asked)?;
        let step = step.as_deref().map(step_ns).transpose()?;
        let (step_ns, buckets) = view(name, asked)?.histogram(&query, step)?;
        let count = buckets.iter().map(|bucket| bucket.count).sum();
        let mut room = asked.room(None, usize::MAX);
        let mut shown = Vec::new();
        for bucket in buckets.iter().filter(|bucket| bucket.count > 0) {
            let bucket = ShownBucket::of(bucket);
            if !room.takes(&mut json!(bucket)) {
                break;
            }
            shown.push(bucket);
        }
        let cut = room.cuts("stretches", "give a longer 'step', or a later 'from'", "");
        Ok(HistogramAnswer { step_ns, count, buckets: shown, cut })
    }
}

fn step_ns(text: &str) -> Result<i64> {
    let step = duration_of_text(text).filter(|step| !step.is_zero());
    let step = step.and_then(|step| i64::try_from(step.as_nanos()).ok());
    step.ok_or_else(|| refused("step", text, "no span of time", "write 30s, 5m, 1h or 1d"))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FacetsArguments {
    /// The log.
    name: String,
    /// What entries must have, as in 'search'; default: all entries.
    filter: Option<String>,
    /// First time wanted.
    from: Option<String>,
    /// First time not wanted any more.
    to: Option<String>,
    /// Only what is not older than this, instead of 'from': 90s, 15m, 12h, 30d.
    since: Option<String>,
    /// Which clock times go by; default: the log's own.
    by: Option<By>,
    /// Fields, labels or 'level'; default: all that the entries have.
    fields: Option<Vec<String>>,
    /// Values of each, the most frequent; default 10.
    values: Option<u32>,
    /// How long it may take, such as '10s'.
    timeout: Option<String>,
    /// The store as it was: a commit's number, 'pin=NAME' or a time. Default: now.
    at: Option<String>,
}

arguments!(FacetsArguments, timeout);

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FacetsAnswer {
    facets: Vec<serde_json::Value>,
    /// What was left out, and how to get it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cut: Vec<Cut>,
}

pub(crate) struct Facets;

impl Tool for Facets {
    const NAME: &'static str = "facets";
    const TITLE: &'static str = "Values of a log's fields";
    const DESCRIPTION: &'static str = "\
Count which values the fields and labels of a log's entries have: which fields there are, which hosts, services or \
status codes an error comes from. Example: {\"name\": \"app\", \"filter\": \"level>=error\", \"since\": \"24h\", \
\"fields\": [\"service\", \"status\"]}";
    type Arguments = FacetsArguments;
    type Answer = FacetsAnswer;

    fn answer(arguments: FacetsArguments, asked: &Asked) -> Result<FacetsAnswer> {
        let FacetsArguments { name, fields, values, .. } = &arguments;
        let query = wanted!(arguments).query(asked)?;
        let values_max = values.unwrap_or(VALUES_DEFAULT) as usize;
        let options = FacetsOptions {
            fields: fields.clone().unwrap_or_default(),
            values_max: values_max.min(asked.bounds.items_max),
        };
        let mut room = asked.room(None, usize::MAX);
        let mut facets = Vec::new();
        for facet in view(name, asked)?.facets(&query, &options)? {
            let mut shown = facet_json(&facet);
            if !room.takes(&mut shown) {
                break;
            }
            facets.push(shown);
        }
        let cut = room.cuts(
            "fields",
            "name those that you want in 'fields', or ask for fewer 'values'",
            super::WHOLE,
        );
        Ok(FacetsAnswer { facets, cut })
    }
}

fn facet_json(facet: &Facet) -> serde_json::Value {
    let values: Vec<_> = facet.values.iter().map(|(value, count)| json!([value, count])).collect();
    json!({ "field": facet.field, "count": facet.count, "values": values, "others": facet.others })
}

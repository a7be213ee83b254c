//! Questions of logs: what their SQL gives is what counting each entry gives.

use std::collections::BTreeMap;

use timestrata_engine::{Durability, Settings, Store};
use timestrata_logs::filter::Question;
use timestrata_logs::{AskedLog, Level, Logs, LogsOptions, NewEntry, Query};

use crate::support::{answer, sql};

const SECOND: i64 = 1_000_000_000;

fn entry(number: i64) -> NewEntry {
    let mut entry = NewEntry::new(format!("request {number}"));
    entry.source_time = Some(number * SECOND);
    entry.level = Some(if number % 7 == 0 { Level::Error } else { Level::Info });
    entry.labels.set("host", if number % 3 == 0 { "a" } else { "b'\"" }).unwrap();
    entry.fields.int("took", number % 100);
    if number % 2 == 0 {
        entry.fields.text("path", if number % 4 == 0 { "/x" } else { "/y" });
    }
    entry
}

fn asked(store: &Store, names: &[&str], text: &str) -> Vec<String> {
    let question: Question = text.parse().unwrap();
    let clock = |name: &str| Logs::open(store, name).unwrap().snapshot().unwrap().clock();
    let logs: Vec<_> = names.iter().map(|name| AskedLog { name, clock: clock(name) }).collect();
    answer(&sql(store), &question.statement(&logs, &Query::default()))
}

#[test]
fn figures_of_entries_are_those_that_counting_each_gives() {
    let store = Store::memory(Settings::default()).unwrap();
    let options =
        LogsOptions { clock: Some(timestrata_logs::Clock::SourceTime), ..LogsOptions::default() };
    let logs = Logs::create(&store, "app", &options).unwrap();
    let entries: Vec<NewEntry> = (0..5_000).map(entry).collect();
    logs.write_many(&entries, Durability::Written).unwrap();
    Logs::create(&store, "w.b", &options).unwrap().write(&NewEntry::new("alone")).unwrap();
    for _ in 0..2 {
        let mut of_host: BTreeMap<&str, (u64, i64)> = BTreeMap::new();
        for number in (0..5_000).filter(|number| number % 7 == 0) {
            let of = of_host.entry(if number % 3 == 0 { "a" } else { "b'\"" }).or_default();
            *of = (of.0 + 1, of.1 + number % 100);
        }
        let told = |(host, (count, sum)): (&&str, &(u64, i64))| format!("{host} {count} {sum}.0");
        let expected: Vec<String> = of_host.iter().map(told).collect();
        let found = asked(&store, &["app"], "level>=error | stats count, sum(took) by host");
        assert_eq!(found, expected);
        let top = asked(&store, &["app"], "| top 2 path");
        assert_eq!(top, ["NULL 2500", "/x 1250"], "entries without one are a group");
        let rate =
            asked(&store, &["app"], "path:* | rate 1000s by path | sort -time, path | limit 2");
        let last = "1970-01-01T01:06:40Z";
        assert_eq!(rate, [format!("{last} /x 250 0.25"), format!("{last} /y 250 0.25")]);
        let both = asked(&store, &["app", "w.b"], "request or alone | stats count by log");
        assert_eq!(both, ["app 5000", "w.b 1"]);
        let all = asked(&store, &["app"], "| stats median(took), distinct(path), count(path)");
        let (median, rest) = all[0].split_once(' ').unwrap();
        let median: f64 = median.parse().unwrap();
        assert!((47.0..=52.0).contains(&median), "{median}");
        assert_eq!((all.len(), rest), (1, "2 2500"));
        assert!(asked(&store, &["app"], "nowhere | stats count by host").is_empty());
        store.flush().unwrap();
        store.compact(None).unwrap();
    }
}

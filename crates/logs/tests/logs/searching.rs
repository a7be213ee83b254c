//! What is found: by words, fields and levels, held against looking at each entry; histograms and
//! facets; and what a search reads.

use std::fmt::Write as _;

use proptest::prelude::*;
use timestrata_engine::{Durability, Settings, Store};
use timestrata_logs::{Clock, FacetsOptions, Level, Logs, LogsOptions, NewEntry, Query};

use crate::support::{SECOND, at, entry, fill, found, log, settle};

fn count(logs: &Logs, filter: &str) -> u64 {
    logs.count(&Query::of(filter).unwrap()).unwrap()
}

/// An entry with a bit of everything, made of small numbers.
fn mixed(index: usize) -> NewEntry {
    let levels = [None, Some(Level::Info), Some(Level::Warn), Some(Level::Error)];
    let mut made =
        entry(&format!("Request {} of user-{}", index % 7, index % 5), levels[index % 4]);
    made.source_time = (!index.is_multiple_of(6)).then_some(index as i64 % 50 * SECOND);
    made.fields.int("status", 200 + (index % 4) as i64 * 100);
    made.fields.text("path", &format!("/a/{}/Index.html", index % 11));
    match index % 5 {
        0 => made.fields.text("status", "none"),
        1 => made.fields.float("took", index as f64 / 4.0),
        2 => made.fields.null("took"),
        // {"name": "Ada", "tags": ["x", 7]}
        3 => made.fields.item("user", |out| {
            out.extend(b"\xa2\x64name\x63Ada\x64tags\x82\x61x\x07");
        }),
        _ => made.fields.bool("ok", index.is_multiple_of(2)),
    };
    if index.is_multiple_of(3) {
        made.labels.set("service", if index.is_multiple_of(2) { "api" } else { "web" }).unwrap();
    }
    made
}

#[test]
fn filters_find_words_fields_and_levels() {
    let logs = log();
    fill(&logs, 4_000, mixed);
    let naive =
        |test: &dyn Fn(usize) -> bool| (0..4_000).filter(|index| test(*index)).count() as u64;
    let expected: Vec<(&str, u64)> = vec![
        ("", 4_000),
        ("request", 4_000),
        ("user-3", naive(&|i| i % 5 == 3)),
        ("\"of USER-3\"", naive(&|i| i % 5 == 3)),
        ("use", 0),
        ("use*", 4_000),
        ("index", 4_000),
        ("message:index", 0),
        ("path:\"/a/10\"", naive(&|i| i % 11 == 10)),
        ("ada", naive(&|i| i % 5 == 3)),
        ("user.name=Ada", naive(&|i| i % 5 == 3)),
        ("user.tags:7", naive(&|i| i % 5 == 3)),
        ("status:404", 0),
        ("status:400", naive(&|i| i % 5 != 0 && i % 4 == 2)),
        ("status:5*", naive(&|i| i % 5 != 0 && i % 4 == 3)),
        ("status:none", naive(&|i| i % 5 == 0)),
        // Text is compared as text: "none" is behind "400".
        ("status>=400", naive(&|i| i % 5 == 0 || i % 4 >= 2)),
        ("level>=warn", naive(&|i| i % 4 >= 2)),
        ("level>=warn request status:5*", naive(&|i| i % 4 == 3 && i % 5 != 0)),
        ("level=null", naive(&|i| i % 4 == 0)),
        ("not level:*", naive(&|i| i % 4 == 0)),
        ("took:*", naive(&|i| i % 5 == 1)),
        ("took<10", naive(&|i| i % 5 == 1 && i < 40)),
        ("ok=true or ok=false", naive(&|i| i % 5 == 4)),
        ("service:api", naive(&|i| i % 6 == 0)),
        ("api or web", naive(&|i| i % 3 == 0)),
        ("-service:*", naive(&|i| i % 3 != 0)),
        ("/of user-[34]$/", naive(&|i| i % 5 >= 3)),
        ("source_time>=1970-01-01T00:00:40Z", naive(&|i| i % 6 != 0 && i % 50 >= 40)),
    ];
    for _ in 0..2 {
        for (filter, expected) in &expected {
            assert_eq!(count(&logs, filter), *expected, "{filter}");
        }
        settle(&logs);
    }
}

#[test]
fn a_wrong_filter_is_refused_and_pointed_at() {
    let error = Query::of("level>=loud").unwrap_err().to_string();
    assert!(error.contains("column 8") && error.contains('^'), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn a_search_finds_what_looking_at_each_entry_finds(
        messages in prop::collection::vec("[abé ._-]{0,12}", 1..80),
        sought in "[abé]{1,3}",
        is_prefix: bool,
        is_settled: bool,
    ) {
        let logs = log();
        let entry = |index: usize| {
            let mut made = NewEntry::new(messages[index].clone());
            made.fields.text("other", &messages[(index * 7) % messages.len()]);
            made
        };
        fill(&logs, messages.len(), entry);
        if is_settled {
            settle(&logs);
        }
        let filter = format!("\"{sought}\"{}", if is_prefix { "*" } else { "" });
        let has = |text: &str| {
            let mut is_found = false;
            timestrata_engine::words::each(text, |word| {
                is_found |= match is_prefix {
                    true => word.starts_with(sought.as_bytes()),
                    false => word == sought.as_bytes(),
                };
            });
            is_found
        };
        let expected: Vec<&String> = (0..messages.len())
            .filter(|index| has(&messages[*index]) || has(&messages[(index * 7) % messages.len()]))
            .map(|index| &messages[index])
            .collect();
        let found = found(&logs, &Query::of(&filter).unwrap());
        prop_assert_eq!(found.iter().collect::<Vec<_>>(), expected);
    }
}

/// From sixteen on words are looked for together.
#[test]
fn any_of_many_words_finds_what_each_of_them_does() {
    let logs = log();
    fill(&logs, 4_000, mixed);
    let filler: Vec<String> = (0..20).map(|number| format!("nothing{number}")).collect();
    for is_settled in [false, true] {
        if is_settled {
            settle(&logs);
        }
        for words in [
            &["user-3", "\"of USER-4\"", "inde*", "/inde[x]/"][..],
            &["ADA", "web", "10"],
            &["x", "7", "index"],
            &["status:400", "not request"],
            &[],
        ] {
            let few = words.join(" or ");
            let many = filler.iter().map(String::as_str).chain(words.iter().copied());
            let many = many.collect::<Vec<_>>().join(" or ");
            let expected = if words.is_empty() { 0 } else { count(&logs, &few) };
            assert_eq!(count(&logs, &many), expected, "{few}");
            assert_eq!(count(&logs, &format!("not ({many})")), 4_000 - expected, "{few}");
        }
    }
}

#[test]
fn a_word_that_ends_in_a_sigma_is_found_in_any_case() {
    let logs = log();
    let messages = ["ΟΔΟΣ κλειστή", "οδος", "δρόμος", "wait 5 µs"];
    fill(&logs, messages.len(), |index| NewEntry::new(messages[index]));
    for is_settled in [false, true] {
        if is_settled {
            settle(&logs);
        }
        for sought in ["οδος", "ΟΔΟΣ", "οδοσ"] {
            assert_eq!(found(&logs, &Query::of(sought).unwrap()), messages[..2], "{sought}");
        }
        assert_eq!(found(&logs, &Query::of("μs").unwrap()), messages[3..]);
    }
}

/// A log of many blocks, on which nothing stays decoded.
fn large() -> Logs {
    let settings = Settings { cache_bytes_max: 256 << 20, ..Settings::default() };
    let store = Store::memory(settings).unwrap();
    let logs = Logs::create(&store, "large", &LogsOptions::default()).unwrap();
    for part in 0..4 {
        fill(&logs, 50_000, |index| {
            let number = part * 50_000 + index;
            NewEntry::new(match number {
                123_456 => "needle in it".to_owned(),
                _ => format!("hay {number}"),
            })
        });
    }
    settle(&logs);
    logs
}

#[test]
fn a_rare_word_reads_the_blocks_that_have_it() {
    let logs = large();
    assert_eq!(found(&logs, &Query::of("needle").unwrap()), ["needle in it"]);
    assert_eq!(count(&logs, "hay needle"), 0);
    assert_eq!(count(&logs, "hay"), 199_999);
    let view = logs.snapshot().unwrap();
    let rows = view.rows_to_look_at(&Query::of("needle").unwrap()).unwrap();
    assert!(rows <= 2 * 8_192, "{rows} rows of 200,000");
    let rows = view.rows_to_look_at(&Query::of("hay").unwrap()).unwrap();
    assert_eq!(rows, 200_000);
}

#[test]
fn one_entry_by_time_reads_one_block() {
    let logs = large();
    let view = logs.snapshot().unwrap();
    let first = view.first_timestamp().unwrap().unwrap();
    for (from, to, most) in [(first, first + 1, 8_192), (first - 10, first - 5, 0)] {
        let query = Query { from: Some(from), to: Some(to), ..Query::default() };
        let rows = view.rows_to_look_at(&query).unwrap();
        assert!(rows <= most, "{rows} rows");
        assert_eq!(view.count(&query).unwrap(), u64::from(most > 0));
    }
}

#[test]
fn long_hits_come_in_batches_that_fit_into_memory() {
    const MESSAGE_BYTES: usize = 256 << 10;
    let logs = log();
    let entries: Vec<_> = (0..400)
        .map(|index| NewEntry::new(format!("hit {index} {}", "x".repeat(MESSAGE_BYTES))))
        .collect();
    let written = entries.chunks(50).map(|some| logs.write_many(some, Durability::Written));
    let written: Vec<i64> = written.map(|first| first.unwrap().unwrap()).collect();
    let first = written[0];
    let number = |message: &str| message.split(' ').nth(1).unwrap().parse::<usize>().unwrap();
    for newest_first in [false, true] {
        let query = Query { newest_first, ..Query::of("hit").unwrap() };
        let mut numbers = Vec::new();
        for batch in logs.search(&query).unwrap() {
            let batch = batch.unwrap();
            assert!(batch.len() * MESSAGE_BYTES <= 32 << 20, "{} at once", batch.len());
            numbers.extend(batch.iter().map(|entry| number(entry.message())));
        }
        if newest_first {
            numbers.reverse();
        }
        assert!(numbers.into_iter().eq(0..400));
    }
    let mut tail = logs.tail("hit".parse().unwrap(), Some(first - 1)).unwrap();
    let mut numbers = Vec::new();
    while let Some(batch) = tail.next(std::time::Duration::ZERO).unwrap() {
        numbers.extend(batch.iter().map(|entry| number(entry.message())));
    }
    assert!(numbers.into_iter().eq(0..400));
    let around = logs.context(first + 300, 250, 50).unwrap();
    assert_eq!(around.iter().map(|batch| batch.len()).sum::<usize>(), 301);
}

#[test]
fn a_histogram_counts_hits_over_time_by_level() {
    let logs = log();
    fill(&logs, 600, mixed);
    // Entries whose senders say nothing are placed by their arrival, behind the others.
    let (by, to) = (Some(Clock::SourceTime), Some(500 * SECOND));
    let by = Query { by, to, ..Query::of("level:*").unwrap() };
    let (step, buckets) = logs.histogram(&by, Some(10 * SECOND)).unwrap();
    assert_eq!((step, buckets.len()), (10 * SECOND, 5));
    assert_eq!(buckets.iter().map(|bucket| bucket.count).sum::<u64>(), logs.count(&by).unwrap());
    let (mut starts, mut errors) = (String::new(), 0);
    for bucket in &buckets {
        write!(starts, "{} ", bucket.start / SECOND).unwrap();
        errors += bucket.levels[Level::Error as usize];
        assert_eq!(bucket.levels.iter().sum::<u64>(), bucket.count);
    }
    assert_eq!(starts, "0 10 20 30 40 ");
    let of_errors = Query { filter: "level=error".parse().unwrap(), ..by.clone() };
    assert_eq!(errors, logs.count(&of_errors).unwrap());
    let (step, buckets) = logs.histogram(&by, None).unwrap();
    assert_eq!((step, buckets.len()), (SECOND, 50));
    let error = logs.histogram(&by, Some(0)).unwrap_err().to_string();
    assert!(error.contains("must be positive"), "{error}");
    let none = Query::of("nowhere").unwrap();
    assert!(logs.histogram(&none, None).unwrap().1.is_empty());
}

/// The story: one entry of 1970 among those of today was refused with 29,934,002 buckets, or had all others in one.
#[test]
fn stray_times_break_no_histogram() {
    let logs = log();
    let now = 1_700_000_000 * SECOND;
    fill(&logs, 100, |index| at(index, now + index as i64 * SECOND));
    logs.write(&at(100, 5 * SECOND)).unwrap();
    let by = Query { by: Some(Clock::SourceTime), ..Query::default() };
    for step in [None, Some(2 * SECOND)] {
        let (step, buckets) = logs.histogram(&by, step).unwrap();
        assert_eq!((step, buckets.len()), (2 * SECOND, 51), "that of 1970, and those of today");
        assert_eq!((buckets[0].start, buckets[0].count), (4 * SECOND, 1));
        assert!(buckets[1..].iter().all(|bucket| bucket.count == 2), "{buckets:?}");
    }
    fill(&logs, 11_000, |index| at(index, index as i64 * 60 * SECOND));
    let error = logs.histogram(&by, Some(SECOND)).unwrap_err().to_string();
    assert!(error.contains("11101 buckets with hits; at most 10000"), "{error}");
    // Gaps are filled while there is room, the shortest first.
    let (step, buckets) = logs.histogram(&by, Some(3_600 * SECOND)).unwrap();
    assert_eq!((step, buckets.len()), (3_600 * SECOND, 11_000 / 60 + 1 + 1));
}

#[test]
fn facets_are_the_most_frequent_values_of_fields() {
    let logs = log();
    fill(&logs, 4_000, mixed);
    let all = logs.facets(&Query::default(), &FacetsOptions::default()).unwrap();
    let names: Vec<&str> = all.iter().map(|facet| facet.field.as_str()).collect();
    assert_eq!(names, ["path", "status", "level", "service", "ok", "took", "user"]);
    let status = &all[1];
    assert_eq!(status.count, 4_000);
    let shown: Vec<_> = status.values.iter().map(|(text, n)| (text.as_str(), *n)).collect();
    let expected = [("200", 800), ("300", 800), ("400", 800), ("500", 800), ("none", 800)];
    assert_eq!(shown, expected);
    let options =
        FacetsOptions { fields: vec!["user.name".to_owned(), "service".to_owned()], values_max: 1 };
    let some = logs.facets(&Query::of("level>=warn").unwrap(), &options).unwrap();
    assert_eq!(some[0].values, [("Ada".to_owned(), 400)]);
    assert_eq!((some[1].values.len(), some[1].others > 0), (1, true));
}

#[test]
fn synced_entries_of_several_threads_are_all_there() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), Settings::default()).unwrap();
    let logs = Logs::create(&store, "app", &LogsOptions::default()).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for index in 0..50 {
                    let entry = NewEntry::new(format!("m{index}"));
                    logs.write_with(&entry, Durability::Synced).unwrap();
                }
            });
        }
    });
    assert_eq!(logs.snapshot().unwrap().len().unwrap(), 200);
}

/// The story: whole numbers beyond 64 bits were kept to the last digit, and found by `v:*` alone.
#[test]
fn whole_numbers_of_any_size_are_compared_to_the_last_digit() {
    let logs = log();
    let big = |power: u32, add: i128| (1_i128 << power) + add;
    let wholes = [5, -7, big(64, 0), big(70, 0), big(70, 1), -big(70, 0), -big(64, 0), big(100, 0)];
    // As CBOR has them: a tag, and the bytes.
    let item = |whole: i128| {
        let (tag, number) = if whole < 0 { (0xc3, -1 - whole) } else { (0xc2, whole) };
        let bytes = number.to_be_bytes();
        [&[tag, 0x50][..], &bytes].concat()
    };
    for whole in wholes {
        let mut made = entry("m", None);
        made.fields.item("v", |out| out.extend(item(whole)));
        logs.write(&made).unwrap();
    }
    let mut list = entry("m", None);
    list.fields.item("v", |out| {
        out.push(0x82);
        out.push(0x01);
        out.extend(item(big(90, 0)));
    });
    list.fields.float("f", 1e30);
    logs.write(&list).unwrap();
    for bound in [0, 5, big(64, 0), big(64, -1), big(70, 0), big(70, 1), -big(70, 0), big(71, 0)] {
        let passes = |test: &dyn Fn(i128) -> bool| {
            let singles = wholes.iter().filter(|whole| test(**whole)).count();
            (singles + usize::from(test(1) || test(big(90, 0)))) as u64
        };
        for (filter, expected) in [
            (format!("v={bound}"), passes(&|whole| whole == bound)),
            (format!("v:{bound}"), passes(&|whole| whole == bound)),
            (format!("v>{bound}"), passes(&|whole| whole > bound)),
            (format!("v>={bound}"), passes(&|whole| whole >= bound)),
            (format!("v<{bound}"), passes(&|whole| whole < bound)),
            (format!("v<={bound}.0"), passes(&|whole| whole <= bound)),
        ] {
            let is_exact = bound == (bound as f64) as i128 || !filter.ends_with(".0");
            if is_exact {
                assert_eq!(count(&logs, &filter), expected, "{filter}");
            }
        }
    }
    // Of the list, one number passes the one bound, and another the other.
    assert_eq!(count(&logs, "v>1e20 and v<1.3e21"), 3);
    assert_eq!(count(&logs, "f>1267650600228229401496703205376"), 0);
    assert_eq!(count(&logs, "f<1267650600228229401496703205376"), 1);
    assert_eq!(count(&logs, "v:*"), 9);
}

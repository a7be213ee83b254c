//! Records of several lines.

use std::io::Read;
use std::sync::Arc;

use timestrata_engine::Io;
use timestrata_logs::Level;

use super::*;

/// Messages of a log, with the lines at which they begin.
fn messages(log: &str) -> Vec<(u64, String)> {
    let (entries, report) = read_all(log.as_bytes(), options());
    assert_eq!(report.lines, log.lines().count() as u64, "{log}");
    entries.into_iter().map(|(line, entry)| (line, entry.message)).collect()
}

const JAVA: &str = "java.lang.IllegalStateException: no
\tat shop.Db.read(Db.java:42)
\tat shop.Main.main(Main.java:7)
Caused by: java.io.IOException: gone
\tat shop.Disk.read(Disk.java:7)
\t... 2 more
";
const PYTHON: &str = "Traceback (most recent call last):
  File \"a.py\", line 3, in <module>
    read()
KeyError: 'x'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File \"a.py\", line 5, in <module>
    raise shop.NoStock
shop.NoStock
";
const GO: &str = "panic: runtime error: index out of range [5] with length 3

goroutine 1 [running]:
main.read(...)
\t/app/main.go:9
main.main()
\t/app/main.go:5 +0x1d
exit status 2
";
const RUST: &str = "thread 'main' panicked at src/main.rs:2:5:
index out of bounds: the len is 3 but the index is 5
stack backtrace:
   0: rust_begin_unwind
             at /rustc/library/std/src/panicking.rs:697:5
   1: app::main
             at ./src/main.rs:2:5
note: Some details are omitted, run with `RUST_BACKTRACE=full` for a verbose backtrace.
";
const NODE: &str = "TypeError: x is not a function
    at read (/app/a.js:3:5)
    at node:internal/main:23:47
";

#[test]
fn a_trace_belongs_to_the_line_that_tells_of_it() {
    for trace in [JAVA, PYTHON, NODE, &GO[..GO.len() - "exit status 2\n".len()]] {
        for head in [
            "2026-11-23 13:09:20 ERROR it failed",
            "2026-11-23 13:09:20,123 - app - ERROR - it failed",
            "2026-11-23 13:09:20,123 ERROR [main] shop.Main - it failed",
            "Nov 23 13:09:20 host app[7]: it failed",
        ] {
            let log = format!("{head}\n{trace}{head}\n{trace}{head}\n");
            let (entries, _) = read_all(log.as_bytes(), options());
            let all = trace.lines().count() as u64 + 1;
            let found: Vec<_> =
                entries.iter().map(|(line, entry)| (*line, entry.message.as_str())).collect();
            let whole = format!("it failed\n{}", trace.trim_end());
            let expected = [(1, &*whole), (all + 1, &*whole), (2 * all + 1, "it failed")];
            assert_eq!(found, expected, "{log}");
            assert!(entries.iter().all(|(_, entry)| entry.source_time.is_some()));
        }
    }
}

#[test]
fn what_is_indented_belongs_to_a_line_with_a_time() {
    let log = "2026-11-23 13:09:20 INFO settings:\n  a = 1\n  b = 2\n\n2026-11-23 13:09:21 INFO go\nall of it\n";
    let expected = [(1, "settings:\n  a = 1\n  b = 2"), (5, "go"), (6, "all of it")];
    assert_eq!(messages(log), expected.map(|(line, text)| (line, text.to_owned())));
    // Of .NET's console the message is in the line behind.
    let log = "info: Shop.Db[14]\n      Now listening\nwarn: Shop.Db[3]\n      Slow\n      Very\n";
    let (entries, _) = read_all(log.as_bytes(), options());
    let found: Vec<_> =
        entries.iter().map(|(_, entry)| (entry.level, entry.message.as_str())).collect();
    let expected = [(Some(Level::Info), "Now listening"), (Some(Level::Warn), "Slow\n      Very")];
    assert_eq!(found, expected);
}

/// The lines behind one that is not in its format were lost.
#[test]
fn what_is_behind_a_line_that_is_not_in_its_format_is_kept_with_it() {
    let head = "2026-11-23 13:09:20,123 - app - ERROR - it failed\n";
    let odd = "and so on\n  more\n    of it\n2026-11-23 13:09:21 [warn] odd\n  too\n";
    let log = format!("{head}{head}{head}{odd}");
    let (entries, report) = read_all(log.as_bytes(), options());
    let found: Vec<_> = entries.iter().map(|(_, entry)| entry.message.as_str()).collect();
    assert_eq!(found[3..], ["and so on\n  more\n    of it", "odd\n  too"]);
    assert_eq!(report.parse_errors, 2);
    let bad = "Nov 23 13:09:20 host app[7]: m\n".repeat(3) + "no syslog\n  more\n";
    let (entries, _) = read_all(bad.as_bytes(), options());
    assert_eq!(entries[3].1.message, "no syslog\n  more");
}

#[test]
fn without_times_only_traces_are_joined() {
    let log =
        format!("starting\n  indented\nanother\n{PYTHON}done\n{JAVA}{NODE}ValueError: x\nlast\n");
    let first: Vec<_> = messages(&log).into_iter().map(|(line, _)| line).collect();
    let python = PYTHON.lines().count() as u64;
    let (java, node) = (JAVA.lines().count() as u64, NODE.lines().count() as u64);
    let after = 5 + python;
    let expected =
        [1, 2, 3, 4, 4 + python, after, after + java, after + java + node, after + java + node + 1];
    assert_eq!(first, expected, "{log}");
}

#[test]
fn lines_of_formats_of_their_own_are_an_entry_each_and_so_is_each_line_where_that_is_asked_for() {
    assert_eq!(messages("{\"msg\":\"a\"}\n  {\"msg\":\"b\"}\n").len(), 2);
    let log = format!("2026-11-23 13:09:20 ERROR it failed\n{JAVA}");
    let each = SourceOptions { joins_lines: false, ..options() };
    assert_eq!(read_all(log.as_bytes(), each).0.len(), 7);
    assert_eq!(messages(&log).len(), 1);
}

#[test]
fn line_ends_of_windows_are_no_part_of_a_message() {
    let log = format!("2026-11-23 13:09:20 ERROR it failed\n{JAVA}").replace('\n', "\r\n");
    let (entries, _) = read_all(log.as_bytes(), options());
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0].1.message, format!("it failed\n{}", JAVA.trim_end()));
}

#[test]
fn a_record_is_joined_up_to_the_longest_message() {
    let frames = "\tat shop.Db.read(Db.java:42)\n".repeat(100);
    let log =
        format!("2026-11-23 13:09:20 ERROR it failed\n{frames}2026-11-23 13:09:21 INFO next\n");
    let few = SourceOptions { message_bytes_max: 1_000, ..options() };
    let (entries, report) = read_all(log.as_bytes(), few);
    assert!(entries.len() > 2 && report.parse_errors == 0, "{report:?}");
    assert!(entries.iter().all(|(_, entry)| entry.message.len() <= 1_000));
    let all: Vec<&str> = entries.iter().map(|(_, entry)| entry.message.as_str()).collect();
    assert_eq!(all.join("\n"), format!("it failed\n{frames}next"));
}

/// Gives one line a read, and says how often it was asked.
struct LineByLine<'a>(std::str::SplitInclusive<'a, char>, Arc<std::sync::atomic::AtomicUsize>);

impl Read for LineByLine<'_> {
    fn read(&mut self, room: &mut [u8]) -> std::io::Result<usize> {
        self.1.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let line = self.0.next().unwrap_or_default().as_bytes();
        room[..line.len()].copy_from_slice(line);
        Ok(line.len())
    }
}

/// Who writes a line may not write another one for hours, so that it is not kept back for it.
#[test]
fn a_log_that_is_followed_is_given_as_it_comes() {
    let log = format!("2026-11-23 13:09:20 ERROR it failed\n{JAVA}2026-11-23 13:09:21 INFO next\n");
    let reads = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let lines = |reads| LineByLine(log.split_inclusive('\n'), reads);
    let io = Io::memory();
    let mut reader =
        LineReader::new(lines(Arc::clone(&reads)), options()).with_clock(Arc::clone(&io.clock));
    let mut entry = NewEntry::default();
    reader.next(&mut entry).unwrap();
    assert_eq!(entry.message, "it failed");
    assert_eq!(reads.load(std::sync::atomic::Ordering::Relaxed), 1);
    // Of a file it is whole, however it is read.
    let mut reader = LineReader::new(lines(reads), options());
    reader.next(&mut entry).unwrap();
    assert_eq!(entry.message, format!("it failed\n{}", JAVA.trim_end()));
}

#[test]
fn a_panic_of_rust_has_its_message_in_the_line_behind() {
    let whole = RUST.trim_end();
    for (before, after) in
        [("2026-11-23 13:09:20 INFO up", "2026-11-23 13:09:21 INFO next"), ("listening", "done")]
    {
        let log = format!("{before}\n{RUST}{RUST}{after}\n");
        let found = messages(&log);
        assert_eq!(found.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [1, 2, 10, 18]);
        assert_eq!((&*found[1].1, &*found[2].1), (whole, whole));
    }
    let failed = "thread 'a::b' (4711) panicked at a.rs:2:5:\nassertion `left == right` failed\n  left: 1\n right: 2\n\
                  note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n";
    assert_eq!(messages(&format!("up\n{failed}down\n")).len(), 3);
}

/// A program's lines as docker and the CRI keep them.
fn wrapped(stream: &str, lines: &str) -> [String; 2] {
    let docker = |line: &str| {
        let log = serde_json::to_string(&format!("{line}\n")).unwrap();
        format!("{{\"log\":{log},\"stream\":\"{stream}\",\"time\":\"2026-10-18T18:01:47.5Z\"}}\n")
    };
    let cri = |line: &str| format!("2026-10-18T18:01:47.5Z {stream} F {line}\n");
    [lines.lines().map(docker).collect(), lines.lines().map(cri).collect()]
}

#[test]
fn a_trace_in_lines_of_a_container_s_runtime_is_one_entry() {
    for trace in [JAVA, NODE, RUST] {
        for head in ["2026-10-18 18:01:46 [error] it failed\n", "it failed\n"] {
            let own = wrapped("stderr", &format!("{head}{trace}{head}{trace}"));
            let other = wrapped("stdout", "{\"level\":\"warn\",\"msg\":\"slow\"}\n");
            for (own, other) in own.iter().zip(&other) {
                let (entries, report) = read_all(format!("{own}{other}").as_bytes(), options());
                assert_eq!(report.parse_errors, 0);
                let last = entries.last().unwrap();
                assert_eq!((last.1.level, &*last.1.message), (Some(Level::Warn), "slow"));
                let found: Vec<&str> =
                    entries.iter().map(|(_, entry)| entry.message.as_str()).collect();
                let whole = trace.trim_end();
                // Without times nobody knows that the line before tells of it; a panic tells itself.
                let expected = match head.starts_with('2') && trace != RUST {
                    true => vec![format!("it failed\n{whole}"); 2],
                    false => [["it failed", whole]; 2]
                        .concat()
                        .iter()
                        .map(|text| (*text).to_owned())
                        .collect(),
                };
                assert_eq!(found[..found.len() - 1], expected, "{own}");
            }
        }
    }
}

#[test]
fn a_line_that_a_container_s_runtime_has_cut_is_whole_again() {
    let long = format!("{{\"level\":\"error\",\"msg\":\"{}\"}}", "long ".repeat(10));
    let (first, rest) = long.split_at(30);
    let docker = |log: &str| {
        let log = serde_json::to_string(log).unwrap();
        format!("{{\"log\":{log},\"stream\":\"stdout\",\"time\":\"2026-10-18T18:01:47.5Z\"}}\n")
    };
    let cri = |tag: &str, line: &str| format!("2026-10-18T18:01:47.5Z stdout {tag} {line}\n");
    let rests = rest.split_at(10);
    let in_parts = [
        [docker(first), docker(rests.0), docker(&format!("{}\n", rests.1)), docker("next\n")],
        [cri("P", first), cri("P", rests.0), cri("F", rests.1), cri("F", "next")],
    ];
    for log in in_parts {
        for is_followed in [false, true] {
            let log = log.concat();
            let lines = LineByLine(log.split_inclusive('\n'), Arc::default());
            let mut reader = LineReader::new(lines, options());
            if is_followed {
                reader = reader.with_clock(Arc::clone(&Io::memory().clock));
            }
            let mut entry = NewEntry::default();
            reader.next(&mut entry).unwrap();
            assert_eq!((entry.level, &*entry.message), (Some(Level::Error), &*"long ".repeat(10)));
            assert!(!fields(&entry).contains("tag=\"P\""), "{entry:?}");
            let place = reader.next(&mut entry).unwrap().unwrap();
            assert_eq!((place.line, &*entry.message), (4, "next"));
        }
    }
    // Of another stream it goes on elsewhere: nothing is made one that isn't, and nothing is lost.
    let other =
        cri("P", "half ") + &cri("F", "other").replace("stdout", "stderr") + &cri("F", "rest");
    let texts: Vec<String> = messages(&other).into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts, ["half ", "other", "rest"]);
}

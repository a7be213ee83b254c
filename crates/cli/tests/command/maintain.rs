//! Delete, info, check, compact, purge, backup.

use crate::runner::Runner;

/// Three loads, so that there are several batches.
fn store() -> Runner {
    let runner = Runner::new();
    for load in 0..3 {
        let rows: String = (0..100).map(|row| format!("{},{load}\n", row * 3 + load)).collect();
        runner.file("rows.csv", format!("at,load\n{rows}"));
        let load = ["ingest", "store", "rows", "rows.csv", "--as", "timelog", "--time", "at"];
        runner.ok(&[&load[..], &["--time-unit", "s", "--log-unit", "s"]].concat());
    }
    runner
}

#[test]
fn delete_takes_the_range_and_says_how_much_it_was() {
    let runner = store();
    runner.fails(&["delete", "store", "rows"], 2, &["--from", "--to", "--all"]);
    runner.fails(&["delete", "store", "rows", "--all", "--to", "5"], 2, &["--all"]);
    let ran = runner.run(&["delete", "store", "rows", "--from", "10", "--to", "20"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{ran:?}");
    assert_eq!(ran.err, "deleted 10 rows from 'rows'\n");
    assert_eq!(runner.rows("store", "rows"), 290);
    let ran = runner.run(&["delete", "store", "rows", "--all"]);
    assert_eq!(ran.err, "deleted 290 rows from 'rows'\n");
    assert_eq!(runner.rows("store", "rows"), 0);
    runner.fails(&["delete", "store", "none", "--all"], 1, &["'none'", "hint:"]);
}

#[test]
fn info_tells_what_there_is() {
    let runner = store();
    let text = runner.ok(&["info", "store"]);
    for word in ["rows", "timelog", "cbor", "300", "1970-01-01T00:04:59Z"] {
        assert!(text.contains(word), "no '{word}' in {text}");
    }
    let json: serde_json::Value =
        serde_json::from_str(&runner.ok(&["info", "store", "rows", "--json"])).unwrap();
    assert_eq!(json["streams"][0]["rows"], 300);
    assert_eq!(json["streams"][0]["properties"]["unit"], "s");
    assert_eq!(json["streams"][0]["first"], "1970-01-01T00:00:00Z");
    runner.fails(&["info", "store", "none"], 1, &["no stream 'none'"]);
}

/// Of tables it told microseconds, and of topics 0 rows beside streams with names that nobody had given.
#[test]
fn info_tells_what_people_know_by_its_name() {
    let runner = Runner::new();
    runner.file("t.csv", "time,x\n2024-05-01T10:00:00.5Z,1\n2024-05-01T12:00:00Z,2\n");
    runner.ok(&["ingest", "store", "t", "t.csv", "--as", "table"]);
    runner.ok(&["topic", "create", "store", "ev", "--partitions", "2"]);
    let records = "{\"key\": \"a\", \"value\": \"1\", \"timestamp\": 1600000000000000000}\n\
                   {\"key\": \"b\", \"value\": \"2\", \"timestamp\": 1650000000000000000}\n\
                   {\"key\": \"a\", \"value\": \"3\", \"timestamp\": 1700000000000000000}\n";
    let sent = runner
        .run_with_stdin(&["produce", "store", "ev", "-", "--format", "json"], records.as_bytes());
    assert_eq!(sent.code, 0, "{sent:?}");
    runner.file("g.csv", "source,target,kind\na,b,to\nb,c,to\na,c,to\n");
    runner.ok(&["graph", "import", "store", "g", "g.csv", "--names"]);
    let json: serde_json::Value =
        serde_json::from_str(&runner.ok(&["info", "store", "--json"])).unwrap();
    let streams = json["streams"].as_array().unwrap();
    let told: Vec<_> = streams
        .iter()
        .map(|info| (info["name"].as_str().unwrap(), info["rows"].as_u64().unwrap()))
        .collect();
    assert_eq!(told, [("ev", 3), ("g", 3), ("t", 2)]);
    assert_eq!((&streams[1]["edges"], &streams[0]["edges"]), (&3.into(), &serde_json::Value::Null));
    assert_eq!(streams[0]["parts"].as_array().unwrap().len(), 4);
    assert_eq!(streams[0]["first"], "2020-09-13T12:26:40.000000000Z");
    assert_eq!(streams[0]["last"], "2023-11-14T22:13:20.000000000Z");
    assert_eq!(streams[2]["first"], "2024-05-01T10:00:00.500Z");
    assert_eq!(streams[2]["last"], "2024-05-01T12:00:00Z");
    let text = runner.ok(&["info", "store"]);
    assert!(text.contains("3 streams") && text.contains("3 blocks, 3 edges"), "{text}");
    // Only the names count: the folder's own, in the first line, may end in a "g" by chance.
    let names: Vec<_> = text
        .lines()
        .skip_while(|line| !line.starts_with("name"))
        .skip(2)
        .map(|line| line.split_whitespace().next().unwrap_or_default())
        .collect();
    assert_eq!(names, ["ev", "g", "t"], "{text}");
    // Who asks for a part gets it, and a table shows its columns before anything is compacted.
    assert!(runner.ok(&["info", "store", "ev/1"]).contains("ev/1"));
    let table = runner.ok(&["info", "store", "t"]);
    assert!(table.contains("Timestamp(") && table.contains("Int64"), "{table}");
}

#[test]
fn compaction_keeps_the_rows_and_leaves_fewer_runs() {
    let runner = store();
    runner.ok(&["delete", "store", "rows", "--to", "100"]);
    let before = runner.ok(&["query", "store", "rows", "--format", "csv"]);
    let ran = runner.run(&["compact", "store", "rows"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.err.contains("compacted 3 runs") && ran.err.contains("to 1 run"), "{ran:?}");
    assert_eq!(runner.ok(&["query", "store", "rows", "--format", "csv"]), before);
    runner.ok(&["compact", "store"]);
    runner.fails(&["compact", "store", "none"], 1, &["no stream 'none'"]);
}

#[test]
fn a_purge_leaves_no_byte_of_what_was_deleted() {
    let runner = Runner::new();
    runner.file("rows.csv", "at,name\n1,of-nobody-else\n2,stays\n");
    let load = ["ingest", "store", "rows", "rows.csv", "--as", "table", "--time", "at"];
    runner.ok(&[&load[..], &["--time-unit", "s"]].concat());
    let holds = |text: &[u8]| {
        let files = ["runs", "wal"].map(|part| files_in(&runner.path("store").join(part)));
        let mut all = files.iter().flatten();
        all.any(|file| file.windows(text.len()).any(|part| part == text))
    };
    assert!(holds(b"of-nobody-else"));
    runner.ok(&["delete", "store", "rows", "--to", "1970-01-01T00:00:02Z"]);
    let ran = runner.run(&["purge", "store", "rows"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.err.contains("erased what was deleted"), "{ran:?}");
    assert!(!holds(b"of-nobody-else"));
    assert!(runner.ok(&["query", "store", "rows", "--format", "csv"]).contains("stays"));
    runner.fails(&["purge", "store", "none"], 1, &["none"]);
}

#[expect(clippy::disallowed_methods, reason = "the test looks at what is on disk")]
fn files_in(dir: &std::path::Path) -> Vec<Vec<u8>> {
    let entries = std::fs::read_dir(dir).unwrap();
    entries.map(|entry| std::fs::read(entry.unwrap().path()).unwrap()).collect()
}

#[test]
fn a_backup_is_a_store_with_the_same_rows() {
    let runner = store();
    let ran = runner.run(&["backup", "store", "copy"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.err.contains("to copy, up to commit"), "{ran:?}");
    for verb in ["query", "info"] {
        let rest: &[&str] = if verb == "query" { &["rows", "--format", "csv"] } else { &["rows"] };
        let of = |store: &str| {
            let told = runner.ok(&[&[verb, store], rest].concat());
            // The past is not in the copy.
            let of_now = told.lines().skip(3).filter(|line| !line.starts_with("history: "));
            of_now.collect::<String>()
        };
        assert_eq!(of("store"), of("copy"));
    }
    runner.ok(&["check", "copy"]);
    runner.fails(&["backup", "store", "copy"], 1, &["copy"]);
}

#[test]
fn a_backup_of_a_damaged_store_is_made_where_that_is_asked_for() {
    let runner = store();
    runner.ok(&["compact", "store"]);
    // One before it only the history needs, and that is not in the copy.
    flip(&newest_file(&runner.path("store/runs")), 200);
    runner.fails(&["backup", "store", "copy"], 1, &["stream 'rows'", "--with-damage"]);
    let ran = runner.run(&["backup", "store", "copy", "--with-damage"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.err.contains("damaged in the copy too: 300 rows of stream 'rows'"), "{ran:?}");
    runner.fails(&["check", "copy"], 1, &["damaged place"]);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test removes files on purpose")]
fn a_store_whose_manifest_is_lost_is_told_of_repair_and_repaired() {
    let runner = store();
    let before = runner.ok(&["query", "store", "rows", "--format", "csv"]);
    for name in ["MANIFEST", "MANIFEST.copy"] {
        std::fs::remove_file(runner.path("store").join(name)).unwrap();
    }
    runner.fails(&["query", "store", "rows"], 1, &["manifest is missing", "timestrata repair"]);
    let foretold = runner.ok(&["repair", "store", "--dry-run"]);
    assert!(foretold.contains("stream 'rows': 300 rows"), "{foretold}");
    assert!(!runner.path("store-repaired").exists());
    let ran = runner.run(&["repair", "store", "--to", "new"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.err.contains("nothing was lost"), "{ran:?}");
    assert_eq!(runner.ok(&["query", "new", "rows", "--format", "csv"]), before);
    runner.ok(&["check", "new"]);
    runner.fails(&["repair", "store", "--to", "new"], 1, &["missing or empty"]);
    let json: serde_json::Value =
        serde_json::from_str(&runner.ok(&["repair", "store", "--json"])).unwrap();
    assert_eq!((&json["lost_nothing"], &json["streams"][0]["rows"]), (&true.into(), &300.into()));
}

#[test]
fn a_query_over_damage_says_what_is_missing_and_goes_on_without_it_where_asked_to() {
    let runner = Runner::new();
    let rows: String = (0..50).map(|row| format!("{row},{}\n", row * 7)).collect();
    runner.file("rows.csv", format!("at,load\n{rows}"));
    let load = ["ingest", "store", "rows", "rows.csv", "--as", "table", "--time", "at"];
    runner.ok(&[&load[..], &["--time-unit", "s"]].concat());
    flip(&first_file(&runner.path("store/runs")), 300);
    let query = ["query", "store", "rows", "--format", "csv"];
    runner.fails(&query, 1, &["50 rows of stream 'rows'", "can't be read", "hint:"]);
    let ran = runner.run(&[&query[..], &["--skip-damaged"]].concat());
    assert_eq!((ran.code, ran.out.lines().count()), (0, 1), "{ran:?}");
    assert!(ran.err.contains("left out: 50 rows of stream 'rows'"), "{ran:?}");
}

#[test]
fn check_finds_a_flipped_byte_and_names_the_file() {
    let runner = store();
    let ran = runner.run(&["check", "store"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{ran:?}");
    assert!(ran.err.contains("sound"), "{ran:?}");
    runner.ok(&["compact", "store"]);
    let run = first_file(&runner.path("store/runs"));
    flip(&run, 200);
    let name = run.file_name().unwrap().to_str().unwrap();
    let ran = runner.fails(&["check", "store"], 1, &["damaged place", "hint:"]);
    assert!(ran.out.starts_with("damage: ") && ran.out.contains(name), "{ran:?}");
    let ran = runner.run(&["check", "store", "--json"]);
    assert_eq!(ran.code, 1);
    let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(json["sound"], false);
    assert!(json["findings"][0]["path"].as_str().unwrap().contains(name));
}

#[expect(clippy::disallowed_methods, reason = "the test damages a file on purpose")]
fn first_file(dir: &std::path::Path) -> std::path::PathBuf {
    let files = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    files.min().unwrap()
}

#[expect(clippy::disallowed_methods, reason = "the test damages a file on purpose")]
fn newest_file(dir: &std::path::Path) -> std::path::PathBuf {
    let files = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    files.max().unwrap()
}

#[expect(clippy::disallowed_methods, reason = "the test damages a file on purpose")]
fn flip(path: &std::path::Path, offset: usize) {
    let mut bytes = std::fs::read(path).unwrap();
    bytes[offset] ^= 0x40;
    std::fs::write(path, bytes).unwrap();
}

//! SQL, export, the configuration.

use crate::runner::Runner;

const TRADES: &str = "\
time,symbol,price
2024-05-01T10:00:00Z,A,1.5
2024-05-01T10:00:02Z,B,2.5
2024-05-01T10:00:01Z,A,3.5
";

fn trades() -> Runner {
    let runner = Runner::new();
    runner.file("trades.csv", TRADES);
    runner.ok(&["ingest", "store", "trades", "trades.csv", "--as", "table", "--tag", "symbol"]);
    runner
}

#[test]
fn sql_asks_and_changes_only_if_it_may() {
    let runner = trades();
    let query = "SELECT symbol, count(*) AS n FROM trades GROUP BY symbol ORDER BY symbol";
    let csv = runner.ok(&["sql", "store", query, "--format", "csv"]);
    assert_eq!(csv, "symbol,n\nA,2\nB,1\n");
    let ran = runner.run_with_stdin(&["sql", "store", "-", "--format", "csv"], query.as_bytes());
    assert_eq!((ran.code, ran.out), (0, csv));
    let delete = "DELETE FROM trades WHERE price > 3";
    runner.fails(&["sql", "store", delete], 1, &["error: "]);
    runner.ok(&["sql", "store", delete, "--write"]);
    assert_eq!(runner.rows("store", "trades"), 2);
    runner.fails(&["sql", "store", "SELEC 1"], 1, &["SELEC"]);
    runner.fails(&["sql", "store", "SELECT none FROM trades"], 1, &["none"]);
    runner.fails(&["sql", "store", "SELECT 1", "--memory", "much"], 2, &["512MiB"]);
}

#[test]
fn columns_widen_for_files_where_that_is_asked_for() {
    let runner = trades();
    runner.file("more.csv", "time,symbol,price\n2024-05-01T10:00:03Z,A,cheap\n");
    let load = ["ingest", "store", "trades", "more.csv", "--as", "table"];
    runner.fails(&load, 1, &["line 2", "'price'", "cheap"]);
    runner.ok(&[&load[..], &["--on-mismatch", "widen"]].concat());
    let query = "SELECT price FROM trades ORDER BY time";
    let prices = runner.ok(&["sql", "store", query, "--format", "csv"]);
    assert_eq!(prices, "price\n1.5\n3.5\n2.5\ncheap\n");
}

#[test]
fn statements_are_read_until_they_end_with_a_semicolon() {
    let runner = trades();
    let typed = b"SELECT count(*)\nFROM trades;\nSELECT nonsense;\nSELECT 41 + 1 AS answer;\n\\q\n";
    let ran = runner.run_with_stdin(&["sql", "store", "--format", "csv"], typed);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.out.contains("\n3\n") && ran.out.contains("answer\n42\n"), "{ran:?}");
    assert!(ran.err.contains("nonsense") && ran.err.contains("1 row in "), "{ran:?}");
}

#[test]
fn what_is_exported_can_be_taken_in_again() {
    let runner = trades();
    let rows = runner.ok(&["query", "store", "trades", "--format", "csv"]);
    for (format, name) in
        [("csv", "t.csv"), ("json", "t.jsonl"), ("arrow", "t.arrow"), ("parquet", "t.parquet")]
    {
        runner.ok(&["export", "store", "trades", "--format", format, "--output", name]);
        let other = format!("other-{format}");
        runner.ok(&["ingest", "store", &other, name, "--as", "table"]);
        assert_eq!(runner.ok(&["query", "store", &other, "--format", "csv"]), rows, "{format}");
        let again = ["export", "store", "trades", "--format", format, "--output", name];
        runner.fails(&again, 1, &[name, "hint:"]);
    }
    let part = ["--from", "2024-05-01T10:00:01Z", "--columns", "price"];
    let csv = runner.ok(&[&["export", "store", "trades", "--format", "csv"], &part[..]].concat());
    assert_eq!(csv, "price\n3.5\n2.5\n");
    runner.fails(&["export", "store", "none", "--format", "csv"], 1, &["none"]);
}

#[test]
fn info_of_one_table_tells_what_its_columns_take() {
    let runner = trades();
    let before = runner.ok(&["info", "store", "trades"]);
    assert!(before.contains("Timestamp(") && !before.contains("DELTA_BINARY_PACKED"), "{before}");
    runner.ok(&["compact", "store"]);
    let text = runner.ok(&["info", "store", "trades"]);
    for word in ["ratio", "DELTA_BINARY_PACKED", "price", "symbol"] {
        assert!(text.contains(word), "no {word} in {text}");
    }
    let json = runner.ok(&["info", "store", "trades", "--json"]);
    let info: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(info["streams"][0]["columns"][2]["plain_bytes"], 24);
}

#[test]
fn config_shows_each_value_with_its_origin_and_refuses_what_it_does_not_know() {
    let runner = Runner::new();
    runner.file("server.toml", "[limits]\nrows_max = 7\n");
    let text = runner.ok(&[
        "config",
        "show",
        "--config",
        "server.toml",
        "--listen",
        "127.0.0.1:9999",
        "--set",
        "log.form=text",
    ]);
    for line in [
        "listen = \"127.0.0.1:9999\" # ",
        "rows_max = \"7\" # ",
        "form = \"text\" # flag --set",
        "level = \"info\" # default",
    ] {
        assert!(text.contains(line), "no {line} in {text}");
    }
    assert!(text.contains("server.toml"), "{text}");
    for (name, toml, words) in [
        ("unknown.toml", "[limits]\nrows_mx = 7\n", ["rows_mx", "unknown.toml"]),
        ("wrong.toml", "[limits]\nrows_max = \"many\"\n", ["rows_max", "many"]),
        ("broken.toml", "[limits\n", ["broken.toml", "line 1"]),
    ] {
        runner.file(name, toml);
        runner.fails(&["config", "show", "--config", name], 1, &words);
    }
    runner.fails(&["config", "show", "--config", "none.toml"], 1, &["none.toml", "hint:"]);
}

#[test]
fn a_refusal_names_the_flag_that_helps_and_that_flag_helps() {
    let runner = Runner::new();
    let cases: [(&str, &[u8], &str, &[&str]); 6] = [
        ("iris.csv", b"petals\n1.4\n", "--time-of-load", &["--time-of-load"]),
        (
            "us.csv",
            b"day,v\n1/2/2024,1\n3/4/2024,2\n",
            "--time-format %m/%d/%Y",
            &["--time-format", "%m/%d/%Y"],
        ),
        ("lung.csv", b"time,v\n306,1\n", "--time-unit s", &["--time", "time", "--time-unit", "s"]),
        ("short.csv", b"time,a,b\n2024-01-01,1\n", "--fill-short-rows", &["--fill-short-rows"]),
        (
            "cp1252.csv",
            b"time,a\n2024-01-01,\xfc\n",
            "--encoding windows-1252",
            &["--encoding", "cp1252"],
        ),
        ("marked.csv", b"time,v\n2024-01-01,1\n% pause\n", "--on-error skip", &["--comment", "%"]),
    ];
    for (file, bytes, flag, helps) in cases {
        runner.file(file, bytes);
        let load = ["ingest", "store", file, file, "--as", "table"];
        let ran = runner.run(&load);
        assert_eq!(ran.code, 1, "{file}: {ran:?}");
        let told = ran.err.replace('\'', "");
        assert!(told.contains(flag), "{file}: {told}");
        let ran = runner.run(&[&load[..], helps].concat());
        assert_eq!(ran.code, 0, "{file}: {ran:?}");
    }
}

#[test]
fn a_dry_run_tells_what_would_be_made_and_makes_nothing() {
    let runner = Runner::new();
    runner.file("sales.csv", "day;amount;note\n31.01.2024;1,5;x\n01.02.2024;2;\n");
    let load = ["ingest", "store", "sales", "sales.csv", "--as", "table"];
    let told = runner.ok(&[&load[..], &["--dry-run"]].concat());
    let expected = "sales.csv: csv, fields separated by ';', 2 rows\n  day: Timestamp(µs, \"UTC\") \
                    (the time, day before month)\n  amount: Float64 (decimal comma)\n  note: Utf8\n";
    assert_eq!(told, expected);
    assert_eq!(runner.run(&["info", "store"]).code, 1, "a store was made");
    // A load tells what it had to tell apart.
    let ran = runner.run(&load);
    assert!(ran.err.contains("column 'day': day before month"), "{ran:?}");
    runner.file("none.csv", "a,b\n1,2\n");
    let load = ["ingest", "store", "none", "none.csv", "--as", "table", "--dry-run"];
    let ran = runner.run(&load);
    assert!(
        ran.code == 1 && ran.out.contains("refused: ") && ran.err.contains("1 file would be"),
        "{ran:?}"
    );
    runner.fails(
        &["ingest", "store", "l", "none.csv", "--as", "logs", "--dry-run"],
        2,
        &["are for tables"],
    );
}

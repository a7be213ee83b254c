//! Verbs that are there for all models do with a log what it has a meaning for.

use serde_json::Value;

use crate::logs::{found, instant, json_lines, store};

#[test]
fn verbs_of_all_models_know_logs() {
    let runner = store();
    let text = runner.ok(&["info", "store", "app"]);
    assert!(text.contains("logs") && text.contains(" 20 "), "{text}");
    let info: Value = serde_json::from_str(&runner.ok(&["info", "store", "--json"])).unwrap();
    let first =
        json_lines(&runner.ok(&["query", "store", "app", "--limit", "1", "--format", "json"]));
    assert_eq!(instant(&info["streams"][0]["first"]), instant(&first[0]["timestamp"]));
    assert_eq!(first[0]["message"], "request 0 was served");
    let columns = ["--columns", "level,message,host,status,none", "--format", "csv"];
    let ran = runner
        .run(&[&["query", "store", "app", "--reverse", "--limit", "1"], &columns[..]].concat());
    let expected = "level,message,host,status,none\n,request 19 was served,web-2,200,\n";
    assert_eq!((ran.code, ran.out.as_str()), (0, expected), "{ran:?}");
    assert_eq!(ran.err, "warning: no entry has a label or field 'none'\n");
    for format in ["csv", "json", "arrow", "parquet"] {
        let told = runner.told(&["export", "store", "app", "--format", format, "--output", format]);
        assert_eq!(told, format!("exported 20 rows to {format}\n"));
    }
    let count = "SELECT level, count(*) AS n FROM app GROUP BY level ORDER BY level";
    let counted = "level,n\nerror,4\ninfo,4\nwarn,4\n,8\n";
    assert_eq!(runner.ok(&["sql", "store", count, "--format", "csv"]), counted);
    runner.ok(&["compact", "store", "app"]);
    runner.ok(&["check", "store"]);
    let three = runner.ok(&["logs", "search", "store", "app", "--limit", "3"]);
    let third = three.lines().nth(2).and_then(|line| line.split(' ').next()).unwrap();
    let told = runner.told(&["delete", "store", "app", "--to", third]);
    assert_eq!(told, "deleted 2 rows from 'app'\n");
    assert_eq!(found(&runner, &["--limit", "1"]), [2]);
    assert_eq!(runner.rows("store", "app"), 18);
}

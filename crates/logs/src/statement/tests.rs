use crate::filter::{Filter, Question};
use crate::{AskedLog, Clock, Query};

fn statement(text: &str) -> String {
    let question: Question = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
    let log = AskedLog { name: "app", clock: Clock::Timestamp };
    question.statement(&[log], &Query::default())
}

/// What is asked of the entries: the part before `FROM`, and the part behind the entries.
fn parts(text: &str) -> (String, String) {
    let statement = statement(text);
    let (asked, rest) = statement.split_once(" FROM (").unwrap();
    let (_, behind) = rest.rsplit_once(") AS entries").unwrap();
    (asked.to_owned(), behind.trim().to_owned())
}

#[test]
fn figures_are_counted_by_groups() {
    let (asked, behind) = parts("error | stats count by host");
    let host = "coalesce(labels->>'host', fields->>'host')";
    assert_eq!(asked, format!("SELECT {host} AS \"host\", count(*) AS \"count\""));
    assert_eq!(behind, "GROUP BY 1 ORDER BY \"host\" NULLS LAST");
    let (asked, behind) =
        parts("* | STATS p95(took) AS slow, distinct(user.id), max(b) BY time(5m), level");
    assert!(
        asked.contains("time_bucket(INTERVAL '300000000000 nanoseconds', \"time\", TIMESTAMP '1970-01-01T00:00:00Z') AS \"time\"")
    );
    assert!(asked.contains("approx_percentile_cont(0.95) WITHIN GROUP (ORDER BY TRY_CAST("));
    assert!(asked.contains("AS \"slow\", count(DISTINCT "), "{asked}");
    assert!(asked.contains("fields->'user'->>'id'") && asked.contains("\"distinct(user.id)\""));
    assert_eq!(behind, "GROUP BY 1, 2 ORDER BY \"time\" NULLS LAST, \"level\" NULLS LAST");
    assert_eq!(parts("| stats count"), ("SELECT count(*) AS \"count\"".to_owned(), String::new()));
}

#[test]
fn top_and_rate_are_figures_with_an_order() {
    let (asked, behind) = parts("| top 3 path, `a b`");
    assert!(asked.contains("fields->>'a b') AS \"a b\", count(*)"), "{asked}");
    let rest = "\"path\" NULLS LAST, \"a b\" NULLS LAST LIMIT 3";
    assert_eq!(behind, format!("GROUP BY 1, 2 ORDER BY \"count\" DESC NULLS LAST, {rest}"));
    assert!(parts("| top path").1.ends_with("LIMIT 10"));
    let (asked, behind) = parts("level>=warn | rate 10s by log");
    assert!(
        asked.contains("log AS \"log\", count(*) AS \"count\", count(*) * 1e9 / 10000000000.0")
    );
    assert_eq!(behind, "GROUP BY 1, 2 ORDER BY \"time\" NULLS LAST, \"log\" NULLS LAST");
}

#[test]
fn rows_are_sorted_and_cut() {
    let (_, behind) = parts("| stats count, p99(took) by host | sort by -p99(took), host | head 5");
    let order = "ORDER BY \"p99(took)\" DESC NULLS LAST, \"host\" ASC NULLS LAST LIMIT 5";
    assert_eq!(behind, format!("GROUP BY 1 {order}"));
    assert!(parts("|stats count by host |sort count desc").1.contains("\"count\" DESC"));
}

#[test]
fn texts_of_a_question_stay_texts_in_sql() {
    let text = statement("\"it's\" | stats count by `o'x\"y`");
    assert!(text.contains("search(\"app\", '\"it''s\"')"), "{text}");
    assert!(text.contains("fields->>'o''x\"y') AS \"o'x\"\"y\""), "{text}");
}

#[test]
fn several_logs_are_asked_at_once_each_by_its_clock() {
    let question: Question = "disk | stats count by log".parse().unwrap();
    let logs = [
        AskedLog { name: "app", clock: Clock::Timestamp },
        AskedLog { name: "we\"b", clock: Clock::SourceTime },
    ];
    let range = Query { from: Some(0), to: Some(1_000_000_000), ..Query::default() };
    let statement = question.statement(&logs, &range);
    let app = "FROM search(\"app\", 'disk') WHERE timestamp >= TIMESTAMP '1970-01-01T00:00:00Z' AND \
               timestamp < TIMESTAMP '1970-01-01T00:00:01Z' UNION ALL SELECT 'we\"b' AS log";
    assert!(statement.contains(app), "{statement}");
    assert!(statement.contains("\"we\"\"b\", 'disk') WHERE coalesce(source_time, timestamp) >="));
}

#[test]
fn what_is_no_question_is_refused_and_pointed_at() {
    for (text, what) in [
        ("error | count", "column 9: expected stats, top or rate behind the bar"),
        ("error |", "column 8: expected stats, top or rate behind the bar"),
        ("error", "column 6: expected a bar"),
        ("| stats p101(x)", "'p101' is no figure"),
        ("| stats sum", "sum needs a field, as in sum(took)"),
        ("| stats count(", "column 15: expected \")\""),
        ("| stats count by", "column 17: expected a field"),
        ("| stats count, count", "two columns are called 'count'"),
        ("| stats count by time(5)", "'5' is no length such as 30s"),
        ("| stats count | sort nothing", "no column 'nothing' to sort by; there are count"),
        ("| stats count | limit", "expected how many rows"),
        ("| stats count | stats count", "expected sort or limit behind the figures"),
        ("| stats count host", "expected a bar, a comma or the end, found 'host'"),
        ("(a | stats count)", "column 4: expected a term or \")\""),
    ] {
        let error = text.parse::<Question>().unwrap_err().to_string();
        assert!(error.contains(what), "{text}: {error}");
    }
    let many = format!("| stats count by {}", vec!["a"; 40].join(", "));
    assert!(many.parse::<Question>().unwrap_err().to_string().contains("more than 32"));
}

#[test]
fn a_filter_knows_that_stages_are_no_part_of_it() {
    assert!(
        Question::has_stages("error | stats count by host") && Question::has_stages("|top 5 a")
    );
    for text in ["error", "a|b", "\"| stats\"", "/a | b/", "path:|x"] {
        assert!(!Question::has_stages(text), "{text}");
        assert!(text.parse::<Filter>().is_ok(), "{text}");
    }
    let error = "error | stats count".parse::<Filter>().unwrap_err().to_string();
    assert!(error.contains("column 7") && error.contains("asked of `stats`"), "{error}");
}

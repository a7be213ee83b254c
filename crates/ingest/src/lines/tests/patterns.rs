//! Formats that a table says: those that are known, and those of users.

use timestrata_engine::ErrorKind;
use timestrata_logs::Level;

use super::*;

/// A line of a format, and its entry: its time, level, message and fields. The lines are made up, in the form that the programs write.
struct Example {
    format: &'static str,
    line: &'static str,
    time: Option<&'static str>,
    level: Option<Level>,
    message: &'static str,
    fields: &'static str,
}

const fn example(
    format: &'static str,
    line: &'static str,
    time: &'static str,
    level: Level,
    message: &'static str,
    fields: &'static str,
) -> Example {
    Example { format, line, time: Some(time), level: Some(level), message, fields }
}

/// Of lines that say no time, or no level.
const fn with(
    format: &'static str,
    line: &'static str,
    (time, level): (Option<&'static str>, Option<Level>),
    message: &'static str,
    fields: &'static str,
) -> Example {
    Example { format, line, time, level, message, fields }
}

const EXAMPLES: &[Example] = &[
    example(
        "android",
        "11-17 16:13:38.811  1702  2395 D WindowManager: frozen: yes",
        "2026-11-17T16:13:38.811Z",
        Level::Debug,
        "frozen: yes",
        r#"pid=1702 tid=2395 tag="WindowManager""#,
    ),
    example(
        "android",
        "2026-03-17 16:13:38.811  1702  2395 W Tag   : m",
        "2026-03-17T16:13:38.811Z",
        Level::Warn,
        "m",
        r#"pid=1702 tid=2395 tag="Tag""#,
    ),
    with(
        "android-brief",
        "I/ActivityManager(  585): up",
        (None, Some(Level::Info)),
        "up",
        r#"tag="ActivityManager" pid=585"#,
    ),
    with(
        "cri",
        "2026-10-18T18:01:47.978123456Z stdout F said",
        (Some("2026-10-18T18:01:47.978123456Z"), None),
        "said",
        r#"stream="stdout" tag="F""#,
    ),
    example(
        "bluegene",
        "- 1117838570 2005.06.03 R02-N0 2005-06-03-15.42.50.675872 R02-N0 RAS KERNEL INFO cache corrected",
        "2005-06-03T22:42:50Z",
        Level::Info,
        "cache corrected",
        r#"date="2005.06.03" node="R02-N0" local_time="2005-06-03-15.42.50.675872" location="R02-N0" type="RAS" component="KERNEL""#,
    ),
    with(
        "labeled-syslog",
        "- 1131566461 2005.11.09 dn228 Nov 9 12:01:01 dn228/dn228 crond[2915]: session closed",
        (Some("2005-11-09T20:01:01Z"), None),
        "session closed",
        r#"date="2005.11.09" node="dn228" local_time="Nov 9 12:01:01" host="dn228/dn228" app="crond" pid=2915"#,
    ),
    example(
        "hdfs",
        "081109 203615 148 WARN dfs.DataNode$PacketResponder: PacketResponder 1: gone",
        "2008-11-09T20:36:15Z",
        Level::Warn,
        "PacketResponder 1: gone",
        r#"pid=148 logger="dfs.DataNode$PacketResponder""#,
    ),
    with(
        "cluster-events",
        "134681 node-246 unix.hw state_change.unavailable 1077804742 1 Component State Change",
        (Some("2004-02-26T14:12:22Z"), None),
        "Component State Change",
        r#"id=134681 node="node-246" component="unix.hw" state="state_change.unavailable" flag=1"#,
    ),
    example(
        "zookeeper",
        "2015-07-29 17:41:44,747 - INFO  [QuorumPeer[myid=1]/0:0:0:2181:FastLeaderElection@774] - Notification",
        "2015-07-29T17:41:44.747Z",
        Level::Info,
        "Notification",
        r#"thread="QuorumPeer[myid=1]/0:0:0:2181" logger="FastLeaderElection" line=774"#,
    ),
    example(
        "hadoop",
        "2015-10-18 18:01:47,978 ERROR [IPC Server handler 1] org.apache.hadoop.App: Created: x",
        "2015-10-18T18:01:47.978Z",
        Level::Error,
        "Created: x",
        r#"thread="IPC Server handler 1" logger="org.apache.hadoop.App""#,
    ),
    example(
        "fail2ban",
        "2026-10-18 18:01:47,978 fail2ban.actions        [1234]: NOTICE  [sshd] Ban 192.0.2.1",
        "2026-10-18T18:01:47.978Z",
        Level::Info,
        "[sshd] Ban 192.0.2.1",
        r#"logger="fail2ban.actions" pid=1234"#,
    ),
    example(
        "cassandra",
        "WARN  [ReadStage-2] 2026-10-18 18:01:47,978 ReadCommand.java:536 - Read 5000 rows",
        "2026-10-18T18:01:47.978Z",
        Level::Warn,
        "Read 5000 rows",
        r#"thread="ReadStage-2" file="ReadCommand.java" line=536"#,
    ),
    example(
        "log4j",
        "2026-10-18 18:01:47,978 WARN  [main] com.example.App - slow",
        "2026-10-18T18:01:47.978Z",
        Level::Warn,
        "slow",
        r#"thread="main" logger="com.example.App""#,
    ),
    example(
        "logback",
        "2026-10-18 18:01:47.978 [http-nio-1] ERROR c.e.App - broken",
        "2026-10-18T18:01:47.978Z",
        Level::Error,
        "broken",
        r#"thread="http-nio-1" logger="c.e.App""#,
    ),
    example(
        "spring-boot",
        "2026-10-18T18:01:47.978+02:00  INFO 4242 --- [shop] [           main] c.e.ShopApplication    : Started",
        "2026-10-18T16:01:47.978Z",
        Level::Info,
        "Started",
        r#"pid=4242 app="shop" thread="main" logger="c.e.ShopApplication""#,
    ),
    example(
        "tomcat",
        "18-Oct-2026 18:01:47.978 SEVERE [main] org.apache.catalina.startup.Catalina.start Failed",
        "2026-10-18T18:01:47.978Z",
        Level::Error,
        "Failed",
        r#"thread="main" logger="org.apache.catalina.startup.Catalina.start""#,
    ),
    example(
        "elasticsearch",
        "[2026-10-18T18:01:47,978][WARN ][o.e.c.r.a.DiskThreshold  ] [node-1] high disk watermark",
        "2026-10-18T18:01:47.978Z",
        Level::Warn,
        "high disk watermark",
        r#"logger="o.e.c.r.a.DiskThreshold" node="node-1""#,
    ),
    example(
        "spark",
        "17/06/09 20:10:40 INFO executor.Backend: Registered: x",
        "2017-06-09T20:10:40Z",
        Level::Info,
        "Registered: x",
        r#"logger="executor.Backend""#,
    ),
    with(
        "healthapp",
        "20171224-0:7:20:44|Step_LSC|30002312|onStandStepChanged 3579",
        (Some("2017-12-24T00:07:20.044Z"), None),
        "onStandStepChanged 3579",
        r#"component="Step_LSC" pid=30002312"#,
    ),
    example(
        "openstack",
        "nova-api.log.1 2017-05-16 00:00:00.008 25746 INFO nova.wsgi [req-1 - -] GET /v2",
        "2017-05-16T00:00:00.008Z",
        Level::Info,
        "GET /v2",
        r#"file="nova-api.log.1" pid=25746 logger="nova.wsgi" request="req-1 - -""#,
    ),
    with(
        "proxifier",
        "[10.30 16:49:06] chrome.exe - proxy.example.com:5070 open - all",
        (Some("2026-10-30T16:49:06Z"), None),
        "proxy.example.com:5070 open - all",
        r#"app="chrome.exe""#,
    ),
    example(
        "windows-servicing",
        "2016-09-28 04:30:30, Warning               CBS    Loaded",
        "2016-09-28T04:30:30Z",
        Level::Warn,
        "Loaded",
        r#"component="CBS""#,
    ),
    example(
        "apache-error",
        "[Fri Oct 16 18:01:47.978000 2026] [core:crit] [pid 12:tid 34] [client 192.0.2.1] denied",
        "2026-10-16T18:01:47.978Z",
        Level::Fatal,
        "[client 192.0.2.1] denied",
        r#"module="core" pid=12 tid=34"#,
    ),
    example(
        "nginx-error",
        "2026/10/18 18:01:47 [error] 7#8: *1 open() failed",
        "2026-10-18T18:01:47Z",
        Level::Error,
        "open() failed",
        "pid=7 tid=8 connection=1",
    ),
    example(
        "postgresql",
        "2026-10-18 18:01:47.978 UTC [123] app@shop ERROR:  relation does not exist",
        "2026-10-18T18:01:47.978Z",
        Level::Error,
        "relation does not exist",
        r#"pid=123 session="app@shop""#,
    ),
    with(
        "postgresql",
        "2026-10-18 18:01:47 CET [123] LOG:  ready",
        (None, Some(Level::Info)),
        "ready",
        r#"time="2026-10-18 18:01:47 CET" pid=123"#,
    ),
    example(
        "mysql",
        "2026-10-18T18:01:47.978123Z 0 [System] [MY-010116] [Server] mysqld starting",
        "2026-10-18T18:01:47.978123Z",
        Level::Info,
        "mysqld starting",
        r#"thread=0 code="MY-010116" subsystem="Server""#,
    ),
    example(
        "mariadb",
        "2026-10-18  9:01:47 0 [Warning] Aborted connection",
        "2026-10-18T09:01:47Z",
        Level::Warn,
        "Aborted connection",
        "thread=0",
    ),
    example(
        "redis",
        "1:M 18 Oct 2026 18:01:47.978 # Server started",
        "2026-10-18T18:01:47.978Z",
        Level::Warn,
        "Server started",
        r#"pid=1 role="M""#,
    ),
    example(
        "mongodb",
        "2026-10-18T18:01:47.978+0200 I NETWORK  [conn1] end connection",
        "2026-10-18T16:01:47.978Z",
        Level::Info,
        "end connection",
        r#"component="NETWORK" context="conn1""#,
    ),
    example(
        "python",
        "2026-10-18 18:01:47,978 - app.db - WARNING - slow - very",
        "2026-10-18T18:01:47.978Z",
        Level::Warn,
        "slow - very",
        r#"logger="app.db""#,
    ),
    with(
        "python-basic",
        "WARNING:root:disk: full",
        (None, Some(Level::Warn)),
        "disk: full",
        r#"logger="root""#,
    ),
    example(
        "airflow",
        "[2026-10-18T18:01:47.978+0000] {taskinstance.py:1157} ERROR - failed",
        "2026-10-18T18:01:47.978Z",
        Level::Error,
        "failed",
        r#"file="taskinstance.py" line=1157"#,
    ),
    example(
        "celery",
        "[2026-10-18 18:01:47,978: INFO/MainProcess] ready",
        "2026-10-18T18:01:47.978Z",
        Level::Info,
        "ready",
        r#"process="MainProcess""#,
    ),
    example(
        "gunicorn",
        "[2026-10-18 18:01:47 +0200] [42] [INFO] Booting worker",
        "2026-10-18T16:01:47Z",
        Level::Info,
        "Booting worker",
        "pid=42",
    ),
    with(
        "uvicorn",
        "INFO:     Started server process [42]",
        (None, Some(Level::Info)),
        "Started server process [42]",
        "",
    ),
    example(
        "ruby",
        "E, [2026-10-18T18:01:47.978123 #42] ERROR -- : it failed: badly",
        "2026-10-18T18:01:47.978123Z",
        Level::Error,
        "it failed: badly",
        r#"pid=42 severity="ERROR""#,
    ),
    example(
        "monolog",
        "[2026-10-18T18:01:47.978123+02:00] app.CRITICAL: gone {\"a\":1}",
        "2026-10-18T16:01:47.978123Z",
        Level::Fatal,
        "gone {\"a\":1}",
        r#"channel="app""#,
    ),
    example(
        "env-logger",
        "[2026-10-18T18:01:47Z WARN  shop::db] slow",
        "2026-10-18T18:01:47Z",
        Level::Warn,
        "slow",
        r#"target="shop::db""#,
    ),
    example(
        "nlog",
        "2026-10-18 18:01:47.9781|ERROR|Shop.Db|slow|very",
        "2026-10-18T18:01:47.9781Z",
        Level::Error,
        "slow|very",
        r#"logger="Shop.Db""#,
    ),
    with(
        "dotnet-console",
        "fail: Microsoft.Hosting.Lifetime[14]",
        (None, Some(Level::Error)),
        "",
        r#"logger="Microsoft.Hosting.Lifetime" event=14"#,
    ),
    example(
        "lambda",
        "[ERROR]\t2026-10-18T18:01:47.978Z\t8f5-11\tno: x",
        "2026-10-18T18:01:47.978Z",
        Level::Error,
        "no: x",
        r#"request="8f5-11""#,
    ),
    with(
        "squid",
        "1792346507.978    112 192.0.2.1 TCP_MISS/200 4512 GET http://a.example/ - HIER_DIRECT/192.0.2.9 text/html",
        (Some("2026-10-18T18:01:47.978Z"), None),
        "GET http://a.example/",
        r#"duration_ms=112 client="192.0.2.1" result="TCP_MISS" status=200 bytes=4512 hierarchy="HIER_DIRECT/192.0.2.9" content_type="text/html""#,
    ),
    with(
        "django",
        "[18/Oct/2026 18:01:47] \"GET / HTTP/1.1\" 200 5",
        (Some("2026-10-18T18:01:47Z"), None),
        "\"GET / HTTP/1.1\" 200 5",
        "",
    ),
    with(
        "update-alternatives",
        "update-alternatives 2026-10-18 18:01:47: run with --install",
        (Some("2026-10-18T18:01:47Z"), None),
        "run with --install",
        r#"program="update-alternatives""#,
    ),
    with(
        "seconds",
        "1792346507.978 something happened",
        (Some("2026-10-18T18:01:47.978Z"), None),
        "something happened",
        "",
    ),
];

#[test]
fn each_known_format_is_told_by_its_lines_and_takes_them_apart() {
    for Example { format, line, time, level, message, fields: expected } in EXAMPLES {
        let told = guess(format!("{line}\n{line}\n").as_bytes(), LogFormats::known());
        assert_eq!(told.format.name(), *format, "{line}: {}", told.why);
        let entry = read(told.format, line);
        assert_eq!(entry.source_time, time.map(at), "{line}");
        assert_eq!((entry.level, entry.message.as_str()), (*level, *message), "{line}");
        assert_eq!(fields(&entry), *expected, "{line}");
    }
    let is_coded = |name: &&str| Format::CODED.iter().any(|format| format.name() == *name);
    for name in LogFormats::known().names().filter(|name| !is_coded(name)) {
        assert!(EXAMPLES.iter().any(|example| example.format == name), "{name} has no example");
    }
}

/// The table that comes with it is read without being checked.
#[test]
fn the_table_that_comes_with_it_is_one_that_users_could_write() {
    let text = include_str!("../patterns/known.toml");
    let formats = LogFormats::known().with_file(text, "known.toml").unwrap();
    assert!(formats.names().eq(LogFormats::known().names()));
}

/// Who reads by code of its own reads as it did.
#[test]
fn lines_of_other_formats_are_in_no_table() {
    for (line, format) in [
        ("Mar 27 13:06:56 host app[1]: m", "syslog"),
        ("{\"msg\":\"a\"}", "json"),
        ("2026-11-23 13:09:20,123 INFO m", "plain"),
        ("2026-11-23T13:09:20Z  INFO my_app: up", "plain"),
        ("Error: something - broken", "plain"),
        ("2026 was a year: of logs", "plain"),
        ("I1123 13:09:20.123456    1234 proxy/file.go:12] m", "plain"),
    ] {
        let told = guess(format!("{line}\n{line}\n").as_bytes(), LogFormats::known());
        assert_eq!(told.format.name(), format, "{line}");
    }
}

#[test]
fn colours_are_no_part_of_a_line() {
    let line = "\u{1b}[2m2026-10-18 18:01:47,978\u{1b}[0m - app - \u{1b}[33;1mWARNING\u{1b}[0m - slow \u{1b}[4C";
    let told = guess(format!("{line}\n").as_bytes(), LogFormats::known());
    assert_eq!(told.format.name(), "python");
    let entry = read(told.format, line);
    assert_eq!((entry.level, entry.message.as_str()), (Some(Level::Warn), "slow \u{1b}[4C"));
    let line = "\u{1b}[2m2026-10-18T18:01:47.5Z\u{1b}[0m \u{1b}[33m WARN\u{1b}[0m \u{1b}[2mshop\u{1b}[0m: slow";
    let (entries, _) = read_all(format!("{line}\n  more\n").as_bytes(), options());
    let entry = &entries[0].1;
    assert_eq!((entries.len(), entry.source_time), (1, Some(at("2026-10-18T18:01:47.5Z"))));
    assert_eq!((entry.level, entry.message.as_str()), (Some(Level::Warn), "shop: slow\n  more"));
}

#[test]
fn a_line_that_is_not_in_the_format_is_read_as_plain_text_and_told() {
    let (entry, flaw) = read_flawed("python".parse().unwrap(), "2026-10-18 18:01:47 [warn] else");
    assert_eq!(flaw, "not in the format python");
    assert_eq!((entry.level, entry.message.as_str()), (Some(Level::Warn), "else"));
    assert_eq!(entry.source_time, Some(at("2026-10-18T18:01:47Z")));
}

const TILL: &str = "
[[format]]
name = 'till'
lines = 'receipts'
pattern = '(?<time>\\S+ \\S+) till (?<till>\\d+) (?<level>\\w*): (?<message>.*)'
time = ['%d.%m.%Y %H:%M', '%d.%m. %H:%M:%S']
levels = { schlecht = 'error' }
";

#[test]
fn users_add_formats_of_their_own() {
    let formats = LogFormats::known().with_file(TILL, "mine.toml").unwrap();
    let log = "24.06.2025 14:36 till 7 schlecht: no change\n24.12. 23:59:58 till 08 gut: sold\n01.01. 00:00:01 till 8 : sold\n";
    let told = guess(log.as_bytes(), &formats);
    assert_eq!((told.format.name(), told.why.as_str()), ("till", "3 of 3 lines are receipts"));
    let (entries, report) = read_all(log.as_bytes(), SourceOptions { formats, ..options() });
    let shown: Vec<_> =
        entries.iter().map(|(_, entry)| (entry.source_time, entry.level, fields(entry))).collect();
    assert_eq!(
        shown,
        [
            (Some(at("2025-06-24T14:36:00Z")), Some(Level::Error), "till=7".to_owned()),
            (Some(at("2025-12-24T23:59:58Z")), None, r#"till="08" level="gut""#.to_owned()),
            (Some(at("2026-01-01T00:00:01Z")), None, "till=8".to_owned()),
        ]
    );
    assert_eq!(report.parse_errors, 0);
    // A name that is known already is the user's from then on.
    let own = TILL.replace("'till'", "'python'");
    let formats = LogFormats::known().with_file(&own, "mine.toml").unwrap();
    assert_eq!(guess(log.as_bytes(), &formats).format.name(), "python");
    assert_eq!(formats.names().filter(|name| *name == "python").count(), 1);
}

#[test]
fn files_of_formats_that_are_wrong_are_refused_with_what_is_wrong() {
    let fault = |text: &str| {
        let error = LogFormats::known().with_file(text, "mine.toml").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().starts_with("mine.toml: "), "{error}");
        error.message().to_owned()
    };
    for (text, words) in [
        ("format = 7", "invalid type"),
        ("[[format]]\nname = 'x'\n", "missing field `pattern`"),
        (&TILL.replace("lines =", "line ="), "unknown field `line`"),
        (&TILL.replace("'till'", "'My Till'"), "a name is 1 to 40 of a-z"),
        (&TILL.replace("'till'", "'json'"), "read by code of its own"),
        (&TILL.replace("(?<till>", "(?<till"), "format \"till\": pattern: "),
        (&TILL.replace("(?<till>", "("), "a group without a name says nothing"),
        (&TILL.replace("(?<message>", "(?<text>"), "no group (?<message>...)"),
        (&TILL.replace("(?<time>", "(?<at>"), "has a `time`"),
        (&TILL.replace("%d.%m. ", "%Q"), "strftime"),
        (&TILL.replace("'error'", "'bad'"), "levels: schlecht = \"bad\": there is no such level"),
        (&format!("{TILL}{TILL}"), "format \"till\" is there twice"),
    ] {
        let message = fault(text);
        assert!(message.contains(words), "{message}");
    }
}

//! Every verb that reads or writes data says and does the same of a server as of the directory that it has open.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::runner::{Ran, Runner};
use crate::serve::Server;

const TRADES: &str = "time,symbol,price,size\n2024-05-01T09:00:00Z,ACME,10.5,1\n\
                      2024-05-01T09:00:01Z,ACME,10.6,2\n2024-05-01T09:00:02Z,INIT,7,\n";
const LINES: &str = "{\"level\":\"info\",\"msg\":\"started\",\"status\":200,\"host\":\"a\"}\n\
                     {\"level\":\"error\",\"msg\":\"disk is full\",\"status\":500,\"free\":0.5}\n\
                     {\"level\":\"warn\",\"msg\":\"disk \\u001b[31m\",\"nested\":{\"a\":[1,null]}}\n";
const RECORDS: &str = "{\"key\":\"a\",\"value\":\"one\",\"timestamp\":1}\n{\"value\":\"two\",\"timestamp\":2}\n\
                       {\"key\":\"a\",\"value\":null,\"timestamp\":3,\"headers\":{\"n\":\"v\"}}\n";

/// Fills a store, which is a directory or behind a server.
fn fill(runner: &Runner, store: &str) {
    runner.file("trades.csv", TRADES);
    runner.file("app.jsonl", LINES);
    runner.file("records.jsonl", RECORDS);
    let table = ["trades", "trades.csv", "--as", "table", "--time", "time", "--tag", "symbol"];
    let told = runner.told(&[&["ingest", store][..], &table].concat());
    assert!(told.contains("ingested 3 rows into 'trades' from 1 file"), "{told}");
    let timelog = ["prices", "trades.csv", "--as", "timelog", "--time", "time"];
    let told = runner.told(&[&["ingest", store][..], &timelog].concat());
    assert!(told.contains("ingested 3 rows into 'prices' from 1 file"), "{told}");
    let logs = ["app", "app.jsonl", "--as", "logs", "--label", "service=api"];
    let told = runner.told(&[&["ingest", store][..], &logs].concat());
    assert!(told.contains("app.jsonl: read as json"), "{told}");
    assert!(told.contains("ingested 3 entries into 'app' from 1 file"), "{told}");
    runner.ok(&[
        "topic",
        "create",
        store,
        "payments",
        "--partitions",
        "2",
        "--retention-age",
        "30d",
    ]);
    let produce = ["produce", store, "payments", "records.jsonl", "--format", "json"];
    assert_eq!(runner.told(&produce), "appended 3 records to 'payments'\n");
    runner.ok(&["groups", store, "payments", "--reset", "ledger", "--to", "1", "--partition", "0"]);
}

/// Verbs that read, with `STORE` where the store is named.
const READS: &[&str] = &[
    "sql STORE --format csv|SELECT symbol, count(*) AS n FROM trades GROUP BY symbol ORDER BY symbol",
    "sql STORE|SELECT * FROM trades ORDER BY time",
    "sql STORE --format json|SELECT * FROM prices",
    "sql STORE|SELECT * FROM nothing",
    "sql STORE|SELEC",
    "sql STORE|DELETE FROM trades",
    "query STORE trades",
    "query STORE trades --reverse --limit 2 --columns time,price --format csv",
    "query STORE trades --from 2024-05-01T09:00:01Z --to 2024-05-01T09:00:02Z --format json",
    "query STORE trades --format arrow",
    "query STORE trades --columns nothing",
    "query STORE nothing",
    "query STORE prices",
    "query STORE prices --reverse --limit 2 --columns time,price --format csv",
    "query STORE prices --from 2024-05-01T09:00:01Z --format json",
    "query STORE prices --format arrow",
    "query STORE app",
    "query STORE app --format json",
    "query STORE app --columns message,status,service,absent --format csv",
    "query STORE app --reverse --limit 1 --format arrow",
    "export STORE trades --format csv",
    "export STORE trades --format parquet",
    "export STORE app --format json",
    "logs search STORE app",
    "logs search STORE app --format json",
    "logs search STORE app --limit 1",
    "logs search STORE app --last 1 --format message",
    "logs search STORE app --reverse level>=warn|disk",
    "logs search STORE nothing",
    "logs count STORE app disk",
    "logs facets STORE app",
    "logs facets STORE app --field status,absent --format json",
    "logs histogram STORE app --step 1d --format json",
    "logs context STORE app 1",
    "topic list STORE",
    "topic list STORE --json",
    "topic describe STORE payments",
    "topic describe STORE payments --json",
    "topic describe STORE nothing",
    "consume STORE payments",
    "consume STORE payments --format json",
    "consume STORE payments --format keyed --partition 0",
    "consume STORE payments --from 1 --partition 0 --limit 1",
    "consume STORE payments --from latest",
    "consume STORE payments --from 1970-01-01",
    "consume STORE nothing",
    "groups STORE payments",
    "groups STORE payments --json",
    "changes STORE",
    "changes STORE --json --since 2",
    "topic audit STORE payments",
    "topic audit STORE nothing",
    "graph find STORE code area",
    "graph find STORE code area --json",
    "graph find STORE code nothing",
    "graph find STORE nothing area",
    "graph show STORE code callers Shape",
    "graph show STORE code callers side --json",
    "graph show STORE code members shape.py",
    "graph show STORE code imports Shape",
    "graph path STORE code main side",
    "graph path STORE code side main",
    "graph path STORE code main nothing",
    "graph stats STORE code",
    "graph stats STORE code --json",
    "graph export STORE code",
    "graph export STORE code --format text",
    "graph export STORE code --format dot",
    "info STORE nothing",
];

/// Makes a graph of sources.
fn index(runner: &Runner) {
    runner.dir("tree");
    let shape =
        "class Shape:\n    def area(self):\n        return self.side()\n    def side(self): ...\n";
    runner.file("tree/shape.py", shape);
    runner.file("tree/main.py", "from shape import Shape\n\ndef main():\n    Shape().area()\n");
    runner.ok(&["graph", "index", "store", "code", "tree"]);
}

fn words<'a>(verb: &'a str, store: &'a str) -> Vec<&'a str> {
    let mut parts = verb.split('|');
    let words = parts.next().unwrap_or_default().split(' ');
    let words = words.map(|word| if word == "STORE" { store } else { word });
    words.chain(parts).collect()
}

#[test]
fn what_a_server_says_is_what_its_directory_says() {
    let runner = Runner::new();
    fill(&runner, "store");
    index(&runner);
    let run = |store: &str| -> Vec<Ran> {
        READS.iter().map(|verb| runner.run(&words(verb, store))).collect()
    };
    let here = run("store");
    let server = Server::start(&runner);
    let there = run(&server.url);
    for ((verb, here), there) in READS.iter().zip(&here).zip(&there) {
        assert_eq!((here.code, &here.out), (there.code, &there.out), "{verb}: {here:?} {there:?}");
        assert_eq!(here.err.is_empty(), there.err.is_empty(), "{verb}: {here:?} {there:?}");
        assert!(!there.err.contains("panicked"), "{verb}: {there:?}");
    }
    // Enough of them found something.
    assert!(here.iter().filter(|ran| ran.code == 0 && !ran.out.is_empty()).count() > 48);
}

#[test]
fn what_is_written_through_a_server_is_as_if_it_were_written_into_its_directory() {
    let (here, there) = (Runner::new(), Runner::new());
    let mut server = Server::start(&there);
    fill(&here, "store");
    fill(&there, &server.url);
    let both = |url: &str, verb: &str| {
        let ran = (here.run(&words(verb, "store")), there.run(&words(verb, url)));
        assert_eq!((ran.0.code, &ran.0.out), (ran.1.code, &ran.1.out), "{verb}: {ran:?}");
        assert_eq!(ran.0.err, ran.1.err, "{verb}");
        ran.0
    };
    let consumed = both(&server.url, "consume STORE payments --group readers --format json");
    assert_eq!(consumed.out.lines().count(), 3, "{consumed:?}");
    assert_eq!(both(&server.url, "consume STORE payments --group readers").out, "");
    both(&server.url, "topic set STORE payments --partitions 3 --retention-records 9");
    both(&server.url, "topic set STORE payments --partitions 1");
    both(&server.url, "topic retain STORE payments");
    both(&server.url, "topic create STORE spare");
    both(&server.url, "topic delete STORE spare");
    both(&server.url, "delete STORE prices --to 2024-05-01T09:00:01Z");
    both(&server.url, "delete STORE app --to 2001-01-01");
    both(&server.url, "delete STORE payments --all");
    let wrong = there.file("wrong.csv", "time,price\n2024-05-01T10:00:00Z,11\nnever,12\n");
    let ingest = |url: &str, more: &[&str]| {
        let words = ["ingest", url, "trades", &wrong, "--as", "table", "--time", "time"];
        there.run(&[&words[..], more].concat())
    };
    assert_eq!(ingest(&server.url, &[]).code, 1);
    let ran = ingest(&server.url, &["--on-error", "skip"]);
    assert!(ran.code == 0 && ran.err.contains("skipped: wrong.csv, line 3"), "{ran:?}");
    assert!(ran.err.contains("ingested 1 row into 'trades'"), "{ran:?}");
    let id = server.child.id().to_string();
    assert!(Command::new("kill").arg(&id).status().unwrap().success());
    server.child.wait().unwrap();
    here.run(&[
        "sql",
        "store",
        "--write",
        "INSERT INTO trades VALUES ('2024-05-01T10:00:00Z', NULL, 11, NULL)",
    ]);
    for verb in READS.iter().filter(|verb| !verb.contains(" app") && !verb.starts_with("changes")) {
        let ran = (here.run(&words(verb, "store")), there.run(&words(verb, "store")));
        assert_eq!((ran.0.code, &ran.0.out), (ran.1.code, &ran.1.out), "{verb}: {ran:?}");
    }
    // Entries have the time of their arrival, which is another one.
    for verb in [
        "logs search STORE app --format message",
        "logs facets STORE app",
        "logs count STORE app disk",
    ] {
        assert_eq!(here.ok(&words(verb, "store")), there.ok(&words(verb, "store")), "{verb}");
    }
}

#[test]
fn graphs_are_filled_through_a_server_as_if_it_were_into_its_directory() {
    let (here, there) = (Runner::new(), Runner::new());
    let server = Server::start(&there);
    let both = |verb: &str| {
        let ran = (here.run(&words(verb, "store")), there.run(&words(verb, &server.url)));
        assert_eq!((ran.0.code, &ran.0.out), (ran.1.code, &ran.1.out), "{verb}: {ran:?}");
        // What a server refuses is told in its own words.
        let is_same = ran.0.code != 0 || ran.0.err == ran.1.err;
        assert!(is_same, "{verb}: {ran:?}");
        ran.0
    };
    let file = |path: &str, text: &str| [&here, &there].map(|runner| runner.file(path, text));
    [&here, &there].iter().for_each(|runner| runner.dir("tree"));
    file(
        "tree/shape.py",
        "class Shape:\n    def area(self):\n        return self.side()\n    def side(self): ...\n",
    );
    file(
        "tree/main.py",
        "import os\nfrom shape import Shape\n\ndef main():\n    Shape().area()\n    os.getcwd()\n",
    );
    file("tree/odd.py", "def \u{feff}(:\n");
    let index = |more: &str| {
        // The tree's own path is in the graph, and differs.
        let ran = [(&here, "store"), (&there, &*server.url)].map(|(runner, store)| {
            runner.run(&words(&format!("graph index STORE code tree{more}"), store))
        });
        assert_eq!((ran[0].code, &ran[0].err), (ran[1].code, &ran[1].err), "{ran:?}");
        let exported = [(&here, "store"), (&there, &*server.url)].map(|(runner, store)| {
            let lines = runner.ok(&["graph", "export", store, "code"]);
            lines
                .lines()
                .filter(|line| !line.contains(r#""kind":"tree""#))
                .map(str::to_owned)
                .collect::<Vec<_>>()
        });
        assert_eq!(exported[0], exported[1]);
        assert!(exported[0].len() > 8, "{exported:?}");
        ran[0].err.clone()
    };
    assert!(index("").contains("code: 2 files, 2 read anew; "));
    assert!(
        index("").contains("0 read anew; 0 blocks written, 0 deleted, 0 edges linked, 0 unlinked")
    );
    file("tree/main.py", "from shape import Shape\n\ndef run():\n    Shape().side()\n");
    file("tree/more.py", "from main import run\n\ndef all():\n    run()\n");
    assert!(index("").contains("code: 3 files, 2 read anew"));
    both("graph show STORE code callers run");
    // Another tree is refused unless it is to take the place of the first, and then nothing has changed.
    [&here, &there].iter().for_each(|runner| runner.dir("other"));
    file("other/one.py", "def one(): ...\n");
    for (runner, store) in [(&here, "store"), (&there, &*server.url)] {
        runner.fails(&["graph", "index", store, "code", "other"], 1, &["or replace it"]);
    }
    assert_eq!(both("graph find STORE code one").code, 1);

    file("edges.csv", "source,target,kind\na,b,calls\nb,c,calls\n");
    both("graph import STORE links edges.csv --names");
    file("edges.csv", "source,target,kind\nb,c,calls\nc,a,uses\n");
    both("graph import STORE links edges.csv --names");
    let exported = both("graph export STORE links").out;
    assert_eq!(exported.lines().count(), 6, "{exported}");
    file("links.jsonl", &exported);
    both("graph import STORE copy links.jsonl");
    assert_eq!(both("graph export STORE copy").out, exported);
    // One that can't be read has made no graph.
    file("wrong.jsonl", "{\"content\": 1}\n");
    assert_eq!(both("graph import STORE none wrong.jsonl").code, 1);
    assert_eq!(both("graph export STORE none").code, 1);
}

#[test]
fn a_server_deletes_rows_of_a_table_where_sql_may_write() {
    let runner = Runner::new();
    fill(&runner, "store");
    let server = Server::start_with(&runner, &["--set", "sql.may_write=false"]);
    let delete = ["delete", &server.url, "trades", "--to", "2024-05-01T09:00:01Z"];
    runner.fails(&delete, 1, &["may write"]);
    drop(server);
    let server = Server::start(&runner);
    let delete = ["delete", &server.url, "trades", "--to", "2024-05-01T09:00:01Z"];
    assert_eq!(runner.told(&delete), "deleted 1 row from 'trades'\n");
    runner.fails(&["delete", &server.url, "trades", "--to", "7"], 2, &["times as text"]);
    let arrived =
        runner.ok(&["query", &server.url, "app", "--columns", "timestamp", "--format", "csv"]);
    let second = arrived.lines().nth(2).unwrap();
    let verb = ["delete", &server.url, "app", "--to", second];
    assert_eq!(runner.told(&verb), "deleted 1 row from 'app'\n");
    let verb = ["delete", &server.url, "app", "--all"];
    assert_eq!(runner.told(&verb), "deleted 2 rows from 'app'\n");
    drop(server);
    assert_eq!(
        runner.told(&["delete", "store", "trades", "--all"]),
        "deleted 2 rows from 'trades'\n"
    );
}

#[test]
fn a_token_comes_from_a_file_and_stays_out_of_messages() {
    let runner = Runner::new();
    runner.file("tokens", "a-token-of-32-letters-0123456789\n");
    runner.set_mode("tokens", 0o600);
    let server = Server::start_with(&runner, &["--token-file", "tokens"]);
    let url = server.url.as_str();
    let refused = runner.fails(&["topic", "list", url], 1, &["token"]);
    assert!(!refused.err.contains("a-token"), "{refused:?}");
    runner.ok(&["topic", "list", url, "--token-file", "tokens"]);
    let mut command = runner.command(&["topic", "list", url]);
    let ran = Ran::of(&command.env("TIMESTRATA_TOKEN_FILE", "tokens").output().unwrap());
    assert_eq!(ran.code, 0, "{ran:?}");
    runner.file("empty", "\n# nothing\n");
    runner.set_mode("empty", 0o600);
    runner.fails(&["topic", "list", url, "--token-file", "empty"], 1, &["has no token", "empty"]);
    runner.set_mode("tokens", 0o644);
    let words: &[&str] = if nix::unistd::geteuid().is_root() { &[] } else { &["chmod 600"] };
    if !words.is_empty() {
        runner.fails(&["topic", "list", url, "--token-file", "tokens"], 1, words);
    }
}

#[test]
fn what_makes_no_sense_of_a_server_says_what_to_do_instead() {
    let runner = Runner::new();
    let url = "http://127.0.0.1:1";
    for (verb, word) in [
        (&["serve", url][..], "give the directory"),
        (&["mcp", url], "give the directory"),
        (&["check", url], "beside the server"),
        (&["repair", url], "stop the server"),
        (&["backup", url, "copy"], "beside the server"),
        (&["compact", url], "a server compacts by itself"),
        (&["checkpoint", url, "payments", "--key", "k"], "the server signs by its own"),
    ] {
        let ran = runner.fails(verb, 2, &[word]);
        assert!(!ran.err.contains("panicked"), "{ran:?}");
    }
    runner.fails(&["topic", "list", "http://me:secret@host"], 1, &["is no address of a server"]);
}

#[test]
fn a_server_tells_what_its_store_holds_and_not_where() {
    let runner = Runner::new();
    fill(&runner, "store");
    index(&runner);
    let info = |store: &str, more: &[&str]| -> Value {
        let told = runner.ok(&[&["info", store, "--json"], more].concat());
        serde_json::from_str(&told).unwrap()
    };
    let server = Server::start(&runner);
    // Memory and log are each process's own.
    let members = ["id", "last_seq", "oldest_seq", "damaged", "quarantine_files"];
    let of_stream =
        ["name", "properties", "rows", "edges", "first", "last", "runs", "fields", "parts"];
    for name in [&[][..], &["trades"], &["code"], &["payments"], &["app"]] {
        let (here, there) = (info("store", name), info(&server.url, name));
        for member in members {
            assert_eq!(here[member], there[member], "{member} {name:?}");
        }
        let [here, there] = [&here, &there].map(|info| info["streams"].as_array().unwrap());
        assert_eq!((here.len(), here.is_empty()), (there.len(), false), "{name:?}");
        for (here, there) in here.iter().zip(there) {
            for member in of_stream {
                assert_eq!(here[member], there[member], "{member} {name:?}");
            }
        }
    }
    let text = runner.ok(&["info", &server.url]);
    assert!(text.starts_with(&format!("store {}\n", server.url)), "{text}");
    assert!(text.contains("5 streams") && text.contains(" blocks, "), "{text}");
    assert!(runner.ok(&["info", &server.url, "trades"]).contains("Float64"));
    let then = info(&server.url, &["--at", "1"]);
    assert!(then["streams"].as_array().unwrap().len() < 5, "{then}");
}

#[test]
fn a_server_purges_its_store_and_names_the_follower_that_prevents_it() {
    let runner = Runner::new();
    let server = Server::start(&runner);
    let url = server.url.as_str();
    fill(&runner, url);
    runner.ok(&["delete", url, "prices", "--all"]);
    runner.ok(&["changes", url, "--name", "index"]);
    runner.ok(&["delete", url, "app", "--all"]);
    runner.fails(&["purge", url], 1, &["follower 'index'", "save its place, or remove it"]);
    runner.ok(&["changes", url, "--name", "index"]);
    let told = runner.told(&["purge", url, "prices", "app"]);
    assert!(told.starts_with("erased what was deleted or replaced up to commit "), "{told}");
    runner.fails(&["purge", url, "nothing"], 1, &["no stream 'nothing'"]);
    let told = runner.told(&["purge", url]);
    assert!(told.contains(": removed "), "{told}");
    assert_eq!(runner.ok(&["query", url, "trades", "--format", "csv"]).lines().count(), 4);
    drop(server);
    let told = runner.told(&["purge", "store"]);
    assert!(told.contains(": removed "), "{told}");
    runner.ok(&["check", "store"]);
}

#[test]
fn a_directory_that_a_server_has_open_leads_to_its_address() {
    let runner = Runner::new();
    let _server = Server::start(&runner);
    runner.fails(&["topic", "create", "store", "x"], 1, &["give its URL", "http://127.0.0.1:8080"]);
}

#[test]
fn who_is_no_server_is_told_so() {
    let runner = Runner::new();
    // Nobody listens there: it was free a moment ago.
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    runner.fails(&["topic", "list", &format!("http://{free}")], 1, &["no whole answer", "serve"]);
    let answers = [
        "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 6\r\n\r\n<html>",
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}",
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{}",
        "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n",
        "nonsense\r\n\r\n",
        "",
    ];
    for answer in answers {
        let (url, thread) = answering(answer.as_bytes().to_vec());
        let ran = runner.run(&["topic", "retain", &url, "payments"]);
        assert_eq!(ran.code, 1, "{answer}: {ran:?}");
        assert!(ran.err.contains("error: ") && !ran.err.contains("panicked"), "{answer}: {ran:?}");
        thread.join().unwrap();
    }
}

/// Answers one request with bytes, and closes.
fn answering(answer: Vec<u8>) -> (String, std::thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let thread = std::thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let mut head = BufReader::new(client.try_clone().unwrap());
        let mut line = String::new();
        while head.read_line(&mut line).unwrap() > 2 {
            line.clear();
        }
        client.write_all(&answer).unwrap();
    });
    (url, thread)
}

/// An answer of rows that ends in the middle of them, however it ends.
#[test]
fn rows_that_end_early_are_never_taken_for_the_whole() {
    let runner = Runner::new();
    fill(&runner, "store");
    let server = Server::start(&runner);
    let mut whole = Vec::new();
    let address = server.url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    let request = format!(
        "GET /tables/trades/query HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\naccept: application/vnd.apache.arrow.stream\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).unwrap();
    stream.read_to_end(&mut whole).unwrap();
    let body = whole.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
    assert!(whole[..body].windows(7).any(|seven| seven == b"chunked"), "{whole:?}");
    // Behind the end that Arrow has for its streams, all rows are there.
    let end = b"\xff\xff\xff\xff\0\0\0\0";
    let end = whole.windows(end.len()).rposition(|bytes| bytes == end).unwrap();
    for cut in (body..end).step_by(37).chain([end - 1, end, end + 7]) {
        let (url, thread) = answering_tables(whole[..cut].to_vec());
        let ran = runner.run(&["export", &url, "trades", "--format", "csv"]);
        assert_eq!(ran.code, 1, "cut at {cut}: {ran:?}");
        assert!(!ran.err.contains("panicked"), "{ran:?}");
        thread.join().unwrap();
    }
}

/// Says that there is a table, and answers the next request with bytes.
fn answering_tables(answer: Vec<u8>) -> (String, std::thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let names = r#"{"success":true,"data":["trades"],"error":null}"#;
    let names = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{names}",
        names.len()
    );
    let thread = std::thread::spawn(move || {
        for bytes in [names.as_bytes(), &answer] {
            let (mut client, _) = listener.accept().unwrap();
            let mut head = BufReader::new(client.try_clone().unwrap());
            let mut line = String::new();
            while head.read_line(&mut line).unwrap() > 2 {
                line.clear();
            }
            client.write_all(bytes).unwrap();
        }
    });
    (url, thread)
}

#[test]
fn ctrl_c_gives_a_query_up_on_the_server() {
    let runner = Runner::new();
    fill(&runner, "store");
    let server = Server::start(&runner);
    let endless = "SELECT count(*) FROM range(100000) a CROSS JOIN range(1000000000) b";
    let mut command = runner.command(&["sql", &server.url, endless]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let running = || {
        let told = ureq::get(format!("{}/queries", server.url)).call().unwrap();
        let told: serde_json::Value =
            serde_json::from_str(&told.into_body().read_to_string().unwrap()).unwrap();
        let list = told["data"].as_array().unwrap();
        list.iter().any(|query| query["query"] == endless && query["state"] == "running")
    };
    while !running() {
        std::thread::yield_now();
    }
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let ran = Ran::of(&child.wait_with_output().unwrap());
    assert!(ran.code == 1 && ran.err.contains("given up"), "{ran:?}");
    while running() {
        std::thread::yield_now();
    }
}

#[test]
fn a_tail_of_a_server_sees_what_arrives_and_leaves_none_out() {
    let runner = Runner::new();
    fill(&runner, "store");
    let server = Server::start(&runner);
    let verb = ["logs", "tail", &server.url, "app", "disk", "--last", "1", "--format", "message"];
    let mut child = runner.command(&verb).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(|line| line.unwrap());
    assert!(lines.next().unwrap().starts_with("disk \u{1b}"));
    for number in 0..20 {
        // Each with a field of another name, so that the columns change while it follows.
        let line = format!("{{\"msg\":\"disk {number}\",\"f{number}\":1}}\n{{\"msg\":\"else\"}}\n");
        runner.file("more.jsonl", line);
        runner.ok(&["ingest", &server.url, "app", "more.jsonl", "--as", "logs"]);
        assert_eq!(lines.next().unwrap(), format!("disk {number}"));
    }
    assert!(
        Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success()
    );
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_follower_goes_on_where_it_was_on_either_way() {
    let runner = Runner::new();
    let kept = ["--set", "store.history_min=1h"];
    let server = Server::start_with(&runner, &kept);
    fill(&runner, &server.url);
    let all = runner.ok(&["changes", "store", "--json"]);
    assert_eq!(runner.ok(&["changes", &server.url, "--json"]), all);
    assert_eq!(runner.ok(&["changes", &server.url]), runner.ok(&["changes", "store"]));
    assert!(all.contains("\"model\":\"table\"") && all.contains("\"model\":\"topic\""), "{all}");
    let by_name = ["changes", &server.url, "--name", "index", "--since", "0", "--json"];
    assert_eq!(runner.ok(&by_name), all);
    assert_eq!(runner.ok(&by_name), "");
    assert_eq!(runner.ok(&["changes", &server.url, "--name", "index", "--json"]), "");
    runner.ok(&["topic", "create", &server.url, "spare"]);
    runner.file("one.txt", "one\n");
    runner.ok(&["produce", &server.url, "spare", "one.txt"]);
    let more = runner.ok(&["changes", &server.url, "--name", "index"]);
    assert!(more.contains(" inserted topic spare records 0: 1 row\n"), "{more}");
    assert_eq!(runner.ok(&["changes", &server.url, "--name", "index"]), "");
    // One that is new begins with the next commit.
    assert_eq!(runner.ok(&["changes", &server.url, "--name", "other"]), "");
    let mut command = runner.command(&["changes", &server.url, "--name", "other", "--follow"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(|line| line.unwrap());
    runner.ok(&["produce", &server.url, "spare", "one.txt"]);
    assert!(lines.next().unwrap().ends_with(" inserted topic spare records 0: 1 row"));
    assert!(
        Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success()
    );
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

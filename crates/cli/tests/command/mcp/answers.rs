//! What each tool answers, over a store of all five models that another process writes.

use serde_json::{Value, json};
use timestrata::logs::{Logs, LogsOptions, NewEntry};
use timestrata::topic::{KeyFile, Record, SendOptions, Topic, TopicOptions};
use timestrata::{Io, Settings, Store};

use super::client::{Client, TOOLS};
use crate::runner::Runner;

const SHAPE: &str =
    "class Shape:\n    def area(self):\n        return self.side() ** 2\n    def side(self): ...\n";
const ROOM: &str =
    "class Room:\n    def side(self): ...\n    def all(self):\n        return self.side()\n";

/// All models, in a store that nobody has open.
pub(super) fn five_models() -> Runner {
    let runner = Runner::new();
    runner.file(
        "rooms.csv",
        "time,room,celsius\n2024-05-01T00:00:00Z,hall,20.5\n2024-05-02T00:00:00Z,den,21\n",
    );
    runner.ok(&["ingest", "store", "rooms", "rooms.csv", "--as", "table", "--time", "time"]);
    runner.ok(&["ingest", "store", "door", "rooms.csv", "--as", "timelog", "--time", "time"]);
    let store = Store::open(runner.path("store"), Settings::default()).unwrap();
    let app = Logs::create(&store, "app", &LogsOptions::default()).unwrap();
    for number in 0..40 {
        let mut entry = NewEntry::new(format!("request {number}"));
        entry.level = Some(if number % 10 == 7 { "error" } else { "info" }.parse().unwrap());
        entry.fields.int("status", if number % 10 == 7 { 500 } else { 200 });
        entry.fields.float("took", 0.1 + 0.2);
        app.write(&entry).unwrap();
    }
    let events = Topic::create(&store, "events", &TopicOptions::default()).unwrap();
    for number in 0..30_u8 {
        let value = [b"event ", &[b'a' + number % 26][..]].concat();
        let record = Record {
            value: Some(&value),
            timestamp_ns: Some(i64::from(number) + 1),
            ..Record::default()
        };
        events.send(&record, &SendOptions::default()).unwrap();
    }
    let key = KeyFile::generate(&Io::os(), &runner.path("signing.key"), "example.org/log").unwrap();
    events.checkpoint_by(0, &key).unwrap();
    let verifier = key.signer().verifier().to_string();
    runner.file("vkey", verifier);
    store.close().unwrap();
    runner.dir("tree");
    runner.file("tree/shape.py", SHAPE);
    runner.file("tree/room.py", ROOM);
    runner.ok(&["graph", "index", "store", "code", "tree"]);
    runner
}

#[test]
fn tools_are_listed_as_reading_with_schemas_of_what_they_take_and_give() {
    let mut client = Client::of_five_models(&[]);
    let listed = client.request("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, TOOLS);
    for tool in tools {
        let hints = &tool["annotations"];
        assert_eq!(
            (&hints["readOnlyHint"], &hints["openWorldHint"]),
            (&json!(true), &json!(false))
        );
        assert_eq!(
            (&tool["inputSchema"]["type"], &tool["outputSchema"]["type"]),
            (&json!("object"), &json!("object"))
        );
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{tool}");
        let parameters = tool["inputSchema"]["properties"].as_object().unwrap();
        assert!(parameters.contains_key("at"), "{tool}");
        for (name, parameter) in parameters {
            let has_words = parameter["description"].is_string() || parameter["$ref"].is_string();
            assert!(has_words || parameter["anyOf"].is_array(), "{name} of {tool} says nothing");
        }
        assert!(tool["description"].as_str().unwrap().contains("Example"), "{tool}");
    }
    // They are in a model's context all the time.
    assert!(listed.to_string().len() < 32 << 10, "{} bytes", listed.to_string().len());
}

#[test]
fn schema_tells_streams_with_their_tables_and_one_in_depth() {
    let mut client = Client::of_five_models(&[]);
    let all = client.call("schema", json!({}));
    let models: Vec<_> = all["streams"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (&one["name"], &one["model"]))
        .collect();
    let expected = [
        ("app", "logs"),
        ("code", "graph"),
        ("door", "timelog"),
        ("events", "topic"),
        ("rooms", "table"),
    ];
    assert_eq!(
        models,
        expected.map(|(name, model)| (json!(name), json!(model))).each_ref().map(|(a, b)| (a, b))
    );
    assert_eq!(all["cut"], Value::Null);
    let rooms = &all["streams"][4];
    assert_eq!((&rooms["rows"], &rooms["first"]), (&json!(2), &json!("2024-05-01T00:00:00Z")));
    assert_eq!(rooms["tables"][0]["columns"][2], json!(["celsius", "Float64"]));
    // Each table is one that SQL knows by the name that is told.
    for table in
        all["streams"].as_array().unwrap().iter().flat_map(|one| one["tables"].as_array().unwrap())
    {
        let (name, columns) = (table["table"].as_str().unwrap(), &table["columns"]);
        let found = client.call("sql", json!({ "query": format!("SELECT * FROM {name} LIMIT 1") }));
        assert_eq!(&found["columns"], columns, "{name}");
    }
    let app = client.call("schema", json!({ "name": "app" }));
    assert_eq!(app["streams"][0]["sample"]["rows"].as_array().unwrap().len(), 3);
    let events = client.call("schema", json!({ "name": "events" }));
    let partitions = json!([{ "partition": 0, "start": 0, "end": 30, "checkpoint": 30 }]);
    assert_eq!(events["streams"][0]["partitions"], partitions);
    let code = client.call("schema", json!({ "name": "code" }));
    assert!(code["streams"][0]["sources"].as_str().unwrap().ends_with("tree"));
    client.fails("schema", json!({ "name": "room" }), &["no stream 'room'", "there is rooms"]);
    let paged = client.call("schema", json!({ "limit": 2 }));
    assert!(paged["cut"][0]["more"].as_str().unwrap().contains("'after'"));
    let rest = client.call("schema", json!({ "after": "code" }));
    assert_eq!(rest["streams"].as_array().unwrap().len(), 3);
}

#[test]
fn sql_asks_over_models_and_changes_nothing() {
    let mut client = Client::of_five_models(&[]);
    let answer = client.call(
        "sql",
        json!({ "query": "SELECT time, celsius, (SELECT count(*) FROM app WHERE level = 'error') AS errors FROM rooms ORDER BY time" }),
    );
    assert_eq!(answer["rows"][0], json!(["2024-05-01T00:00:00Z", 20.5, 4]));
    client.fails("sql", json!({ "query": "DELETE FROM rooms" }), &["SELECT"]);
    client.fails("sql", json!({ "query": "SELEC 1" }), &["SELEC"]);
    client.fails("sql", json!({ "query": "SELECT * FROM room" }), &["room", "'schema'"]);
    client.fails("sql", json!({ "statement": "SELECT 1" }), &["statement", "query"]);
    assert_eq!(
        client.call("sql", json!({ "query": "SELECT count(*) FROM rooms" }))["rows"][0][0],
        2
    );
}

#[test]
fn logs_are_searched_newest_first_and_page_by_page() {
    let mut client = Client::of_five_models(&[]);
    let errors = client.call("search", json!({ "name": "app", "filter": "level>=error" }));
    let entries = errors["entries"].as_array().unwrap();
    let messages: Vec<_> = entries.iter().map(|entry| entry["message"].as_str().unwrap()).collect();
    assert_eq!(messages, ["request 37", "request 27", "request 17", "request 7"]);
    assert_eq!(entries[0]["fields"], json!({ "status": 500, "took": 0.1 + 0.2 }));
    let (mut seen, mut after) = (Vec::new(), Value::Null);
    loop {
        let page = client
            .call("search", json!({ "name": "app", "limit": 7, "after": after, "order": "asc" }));
        seen.extend(
            page["entries"].as_array().unwrap().iter().map(|entry| entry["message"].clone()),
        );
        if page["next"].is_null() {
            assert_eq!(page["cut"], Value::Null);
            break;
        }
        assert!(page["cut"][0]["what"].as_str().unwrap().contains("limit of 7"), "{page}");
        after = page["next"].clone();
    }
    let all: Vec<Value> = (0..40).map(|number| json!(format!("request {number}"))).collect();
    assert_eq!(seen, all);
    let around =
        json!({ "name": "app", "timestamp": entries[3]["timestamp"], "before": 1, "after": 2 });
    let around = client.call("context", around);
    let around: Vec<_> =
        around["entries"].as_array().unwrap().iter().map(|entry| &entry["message"]).collect();
    assert_eq!(around, ["request 6", "request 7", "request 8", "request 9"]);
    let histogram = client.call("histogram", json!({ "name": "app", "since": "1h", "step": "1d" }));
    assert_eq!(histogram["count"], 40);
    let facets = client.call("facets", json!({ "name": "app", "fields": ["status"] }));
    assert_eq!(facets["facets"][0]["values"], json!([["200", 36], ["500", 4]]));
    client.fails("search", json!({ "name": "ap" }), &["'ap'", "logs of this store: app"]);
    client.fails(
        "search",
        json!({ "name": "app", "filter": "level>=wurst" }),
        &["filter: ", "wurst"],
    );
    client.fails("search", json!({ "name": "app", "from": "soon" }), &["from=\"soon\""]);
    client.fails(
        "search",
        json!({ "name": "app", "from": "2024-05-01", "since": "1h" }),
        &["since and from"],
    );
    client.fails(
        "context",
        json!({ "name": "app", "timestamp": "2024-05-01" }),
        &["no entry of 2024-05-01"],
    );
}

#[test]
fn records_are_read_by_offset_and_proved() {
    let runner = five_models();
    let mut client = Client::start(&runner, &[]);
    let last = client.call("read", json!({ "topic": "events" }));
    let offsets: Vec<_> = last["records"]
        .as_array()
        .unwrap()
        .iter()
        .map(|record| record["offset"].as_u64().unwrap())
        .collect();
    assert_eq!(offsets, (20..30).collect::<Vec<_>>());
    let some = client.call("read", json!({ "topic": "events", "offset": 3, "limit": 2 }));
    assert_eq!((&some["records"][1]["value"], &some["next"]), (&json!("event e"), &json!(5)));
    let record = some["records"][0].clone();
    let proved = client.call("verify", json!({ "topic": "events", "offset": 3 }));
    assert_eq!((&proved["proved"], &proved["is_signature_checked"]), (&json!(true), &json!(false)));
    let vkey = runner.read("vkey");
    let proved = client
        .call("verify", json!({ "topic": "events", "offset": 3, "vkey": vkey, "record": record }));
    assert_eq!(
        (&proved["origin"], &proved["size"]),
        (&json!("example.org/log/events/0"), &json!(30))
    );
    let mut changed = record;
    changed["value"] = json!("event x");
    client.fails(
        "verify",
        json!({ "topic": "events", "offset": 3, "vkey": vkey, "record": changed }),
        &["not proved"],
    );
    client.fails(
        "verify",
        json!({ "topic": "events", "offset": 30 }),
        &["the last checkpoint has 30 records", "timestrata checkpoint"],
    );
    client.fails(
        "verify",
        json!({ "topic": "events", "offset": 3, "vkey": "nonsense" }),
        &["vkey: "],
    );
    client.fails(
        "read",
        json!({ "topic": "events", "offset": 31 }),
        &["no offset 31", "ends before 30"],
    );
    client.fails("read", json!({ "topic": "event" }), &["topics of this store: events"]);
    // Others verify what it gave.
    runner.file("3.tlog-proof", proved["proof"].as_str().unwrap());
    runner.file("3.json", some["records"][0].to_string());
    runner.ok(&["verify-proof", "3.tlog-proof", "--record", "3.json", "--vkey", &vkey]);
}

#[test]
fn names_of_sources_are_defined_called_and_led_to() {
    let mut client = Client::of_five_models(&[]);
    let side = client.call("definition", json!({ "name": "side" }));
    assert_eq!((&side["graph"], &side["count"]), (&json!("code"), &json!(2)));
    let one = client.call("definition", json!({ "name": "side", "file": "shape.py" }));
    let expected = json!({ "kind": "method", "name": "Shape.side", "path": "shape.py", "line": 4, "source": "def side(self): ..." });
    assert_eq!(one["found"], json!([expected]));
    let callers = client.call("callers", json!({ "name": "side" }));
    let told: Vec<_> = callers["of"]
        .as_array()
        .unwrap()
        .iter()
        .map(|of| (&of["thing"]["name"], &of["links"][0]["name"], &of["links"][0]["sites"]))
        .collect();
    assert_eq!(
        told,
        [
            (&json!("Room.side"), &json!("Room.all"), &json!([[4, 20]])),
            (&json!("Shape.side"), &json!("Shape.area"), &json!([[3, 20]])),
        ]
    );
    let callees = client.call("callees", json!({ "name": "Shape.area", "graph": "code" }));
    assert_eq!(callees["of"][0]["links"][0]["name"], "Shape.side");
    let members = client.call("show", json!({ "what": "members", "name": "room.py" }));
    assert_eq!(members["of"][0]["links"][0]["name"], "Room");
    let path = client.call("path", json!({ "from": "Shape.area", "to": "side" }));
    assert_eq!(path["path"].as_array().unwrap().len(), 2);
    let none = client.call("callers", json!({ "name": "Room.all" }));
    assert_eq!((&none["none"], &none["of"]), (&json!("nothing calls 'Room.all'"), &json!([])));
    assert_eq!(client.call("path", json!({ "from": "side", "to": "area" }))["path"], json!([]));
    client.fails(
        "definition",
        json!({ "name": "Shap" }),
        &["nothing is called 'Shap'", "Shape.area"],
    );
    client.fails(
        "definition",
        json!({ "name": "side", "file": "none.py" }),
        &["room.py, shape.py"],
    );
    client.fails(
        "callers",
        json!({ "name": "side", "graph": "cod" }),
        &["graphs of this store: code"],
    );
}

#[test]
fn each_call_reads_what_another_process_has_committed_by_then() {
    let runner = five_models();
    let mut client = Client::start(&runner, &[]);
    let count = json!({ "query": "SELECT count(*) FROM app" });
    assert_eq!(client.call("sql", count.clone())["rows"][0][0], 40);
    let store = Store::open(runner.path("store"), Settings::default()).unwrap();
    store.pin("before").unwrap();
    let app = Logs::open(&store, "app").unwrap();
    let events = Topic::open(&store, "events").unwrap();
    for number in 1..=5_u64 {
        app.write(&NewEntry::new("written meanwhile")).unwrap();
        events
            .send(
                &Record { value: Some(b"meanwhile"), ..Record::default() },
                &SendOptions::default(),
            )
            .unwrap();
        assert_eq!(client.call("sql", count.clone())["rows"][0][0], 40 + number);
        let found = client.call("search", json!({ "name": "app", "filter": "meanwhile" }));
        assert_eq!(found["entries"].as_array().unwrap().len() as u64, number);
        assert_eq!(client.call("read", json!({ "topic": "events" }))["end"], 30 + number);
        if number == 3 {
            store.flush().unwrap();
            store.compact(None).unwrap();
        }
    }
    let mut then = count;
    then["at"] = json!("pin=before");
    assert_eq!(client.call("sql", then.clone())["rows"][0][0], 40);
    let searched = json!({ "name": "app", "filter": "meanwhile", "at": "pin=before" });
    assert_eq!(client.call("search", searched)["entries"], json!([]));
    then["at"] = json!("pin=after");
    client.fails("sql", then, &["after"]);
    client.fails(
        "sql",
        json!({ "query": "SELECT 1", "at": "yesterday" }),
        &["yesterday", "at=1200"],
    );
    let mut fixed = Client::start(&runner, &["--at", "pin=before"]);
    assert_eq!(fixed.call("read", json!({ "topic": "events" }))["end"], 30);
    fixed.fails("sql", json!({ "query": "SELECT 1", "at": "pin=before" }), &["--at"]);
}

/// A store that was restored from a backup under the tools answered with errors until they were started again.
#[test]
fn another_store_that_takes_the_place_of_the_one_is_read_from_then_on() {
    let runner = five_models();
    let mut client = Client::start(&runner, &[]);
    client.call("schema", json!({}));
    runner.file("few.csv", "time,n\n2024-05-01T00:00:00Z,1\n");
    runner.ok(&["ingest", "other", "few", "few.csv", "--as", "table", "--time", "time"]);
    runner.replace("other", "store");
    assert_eq!(client.call("sql", json!({ "query": "SELECT n FROM few" }))["rows"], json!([[1]]));
    client.fails("sql", json!({ "query": "SELECT * FROM rooms" }), &["rooms"]);
}

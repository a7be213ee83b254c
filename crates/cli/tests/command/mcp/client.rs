//! A client that sends what it is told to, and believes nothing.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};

use super::answers::five_models;
use crate::runner::Runner;

/// All that there are, in the order in which they are listed.
pub(super) const TOOLS: [&str; 13] = [
    "schema",
    "sql",
    "search",
    "context",
    "histogram",
    "facets",
    "read",
    "verify",
    "definition",
    "callers",
    "callees",
    "show",
    "path",
];

/// Tools under way. Killed when dropped.
pub(super) struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    /// What comes on stdout, read whether somebody waits for it or not, so that nobody waits in a circle.
    lines: Receiver<String>,
    last_id: u64,
    /// What holds the store, where nobody else does.
    runner: Option<Runner>,
    /// Answers that came before they were waited for.
    early: BTreeMap<u64, Value>,
}

impl Client {
    /// Starts the tools over `store`, and begins a session.
    pub(super) fn start(runner: &Runner, options: &[&str]) -> Self {
        let mut client = Self::spawn(runner, options);
        let about = json!({ "name": "test", "version": "1" });
        let asked =
            json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": about });
        let begun = client.request("initialize", asked);
        assert_eq!(begun["result"]["serverInfo"]["name"], "timestrata", "{begun}");
        client.notify("notifications/initialized", json!({}));
        client
    }

    /// The same, over a store of its own with all models.
    pub(super) fn of_five_models(options: &[&str]) -> Self {
        let runner = five_models();
        let mut client = Self::start(&runner, options);
        client.runner = Some(runner);
        client
    }

    /// Starts the tools and says nothing.
    pub(super) fn spawn(runner: &Runner, options: &[&str]) -> Self {
        let mut command = runner.command(&[&["mcp", "store"], options].concat());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (told, lines) = channel();
        std::thread::spawn(move || {
            stdout
                .lines()
                .map_while(Result::ok)
                .take_while(|line| told.send(line.clone()).is_ok())
                .count()
        });
        Self { child, stdin, lines, last_id: 0, runner: None, early: BTreeMap::new() }
    }

    pub(super) fn send(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(bytes).unwrap();
        stdin.write_all(b"\n").unwrap();
        stdin.flush().unwrap();
    }

    pub(super) fn notify(&mut self, method: &str, params: Value) {
        let message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        self.send(message.to_string().as_bytes());
    }

    /// Begins a request; gives its id.
    pub(super) fn begin(&mut self, method: &str, params: Value) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.send(message.to_string().as_bytes());
        id
    }

    pub(super) fn begin_call(&mut self, tool: &str, arguments: Value) -> u64 {
        self.begin("tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    /// Waits for what answers a request.
    pub(super) fn wait(&mut self, id: u64) -> Value {
        loop {
            if let Some(found) = self.early.remove(&id) {
                return found;
            }
            self.next_answered();
        }
    }

    /// Waits for the next answer, and keeps it; gives the id of its request. All that comes on stdout must be of
    /// the protocol.
    pub(super) fn next_answered(&mut self) -> u64 {
        loop {
            let line = self.lines.recv().unwrap_or_else(|_| panic!("the tools have ended"));
            let message: Value = serde_json::from_str(&line).unwrap();
            assert_eq!(message["jsonrpc"], "2.0", "{line}");
            if let Some(id) = message["id"].as_u64() {
                assert!(self.early.insert(id, message).is_none(), "{id} was answered twice");
                return id;
            }
        }
    }

    pub(super) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        self.wait(id)
    }

    /// What came of a call: the tool's answer, or why there is none.
    pub(super) fn outcome(&mut self, id: u64) -> Result<Value, String> {
        let answered = self.wait(id);
        let result = &answered["result"];
        let text = result["content"][0]["text"].as_str();
        let text = text.unwrap_or_else(|| panic!("no text: {answered}")).to_owned();
        match result["isError"].as_bool() {
            Some(true) => Err(text),
            _ => {
                let said: Value = serde_json::from_str(&text).unwrap();
                assert_eq!(said, result["structuredContent"], "text and structure say the same");
                Ok(said)
            }
        }
    }

    /// Calls a tool that must answer.
    pub(super) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let id = self.begin_call(tool, arguments.clone());
        let outcome = self.outcome(id);
        outcome.unwrap_or_else(|text| panic!("{tool} {arguments}: {text}"))
    }

    /// Calls a tool that must fail and say all of `words`.
    pub(super) fn fails(&mut self, tool: &str, arguments: Value, words: &[&str]) {
        let id = self.begin_call(tool, arguments.clone());
        let Err(text) = self.outcome(id) else { panic!("{tool} {arguments} was answered") };
        assert!(text.contains("\nhint: "), "{text}");
        for word in words {
            assert!(text.contains(word), "no {word:?} in what {tool} {arguments} says: {text}");
        }
    }

    /// Says that a request's answer isn't wanted any more.
    pub(super) fn cancel(&mut self, id: u64) {
        self.notify("notifications/cancelled", json!({ "requestId": id, "reason": "enough" }));
    }

    /// Has the next requests have larger ids.
    pub(super) fn skip_ids(&mut self, to: u64) {
        self.last_id = to;
    }

    pub(super) fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    }

    pub(super) fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Waits for its end: the exit code, and what it told on stderr. What is left on stdout must be of the protocol.
    pub(super) fn end(mut self) -> (Option<i32>, String) {
        for line in &self.lines {
            serde_json::from_str::<Value>(&line).unwrap();
        }
        let mut told = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut told).unwrap();
        (self.child.wait().unwrap().code(), told)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A query that takes longer than any test.
pub(super) const ENDLESS: &str =
    "SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE a.value + b.value = 7";

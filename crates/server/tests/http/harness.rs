//! A server on a port of its own, and a client of it.

use std::thread::JoinHandle;

use serde_json::Value;
use timestrata_engine::{Result, Settings, Store};
use timestrata_server::Server;
use timestrata_server::config::Layers;
use tokio::sync::oneshot;
use ureq::Agent;

pub(crate) struct Harness {
    pub(crate) url: String,
    agent: Agent,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<Result<()>>>,
}

/// What came back: a status, the type of the body, the body.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) kind: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&self.body)))
    }

    /// The data of an answer that must be a success.
    pub(crate) fn data(&self) -> Value {
        let json = self.json();
        assert_eq!(json["success"], true, "{json}");
        assert_eq!((self.status, &json["error"]), (200, &Value::Null), "{json}");
        json["data"].clone()
    }

    /// The message of an answer that must be this failure.
    pub(crate) fn error(&self, status: u16) -> String {
        let json = self.json();
        assert_eq!((self.status, &json["success"]), (status, &Value::Bool(false)), "{json}");
        assert_eq!(json["data"], Value::Null);
        json["error"].as_str().unwrap().to_owned()
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}

impl Harness {
    pub(crate) fn new() -> Self {
        Self::with(&[], None)
    }

    pub(crate) fn with(set: &[(&str, &str)], tokens: Option<&str>) -> Self {
        let store = Store::memory(Settings::default()).unwrap();
        Self::on(store, set, tokens)
    }

    pub(crate) fn on(store: Store, set: &[(&str, &str)], tokens: Option<&str>) -> Self {
        let mut layers = Layers::default();
        layers.flag("test", "server.listen", "127.0.0.1:0").unwrap();
        for (key, value) in set {
            layers.flag("test", key, *value).unwrap();
        }
        let config = layers.config().unwrap();
        let (stop, stopped) = oneshot::channel();
        let (told, hears) = std::sync::mpsc::channel();
        let tokens = tokens.map(str::to_owned);
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let server = Server::bind(store, config, tokens.as_deref()).await?;
                told.send(server.url()?).unwrap();
                server.run(async move { stopped.await.unwrap_or(()) }).await
            })
        });
        let url = hears.recv().expect("the server listens");
        let agent = Agent::config_builder().http_status_as_error(false).build().into();
        Self { url, agent, stop: Some(stop), thread: Some(thread) }
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.get_as(path, "application/json")
    }

    pub(crate) fn get_as(&self, path: &str, accept: &str) -> Answer {
        let request = self.agent.get(format!("{}{path}", self.url)).header("accept", accept);
        answer(request.call().unwrap())
    }

    pub(crate) fn get_with(&self, path: &str, header: &str, value: &str) -> Answer {
        answer(self.agent.get(format!("{}{path}", self.url)).header(header, value).call().unwrap())
    }

    pub(crate) fn delete(&self, path: &str) -> Answer {
        answer(self.agent.delete(format!("{}{path}", self.url)).call().unwrap())
    }

    pub(crate) fn post(&self, path: &str, kind: &str, body: &[u8]) -> Answer {
        let request = self.agent.post(format!("{}{path}", self.url)).header("content-type", kind);
        answer(request.send(body).unwrap())
    }

    pub(crate) fn post_with(
        &self,
        path: &str,
        (header, value): (&str, &str),
        kind: &str,
        body: &[u8],
    ) -> Answer {
        let request = self.agent.post(format!("{}{path}", self.url)).header("content-type", kind);
        answer(request.header(header, value).send(body).unwrap())
    }

    /// A request with a body in JSON.
    pub(crate) fn json(&self, method: &str, path: &str, body: &Value) -> Answer {
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.url))
            .header("content-type", "application/json")
            .body(body.to_string())
            .unwrap();
        answer(self.agent.run(request).unwrap())
    }

    /// The same by the holder of a token.
    pub(crate) fn json_as(&self, token: &str, method: &str, path: &str, body: &Value) -> Answer {
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.url))
            .header("content-type", "application/json")
            .header("authorization", format!("Bearer {token}"))
            .body(body.to_string())
            .unwrap();
        answer(self.agent.run(request).unwrap())
    }

    /// What the metric of a name has come to.
    pub(crate) fn metric(&self, name: &str) -> u64 {
        let metrics = self.get("/metrics");
        let line =
            metrics.text().lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("no metric {name}"))
    }

    pub(crate) fn csv(&self, table: &str, body: &str) -> Answer {
        self.post(&format!("/tables/{table}/ingest"), "text/csv", body.as_bytes())
    }

    pub(crate) fn sql(&self, query: &str, params: Value) -> Answer {
        let body = serde_json::json!({ "query": query, "params": params }).to_string();
        self.post("/sql", "application/json", body.as_bytes())
    }

    /// Stops it, as a signal would.
    pub(crate) fn stop(&mut self) -> Result<()> {
        drop(self.stop.take());
        self.thread.take().map_or(Ok(()), |thread| thread.join().unwrap())
    }
}

impl Drop for Harness {
    fn drop(&mut self) {
        let _ = self.stop();
    }
}

fn answer(mut response: ureq::http::Response<ureq::Body>) -> Answer {
    let text = |value: &ureq::http::HeaderValue| value.to_str().unwrap_or_default().to_owned();
    let headers: Vec<_> =
        response.headers().iter().map(|(name, value)| (name.to_string(), text(value))).collect();
    let kind = headers.iter().find(|(name, _)| name == "content-type");
    Answer {
        status: response.status().as_u16(),
        kind: kind.map(|(_, kind)| kind.clone()).unwrap_or_default(),
        body: response.body_mut().with_config().limit(1 << 30).read_to_vec().unwrap(),
        headers,
    }
}

pub(crate) const TRADES: &str = "\
timestamp,symbol,price,volume
2024-05-01T10:00:00Z,A,1.5,100
2024-05-01T10:00:02Z,B,2.5,200
2024-05-01T10:00:01Z,A,3.5,300
";

//! Its engine, whose functions are requests to a server that runs as long as a clone of it is there.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use serde_json::Value;

use crate::config::Config;
use crate::error::{PulsoraError, Result};

/// The shape of `/schema`.
pub mod schema {
    use chrono::{DateTime, Utc};
    use serde::{Deserialize, Serialize};

    #[derive(Debug, Clone, Serialize, Deserialize, PartialEq)]
    pub enum DataType {
        Id,
        Integer,
        Float,
        String,
        Boolean,
        Timestamp,
    }

    #[derive(Debug, Clone, Serialize, Deserialize)]
    pub struct Column {
        pub name: String,
        pub data_type: DataType,
        pub nullable: bool,
    }

    #[derive(Debug, Clone, Serialize, Deserialize)]
    pub struct Schema {
        pub table_name: String,
        pub columns: Vec<Column>,
        pub column_order: Vec<String>,
        pub timestamp_column: Option<String>,
        pub id_column: String,
        pub created_at: DateTime<Utc>,
    }
}

/// The messages of protobuf.
pub mod ingestion {
    use std::collections::HashMap;

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct ProtoRow {
        #[prost(map = "string, string", tag = "1")]
        pub values: HashMap<String, String>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct ProtoBatch {
        #[prost(message, repeated, tag = "1")]
        pub rows: Vec<ProtoRow>,
    }
}

#[derive(Debug)]
pub struct IngestionStats {
    pub rows_inserted: u64,
    pub processing_time_ms: u64,
}

#[derive(Clone)]
pub struct StorageEngine(Arc<Served>);

/// A server in a process of its own.
struct Served {
    process: Child,
    url: String,
}

impl Drop for Served {
    /// As a crash would end it.
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) kind: String,
    pub(crate) body: Vec<u8>,
}

impl StorageEngine {
    pub async fn new(config: &Config) -> Result<Self> {
        let command = std::env::var("TIMESTRATA_COMMAND").expect("TIMESTRATA_COMMAND");
        let store = format!("{}/store", config.storage.data_dir);
        let mut process = Command::new(command)
            .args(["serve", &store, "--compat", "pulsora", "--listen", "127.0.0.1:0"])
            .args(["--set", "log.level=off"])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command runs");
        let said = process.stderr.take().expect("a pipe");
        let mut lines = BufReader::new(said).lines().map_while(std::io::Result::ok);
        let url = lines.find_map(|line| {
            line.split_once("listening on ").map(|(_, url)| url.trim().to_owned())
        });
        // What else it says goes nowhere, and must not hold it up.
        std::thread::spawn(move || lines.for_each(drop));
        let url = url.expect("it listens");
        Ok(Self(Arc::new(Served { process, url })))
    }

    pub(crate) fn ask(
        &self,
        method: &str,
        path: &str,
        kind: Option<&str>,
        body: Vec<u8>,
    ) -> Answer {
        let config = ureq::Agent::config_builder().http_status_as_error(false);
        let agent: ureq::Agent = config.build().into();
        let mut request = ureq::http::Request::builder().method(method);
        request = request.uri(format!("{}{path}", self.0.url));
        if let Some(kind) = kind {
            request = request.header("content-type", kind);
        }
        let answered = match method {
            "GET" => agent.run(request.body(()).expect("a request")),
            _ => agent.run(request.body(body).expect("a request")),
        };
        let mut answer = answered.expect("an answer");
        let kind = answer.headers().get("content-type").and_then(|kind| kind.to_str().ok());
        Answer {
            status: answer.status().as_u16(),
            kind: kind.unwrap_or_default().to_owned(),
            body: answer.body_mut().with_config().limit(1 << 30).read_to_vec().expect("a body"),
        }
    }

    /// The data of an answer that is a success.
    fn data(answer: Answer) -> Result<Value> {
        let told: Value = serde_json::from_slice(&answer.body).expect("an answer in JSON");
        match answer.status == 200 && told["success"] == true {
            true => Ok(told["data"].clone()),
            false => Err(PulsoraError::Answer(format!("{}: {}", answer.status, told["error"]))),
        }
    }

    fn put(&self, table: &str, kind: &str, body: Vec<u8>) -> Result<IngestionStats> {
        let path = format!("/tables/{table}/ingest");
        let told = Self::data(self.ask("POST", &path, Some(kind), body))?;
        let whole = |name: &str| told[name].as_u64().expect("a whole number");
        Ok(IngestionStats {
            rows_inserted: whole("rows_inserted"),
            processing_time_ms: whole("processing_time_ms"),
        })
    }

    fn get(&self, path: &str) -> Result<Value> {
        Self::data(self.ask("GET", path, None, Vec::new()))
    }

    pub async fn ingest_csv(&self, table: &str, csv: String) -> Result<IngestionStats> {
        self.put(table, "text/csv", csv.into_bytes())
    }

    pub async fn ingest_arrow(&self, table: &str, stream: Vec<u8>) -> Result<IngestionStats> {
        self.put(table, "application/vnd.apache.arrow.stream", stream)
    }

    pub async fn ingest_protobuf(&self, table: &str, batch: Vec<u8>) -> Result<IngestionStats> {
        self.put(table, "application/x-protobuf", batch)
    }

    pub async fn query(
        &self,
        table: &str,
        start: Option<String>,
        end: Option<String>,
        limit: Option<usize>,
        offset: Option<usize>,
    ) -> Result<Vec<Value>> {
        let (limit, offset) =
            (limit.map(|rows| rows.to_string()), offset.map(|rows| rows.to_string()));
        let asked = [("start", start), ("end", end), ("limit", limit), ("offset", offset)];
        let asked: Vec<String> = asked
            .into_iter()
            .filter_map(|(name, value)| Some(format!("{name}={}", encoded(&value?))))
            .collect();
        let rows = self.get(&format!("/tables/{table}/query?{}", asked.join("&")))?;
        Ok(rows.as_array().expect("a list").clone())
    }

    pub async fn get_schema(&self, table: &str) -> Result<Value> {
        self.get(&format!("/tables/{table}/schema"))
    }
}

/// A value as it stands behind a path.
fn encoded(value: &str) -> String {
    value.replace('%', "%25").replace(' ', "%20").replace('+', "%2B").replace('&', "%26")
}

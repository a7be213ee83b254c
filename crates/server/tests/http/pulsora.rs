//! The server of tables whose clients are answered as it did: requests of theirs, and what they get.

mod bad_input;
mod bodies;
mod guards;
mod reading;

use serde_json::{Value, json};

use crate::harness::Harness;

const ARROW: &str = "application/vnd.apache.arrow.stream";
const PROTOBUF: &str = "application/x-protobuf";

/// As that server's own documents have it.
const STOCKS: &str = "\
timestamp,symbol,price,volume
2024-01-01 09:30:00,AAPL,150.00,1000
2024-01-01 09:31:00,AAPL,150.25,1500
2024-01-01 09:32:00,AAPL,149.75,2000";

fn server() -> Harness {
    Harness::with(&[("server.compat", "pulsora")], None)
}

fn ingest(server: &Harness, table: &str, csv: &str) -> Value {
    server.csv(table, csv).data()
}

fn rows(server: &Harness, path: &str) -> Vec<Value> {
    server.get(path).data().as_array().unwrap().clone()
}

/// The values of a column.
fn column(rows: &[Value], name: &str) -> Value {
    rows.iter().map(|row| row.get(name).cloned().unwrap_or(json!("none"))).collect()
}

/// `message Batch { repeated Row rows = 1; }`, each row a map from names to text.
fn protobuf(rows: &[&[(&str, &str)]]) -> Vec<u8> {
    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        let mut out = vec![number << 3 | 2, u8::try_from(bytes.len()).unwrap()];
        assert!(bytes.len() < 128);
        out.extend_from_slice(bytes);
        out
    }
    let entry = |(name, value): &(&str, &str)| {
        field(1, &[field(1, name.as_bytes()), field(2, value.as_bytes())].concat())
    };
    let row = |row: &&[(&str, &str)]| field(1, &row.iter().flat_map(entry).collect::<Vec<u8>>());
    rows.iter().flat_map(row).collect()
}

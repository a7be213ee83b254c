//! The keys that there are.

/// One of them.
pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) default: &'static str,
    pub(super) about: &'static str,
}

const fn key(name: &'static str, default: &'static str, about: &'static str) -> Key {
    Key { name, default, about }
}

pub(super) const KEYS: [Key; 27] = [
    key("server.listen", "127.0.0.1:8080", "Address and port; other machines need a token file"),
    key("server.token_file", "", "File of tokens, one a line; clients send one as a bearer token"),
    key("server.open_to_all", "false", "Answer other machines without a token"),
    key(
        "server.hosts",
        "",
        "Names, with commas between, that requests without a token may call this server by, or come \
         from, beside localhost and addresses; *: any",
    ),
    key("server.stop_grace", "10s", "Time for requests under way when told to stop"),
    key("limits.body_bytes_max", "16GiB", "Longest body; it is streamed, not held"),
    key("limits.body_idle_max", "30s", "Longest wait for the next piece of a body"),
    key("limits.connections_max", "512", "Connections at once; others get 503 and are closed"),
    key("limits.head_time_max", "30s", "Longest wait for a whole head, also for the next one"),
    key("limits.request_time_max", "60s", "Longest time until an answer begins"),
    key("limits.answer_idle_max", "5m", "Longest wait for a client to take more of its answer"),
    key(
        "limits.query_time_max",
        "10m",
        "Longest time that a query or a read is worked on; a request may ask for less",
    ),
    key("limits.requests_max", "256", "Requests under way at once; others get 503"),
    key(
        "limits.rows_max",
        "1000000",
        "Rows of an answer in JSON or protobuf; CSV and Arrow have no bound",
    ),
    key("limits.sql_memory_bytes_max", "1GiB", "Memory of all queries together; more is spilled"),
    key("limits.tails_max", "64", "Logs followed at once; others get 503"),
    key(
        "logs.tcp_listen",
        "",
        "Address and port of the line protocol of logs, which knows no tokens; empty: none",
    ),
    key("logs.tcp_log", "default", "The log that the line protocol writes and reads"),
    key("logs.tcp_durability", "synced", "When its writes are acknowledged: synced or written"),
    key("logs.tcp_clients_max", "256", "Its clients at once"),
    key(
        "logs.tcp_idle_grace",
        "10s",
        "Where all places are taken, a client that is silent for so long loses its own to a new one",
    ),
    key("sql.may_write", "true", "Whether SQL may insert, delete, create and drop"),
    key("log.level", "info", "error, warn, info, debug or trace"),
    key("log.form", "json", "json or text"),
    key(
        "store.memtable_bytes_max",
        "64MiB",
        "Rows of one stream in memory before they are flushed",
    ),
    key("store.memory_bytes_max", "256MiB", "Rows in memory together; behind it is back-pressure"),
    key("store.cache_bytes_max", "128MiB", "Decoded blocks of compacted files"),
];

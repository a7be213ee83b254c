//! The keys that there are: the server's own, and one for each setting of the store.

use std::sync::LazyLock;

use timestrata_engine::{BusyPolicy, Setting, Settings};

/// The section of the store's settings.
pub(super) const STORE: &str = "store";

/// One of them.
pub(super) struct Key {
    pub(super) name: String,
    pub(super) default: String,
    pub(super) about: &'static str,
}

/// Name, default and meaning of one of the server's own.
type Own = (&'static str, &'static str, &'static str);

/// All of them, in order.
pub(super) static KEYS: LazyLock<Vec<Key>> = LazyLock::new(|| {
    let own = OWN.iter().map(|(name, default, about)| Key {
        name: (*name).to_owned(),
        default: (*default).to_owned(),
        about,
    });
    let settings = store_settings();
    let of_store = Setting::all().iter().map(|setting| Key {
        name: format!("{STORE}.{}", setting.name()),
        default: setting.shown(&settings),
        about: setting.about(),
    });
    own.chain(of_store).collect()
});

/// What a server opens its store with where nobody says anything.
pub(super) fn store_settings() -> Settings {
    // A client can wait better than a thread of the server's.
    Settings { busy_policy: BusyPolicy::Raise, ..Settings::default() }
}

const fn key(name: &'static str, default: &'static str, about: &'static str) -> Own {
    (name, default, about)
}

const OWN: [Own; 34] = [
    key("server.listen", "127.0.0.1:8080", "Address and port; other machines need tokens"),
    key(
        "server.token_file",
        "",
        "File of tokens, one a line, that open everything, beside those of the store",
    ),
    key(
        "server.tls_cert",
        "",
        "File of a certificate in PEM, behind it those that signed it: HTTPS is spoken, and no HTTP; a new one is taken \
         without a restart",
    ),
    key("server.tls_key", "", "File of its private key in PEM"),
    key("server.open_to_all", "false", "Answer other machines without a token"),
    key(
        "server.hosts",
        "",
        "Names, with commas between, that requests without a token may call this server by, or come \
         from, beside localhost and addresses; *: any",
    ),
    key(
        "server.cors_origins",
        "",
        "Places, with commas between, whose pages may ask by a browser, such as https://app.example; *: any, \
         where tokens are asked for",
    ),
    key(
        "server.compat",
        "",
        "pulsora: clients of that server of tables are answered as it did, at its paths; empty: none",
    ),
    key("server.stop_grace", "10s", "Time for requests under way when told to stop"),
    key("limits.body_bytes_max", "16GiB", "Longest body; it is streamed, not held"),
    key(
        "limits.batch_bytes_max",
        "64MiB",
        "Longest body that is one commit: records of a topic, changes of a graph, entries of a time log",
    ),
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
    key("limits.wait_max", "60s", "Longest time that a request may wait for records (wait=)"),
    key("limits.waits_max", "128", "Requests that wait for records at once; others get 503"),
    key(
        "logs.tcp_listen",
        "",
        "Address and port of the line protocol of logs, which knows no tokens; empty: none",
    ),
    key(
        "logs.format_files",
        "",
        "Files of formats of lines, with commas between, which bodies of logs may be in beside those that are known",
    ),
    key("logs.tcp_log", "default", "The log that the line protocol writes and reads"),
    key("logs.tcp_durability", "synced", "When its writes are acknowledged: synced or written"),
    key("logs.tcp_clients_max", "256", "Its clients at once"),
    key(
        "logs.tcp_idle_grace",
        "10s",
        "Where all places are taken, a client that is silent for so long loses its own to a new one",
    ),
    key(
        "topics.key_file",
        "",
        "File of the private key that signs checkpoints of topics; empty: none are signed",
    ),
    key(
        "topics.checkpoint_interval",
        "",
        "How often partitions of topics that have new records are signed, such as 1m; empty: only when that is asked for",
    ),
    key("sql.may_write", "true", "Whether SQL may insert, delete, create and drop"),
    key(
        "log.level",
        "info",
        "error, warn, info, debug, trace or off; for one module MODULE=LEVEL, such as \
         info,timestrata::compaction=debug",
    ),
    key("log.form", "json", "json or text"),
];

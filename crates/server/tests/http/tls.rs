//! HTTPS, by curl, with certificates that are made here.

use std::path::Path;
use std::process::{Command, Output};

use timestrata_engine::{Settings, Store};
use timestrata_server::Server;
use timestrata_server::config::Layers;

use crate::harness::Harness;
use crate::until::until;

/// A certificate of this machine and its key, in files of `name`.
struct Pair {
    certificate: String,
    key: String,
}

impl Pair {
    fn new(dir: &Path, name: &str) -> Self {
        let made = rcgen::generate_simple_self_signed(["localhost".into(), "127.0.0.1".into()]);
        let made = made.unwrap();
        let path = |what: &str| dir.join(format!("{name}.{what}")).to_str().unwrap().to_owned();
        let pair = Self { certificate: path("pem"), key: path("key") };
        write(&pair.certificate, made.cert.pem());
        write(&pair.key, made.signing_key.serialize_pem());
        pair
    }

    fn set(&self) -> [(&str, &str); 2] {
        [("server.tls_cert", &self.certificate), ("server.tls_key", &self.key)]
    }
}

#[expect(clippy::disallowed_methods, reason = "a user's file, not a file of a store")]
fn write(path: &str, text: impl AsRef<[u8]>) {
    std::fs::write(path, text).unwrap();
}

/// Puts a file in the place of another one, as who renews certificates does.
#[expect(clippy::disallowed_methods, reason = "a user's file, not a file of a store")]
fn replace(path: &str, by: &str) {
    std::fs::rename(by, path).unwrap();
}

fn curl(trusted: &Path, arguments: &[&str]) -> Output {
    let mut curl = Command::new("curl");
    curl.args(["--silent", "--show-error", "--max-time", "60", "--cacert"]).arg(trusted);
    curl.args(arguments).output().unwrap()
}

#[test]
fn a_client_that_trusts_the_certificate_is_served_and_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let (pair, other) = (Pair::new(dir.path(), "mine"), Pair::new(dir.path(), "other"));
    let server = Harness::with(&pair.set(), None);
    assert!(server.url.starts_with("https://127.0.0.1:"));
    let trusted = Path::new(&pair.certificate);
    let rows: String = (0..20_000).map(|row| format!("{},{row}\n", 1_700_000_000 + row)).collect();
    write(dir.path().join("rows").to_str().unwrap(), format!("timestamp,n\n{rows}"));
    let (ingest, query) = (
        format!("{}/tables/t/ingest", server.url),
        format!("{}/tables/t/query?limit=none", server.url),
    );
    let body = format!("@{}/rows", dir.path().display());
    let sent =
        curl(trusted, &["--fail", "-H", "Content-Type: text/csv", "--data-binary", &body, &ingest]);
    assert!(sent.status.success(), "{sent:?}");
    let got = curl(trusted, &["--fail", "--http1.1", "-H", "Accept: text/csv", &query]);
    assert_eq!(got.stdout.iter().filter(|byte| **byte == b'\n').count(), 20_001);
    // 60: the certificate isn't trusted. A client of HTTP gets no answer.
    let code = |trusted: &str, url: &str| curl(Path::new(trusted), &[url]).status.code();
    assert_eq!(code(&other.certificate, &query), Some(60));
    assert_ne!(code(&pair.certificate, &query.replace("https", "http")), Some(0));
    assert_eq!(code(&pair.certificate, &query), Some(0), "the others are served as before");
}

#[test]
fn a_renewed_certificate_is_shown_without_a_restart_and_a_torn_one_never() {
    let dir = tempfile::tempdir().unwrap();
    let pair = Pair::new(dir.path(), "mine");
    let server = Harness::with(&pair.set(), None);
    let url = format!("{}/health", server.url);
    let trusts = |trusted: &Path| curl(trusted, &["--fail", &url]).status.success();
    let before = dir.path().join("before");
    let text = curl(Path::new(&pair.certificate), &[&format!("file://{}", pair.certificate)]);
    write(before.to_str().unwrap(), text.stdout);
    let new = Pair::new(dir.path(), "new");
    let after = dir.path().join("after");
    let text = curl(&before, &[&format!("file://{}", new.certificate)]);
    write(after.to_str().unwrap(), text.stdout);
    assert!(trusts(&before) && !trusts(&after));
    // The key comes later than its certificate, and first half of it.
    replace(&pair.certificate, &new.certificate);
    write(&pair.key, "-----BEGIN PRIVATE KEY-----\nMIGH");
    assert!(trusts(&before));
    replace(&pair.key, &new.key);
    until(|| {
        let is_after = trusts(&after);
        assert!(is_after || trusts(&before) || trusts(&after), "neither is shown");
        is_after
    });
}

#[test]
fn files_that_do_not_fit_are_refused_at_the_start() {
    let dir = tempfile::tempdir().unwrap();
    let (pair, other) = (Pair::new(dir.path(), "mine"), Pair::new(dir.path(), "other"));
    let (empty, missing) = (dir.path().join("empty"), dir.path().join("missing"));
    let (empty, missing) = (empty.to_str().unwrap(), missing.to_str().unwrap());
    write(empty, "");
    let broken = dir.path().join("broken");
    let broken = broken.to_str().unwrap();
    write(broken, "-----BEGIN CERTIFICATE-----\nMAo=\n-----END CERTIFICATE-----\n");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for (certificate, key, why) in [
        (pair.certificate.as_str(), other.key.as_str(), "not the key of the certificate"),
        (empty, &pair.key, "no certificate"),
        (&pair.key, &pair.key, "no certificate"),
        (broken, &pair.key, "can't be used"),
        (&pair.certificate, empty, "no private key"),
        (&pair.certificate, &pair.certificate, "no private key"),
        (&pair.certificate, missing, "server.tls_key"),
        (&pair.certificate, "", "give both"),
        ("", &pair.key, "give both"),
    ] {
        let mut layers = Layers::default();
        for (name, value) in
            [("listen", "127.0.0.1:0"), ("tls_cert", certificate), ("tls_key", key)]
        {
            layers.flag("test", &format!("server.{name}"), value).unwrap();
        }
        let store = Store::memory(Settings::default()).unwrap();
        let bound = layers
            .config()
            .and_then(|config| runtime.block_on(Server::bind(store, config, None)).map(drop));
        let error = bound.unwrap_err().to_string();
        assert!(error.contains(why), "{certificate} {key}: {error}");
    }
}

//! The command over HTTPS, to a real server with a certificate that was made here.

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

use crate::runner::Runner;
use crate::serve::Server;

/// Writes a certificate of this machine that an authority of its own has signed, and that authority's. Gives their names.
fn certified(runner: &Runner, name: &str) -> [String; 3] {
    let authority_key = KeyPair::generate().unwrap();
    let mut authority = CertificateParams::default();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let signed = authority.self_signed(&authority_key).unwrap();
    let issuer = Issuer::new(authority, authority_key);
    let key = KeyPair::generate().unwrap();
    let server = CertificateParams::new(["localhost".into(), "127.0.0.1".into()]).unwrap();
    let server = server.signed_by(&key, &issuer).unwrap();
    let key = runner.file(&format!("{name}.key"), key.serialize_pem());
    runner.set_mode(&key, 0o600);
    [
        runner.file(&format!("{name}.ca.pem"), signed.pem()),
        runner.file(&format!("{name}.pem"), server.pem()),
        key,
    ]
}

#[test]
fn a_server_with_a_certificate_is_asked_by_who_trusts_it_and_by_nobody_else() {
    let runner = Runner::new();
    let [authority, certificate, key] = certified(&runner, "mine");
    let [other, ..] = certified(&runner, "other");
    let server = Server::start_with(&runner, &["--tls-cert", &certificate, "--tls-key", &key]);
    let url = server.url.as_str();
    assert!(url.starts_with("https://127.0.0.1:"), "{url}");
    let rows: String = (0..50_000).map(|row| format!("{},{row}\n", 1_700_000_000 + row)).collect();
    runner.file("rows.csv", format!("time,n\n{rows}"));
    let trusting = ["--ca-file", authority.as_str()];
    let ingest = ["ingest", url, "t", "rows.csv", "--as", "table", "--time", "time"];
    let told = runner.told(&[&ingest[..], &trusting].concat());
    assert!(
        told.contains("ingested 50000 rows") || told.contains("ingested 50,000 rows"),
        "{told}"
    );
    let csv = runner.ok(&[&["export", url, "t", "--format", "csv"][..], &trusting].concat());
    assert_eq!(csv.lines().count(), 50_001);
    // By its name as well as by its address.
    let named = url.replace("127.0.0.1", "localhost");
    let count = ["sql", &named, "SELECT count(*) AS n FROM t", "--format", "csv"];
    assert_eq!(runner.ok(&[&count[..], &trusting].concat()), "n\n50000\n");
    let list = ["topic", "list", url];
    let distrusted = ["is not trusted", url, "--ca-file"];
    let stranger = runner.fails(&list, 1, &distrusted);
    assert!(stranger.err.contains("UnknownIssuer"), "{stranger:?}");
    runner.fails(&[&list[..], &["--ca-file", &other]].concat(), 1, &distrusted);
    runner.fails(&[&list[..], &["--ca-file", &key]].concat(), 1, &["certificates can't be read"]);
    runner.fails(&[&list[..], &["--ca-file", "nowhere.pem"]].concat(), 1, &["nowhere.pem"]);
    // Each side says the other's mistake.
    let plain = url.replace("https", "http");
    runner.fails(&["topic", "list", &plain], 1, &["no whole answer from http://"]);
    drop(server);
    let server = Server::start(&runner);
    let secret = server.url.replace("http", "https");
    let verb = [&["topic", "list", &secret][..], &trusting].concat();
    runner.fails(&verb, 1, &["can't be spoken to in secret", "or say http://"]);
}

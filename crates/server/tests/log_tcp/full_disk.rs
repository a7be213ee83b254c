//! A disk that fills while clients write.

use crate::ailing_disk::ailing;
use crate::harness::{Harness, OK, write};
use crate::until::until;

#[test]
fn on_a_full_disk_writes_are_refused_whole_and_reads_go_on() {
    let (ailing, open) = ailing();
    let mut server = Harness::on(open(), &[]);
    let mut client = server.connect();
    client.write(0, "before");
    ailing.set_full(true);
    let long = "x".repeat(10_000);
    let mut kept = vec!["before".to_owned()];
    let mut number = 0;
    let mut refused = String::new();
    // Those that arrive together are written together: all of them are taken, or none is.
    until(|| {
        let messages: Vec<_> =
            (number..number + 20).map(|index| format!("{index} {long}")).collect();
        number += 20;
        client.send(messages.iter().map(|message| write(1, message) + "\n").collect::<String>());
        for message in messages {
            match client.line() {
                taken if taken == OK => kept.push(message),
                answer => refused = answer,
            }
        }
        !refused.is_empty()
    });
    assert!(refused.contains("\"errcode\":\"write_log_error\""), "{refused}");
    // What needs no new file may still be taken.
    match client.raw(&write(1, "later")) {
        taken if taken == OK => kept.push("later".to_owned()),
        answer => assert!(answer.contains("write_log_error"), "{answer}"),
    }
    // Requests to read go on, over either protocol, and find what was acknowledged, and no more.
    assert_eq!(client.messages(), kept);
    let count = ureq::get(format!("{}/logs/default/count", server.url)).call().unwrap();
    let count: serde_json::Value =
        serde_json::from_reader(count.into_body().into_reader()).unwrap();
    assert_eq!(count["data"]["count"], kept.len());
    // With space again, the store opens as it was.
    let _ = server.stop();
    drop(server);
    ailing.set_full(false);
    let again = Harness::on(open(), &[]);
    let mut client = again.connect();
    assert_eq!(client.messages(), kept);
    client.write(1, "goes on");
}

/// What a body over HTTP is answered with. To try again at once doesn't help on a disk that is full or
/// broken, and is not advised.
fn post(server: &Harness, body: impl AsRef<[u8]>) -> (u16, serde_json::Value) {
    let url = format!("{}/logs/default", server.url);
    let request = ureq::post(url).config().http_status_as_error(false).build();
    let mut answer = request.header("content-type", "text/plain").send(body.as_ref()).unwrap();
    assert!(!answer.headers().contains_key("retry-after"), "{answer:?}");
    let text = answer.body_mut().read_to_string().unwrap();
    (answer.status().as_u16(), serde_json::from_str(&text).unwrap())
}

#[test]
fn over_http_a_full_disk_has_a_status_of_its_own_and_what_was_taken_is_told() {
    let (ailing, open) = ailing();
    let mut server = Harness::on(open(), &[]);
    assert_eq!(post(&server, "before\n").0, 200);
    ailing.set_full(true);
    let mut kept = 1;
    let mut refused = (0, serde_json::Value::Null);
    let body = format!("{}\n", "x".repeat(10_000)).repeat(20);
    until(|| {
        refused = post(&server, &body);
        kept += refused.1["data"]["entries"].as_u64().unwrap_or(0);
        refused.0 != 200
    });
    let error = refused.1["error"].as_str().unwrap();
    assert_eq!(refused.0, 507, "{error}");
    assert!(error.contains("free space on the disk; writes go on by themselves"), "{error}");
    // What was taken of a body that was not taken whole is told.
    let told = error
        .rsplit_once("; ")
        .and_then(|(_, told)| told.strip_suffix(" entries before were written"));
    kept += told.map_or(0, |told| told.parse().unwrap());
    assert_eq!(server.connect().messages().len() as u64, kept, "{error}");
    let _ = server.stop();
    drop(server);
    ailing.set_full(false);
    let again = Harness::on(open(), &[]);
    assert_eq!(again.connect().messages().len() as u64, kept);
    assert_eq!(post(&again, "goes on\n").0, 200);
}

/// A body that could not be read to its end was told to be there in part, though that could not be synced.
#[test]
fn what_could_not_be_synced_is_not_told_to_be_there() {
    let (ailing, open) = ailing();
    let mut server = Harness::on(open(), &[("limits.body_bytes_max", "200000")]);
    let body = "a line\n".repeat(100_000);
    let (status, told) = post(&server, &body);
    let error = told["error"].as_str().unwrap();
    assert!(status == 413 && error.contains(" entries before were written"), "{error}");
    ailing.break_it();
    let (_, told) = post(&server, &body);
    let error = told["error"].as_str().unwrap();
    assert!(!error.contains("were written"), "{error}");
    let (status, told) = post(&server, "one more\n");
    assert_eq!(status, 503, "{told}");
    assert!(told["error"].as_str().unwrap().contains("reopen the store"), "{told}");
    let _ = server.stop();
}

//! What a token's scopes open, and what they don't.

use serde_json::{Value, json};
use timestrata_engine::{Io, Settings, Store};
use timestrata_server::{NewToken, TokenFolder};

use crate::harness::{Answer, Harness, TRADES};
use crate::until::until;

const TRUSTED: &str = "0123456789abcdef0123";

/// A server whose file of tokens holds one.
fn guarded() -> Harness {
    Harness::with(&[], Some(TRUSTED))
}

/// The secret of a token that is made over HTTP.
fn made(server: &Harness, scopes: &[&str]) -> String {
    let asked = json!({ "name": "test", "scopes": scopes });
    let told = server.json_as(TRUSTED, "POST", "/tokens", &asked).data();
    told["token"].as_str().unwrap().to_owned()
}

fn challenge(answer: &Answer) -> &str {
    let found = answer.headers.iter().find(|(name, _)| name == "www-authenticate");
    found.map_or("", |(_, challenge)| challenge)
}

/// An endpoint that let in who has another scope than it says would be a hole that nobody sees.
#[test]
fn each_endpoint_takes_the_scope_that_it_says_and_no_other() {
    let server = guarded();
    let strangers = ["read:elsewhere", "write:elsewhere*", "admin:elsewhere"].map(|scope| {
        let secret = made(&server, &[scope]);
        (scope, secret)
    });
    let document = server.get("/openapi.json").json();
    let mut tried = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        let filled = path.replace(['{', '}'], "");
        for (method, one) in methods.as_object().unwrap() {
            let method = method.to_ascii_uppercase();
            let what = format!("{method} {path}");
            let Some(scope) = one["security"][1]["token"][0].as_str() else { continue };
            let scope = scope.replace(['{', '}'], "");
            let right = scope.split(':').next().unwrap();
            for (stranger, secret) in &strangers {
                let refused = server.json_as(secret, &method, &filled, &Value::Null);
                assert!(refused.error(403).contains(&scope), "{what} by {stranger}");
                let named = format!("error=\"insufficient_scope\", scope=\"{right}\"");
                assert!(challenge(&refused).contains(&named), "{what}: {}", challenge(&refused));
            }
            // Every other right over the same streams.
            let name = scope.strip_prefix(right).unwrap();
            let others: Vec<String> = ["read", "write"]
                .iter()
                .filter(|other| **other != right)
                .map(|other| format!("{other}{name}"))
                .collect();
            let others: Vec<&str> = others.iter().map(String::as_str).collect();
            let refused = server.json_as(&made(&server, &others), &method, &filled, &Value::Null);
            assert_eq!(refused.status, 403, "{what} by {others:?}");
            tried += 1;
            if path.ends_with("/tail") {
                // Whoever is let in is answered without an end.
                continue;
            }
            for scopes in [[scope.as_str()], [&format!("admin{name}")]] {
                let taken = server.json_as(&made(&server, &scopes), &method, &filled, &Value::Null);
                assert!(![401, 403].contains(&taken.status), "{what} by {scopes:?}");
            }
        }
    }
    assert!(tried > 60, "{tried}");
}

#[test]
fn a_token_is_told_once_and_opens_nothing_once_it_is_revoked() {
    let server = guarded();
    let expires = json!({ "name": "guest", "scopes": ["read"], "expires": "2h" });
    let told = server.json_as(TRUSTED, "POST", "/tokens", &expires);
    assert!(told.headers.contains(&("cache-control".into(), "no-store".into())));
    let told = told.data();
    let (id, secret) = (told["id"].as_str().unwrap(), told["token"].as_str().unwrap());
    assert_eq!(server.json_as(secret, "GET", "/tables", &Value::Null).data(), json!([]));
    let listed = server.json_as(TRUSTED, "GET", "/tokens", &Value::Null);
    assert!(!listed.text().contains(secret));
    let listed = &listed.data()[0];
    assert_eq!((&listed["id"], &listed["name"]), (&json!(id), &json!("guest")));
    assert_eq!(listed["scopes"], json!(["read"]));
    assert!(listed["expires"].as_str() > listed["created"].as_str());
    // It can't make itself more than it is.
    assert_eq!(server.json_as(secret, "POST", "/tokens", &expires).status, 403);
    let path = format!("/tokens/{id}");
    server.json_as(TRUSTED, "DELETE", &path, &Value::Null).data();
    let refused = server.json_as(secret, "GET", "/tables", &Value::Null);
    assert!(refused.error(401).contains("not known"));
    assert!(challenge(&refused).contains("invalid_token"));
    assert!(!refused.text().contains(secret));
    server.json_as(TRUSTED, "DELETE", &path, &Value::Null).error(404);
}

#[test]
fn what_is_no_token_is_refused() {
    let server = guarded();
    for (asked, why) in [
        (json!({ "scopes": ["read"] }), "name"),
        (json!({ "name": "a" }), "scopes"),
        (json!({ "name": "a", "scopes": "read" }), "list"),
        (json!({ "name": "a", "scopes": ["all"] }), "scope \"all\""),
        (json!({ "name": "a", "scopes": ["read"], "expires": "soon" }), "expires"),
        (json!({ "name": "a", "scopes": ["read"], "expires": "2001-01-01" }), "expired"),
        (json!({ "name": "a", "scopes": ["read"], "token": "mine" }), "no member 'token'"),
    ] {
        let error = server.json_as(TRUSTED, "POST", "/tokens", &asked).error(400);
        assert!(error.contains(why), "{asked}: {error}");
    }
}

#[test]
fn names_are_kept_from_who_may_not_know_them() {
    let server = guarded();
    let post = |path: &str| {
        let row = json!([{ "timestamp": "2024-05-01", "n": 1 }]);
        server.json_as(TRUSTED, "POST", path, &row).data();
    };
    post("/logs/web-1");
    post("/logs/payments");
    for topic in ["web-clicks", "ledger"] {
        server.json_as(TRUSTED, "PUT", &format!("/topics/{topic}"), &json!({})).data();
    }
    let secret = made(&server, &["read:web-*", "write:queue"]);
    let names = |path: &str| server.json_as(&secret, "GET", path, &Value::Null).data();
    assert_eq!((names("/logs"), names("/topics")), (json!(["web-1"]), json!(["web-clicks"])));
    assert_eq!(
        server.json_as(TRUSTED, "GET", "/logs", &Value::Null).data().as_array().unwrap().len(),
        2
    );
    // A path is judged by the name that it stands for.
    let hidden = server.json_as(&secret, "GET", "/logs/%70ayments/count", &Value::Null);
    assert!(hidden.error(403).contains("read:payments"));
    let seen = server.json_as(&secret, "GET", "/logs/%77eb-1/count", &Value::Null);
    assert_eq!(seen.data()["count"], 1);
}

#[test]
fn sql_is_for_who_may_read_all_and_writes_for_who_may_do_all() {
    let server = guarded();
    let create = json!({ "query": "CREATE TABLE t (timestamp TIMESTAMP, n BIGINT)" });
    let select = json!({ "query": "SELECT count(*) AS n FROM t" });
    let ask = |secret: &str, what: &Value| server.json_as(secret, "POST", "/sql", what);
    ask(TRUSTED, &create).data();
    let (reader, some, writer) =
        (made(&server, &["read"]), made(&server, &["admin:t"]), made(&server, &["read", "write"]));
    assert_eq!(ask(&reader, &select).data()[0]["n"], 0);
    assert!(ask(&some, &select).error(403).contains("read, of all streams"));
    for text in [
        "DROP TABLE t",
        "INSERT INTO t VALUES ('2024-05-01', 1)",
        "DELETE FROM t",
        "CREATE TABLE u (timestamp TIMESTAMP)",
    ] {
        for secret in [&reader, &writer] {
            let error = ask(secret, &json!({ "query": text })).error(403);
            assert!(error.contains("admin, of all streams"), "{text}: {error}");
        }
    }
}

/// What stands behind a path, as clients send it.
fn encoded(behind: &str) -> String {
    let plain = |sign: char| sign.is_ascii_alphanumeric() || "=_-.*,()".contains(sign);
    let each = behind.chars().map(|sign| match plain(sign) {
        true => sign.to_string(),
        false => format!("%{:02X}", u32::from(sign)),
    });
    each.collect()
}

/// Conditions and orders that hold a query.
const DISGUISES: &[&str] = &[
    "n IN (SELECT n FROM secret)",
    "n IN (/**/select/**/n from secret)",
    "n NOT IN (\nsElEcT\tn FROM\nsecret)",
    "n IN (((SELECT n FROM secret)))",
    "EXISTS (WITH s AS (TABLE secret) TABLE s)",
    "NOT EXISTS (FROM secret SELECT n)",
    "n = (VALUES (1))",
    "n = (SELECT 1 UNION SELECT n FROM secret LIMIT 1)",
    "n = ANY (SELECT n FROM secret)",
    "n > ALL (SELECT n FROM secret)",
    "n = CASE WHEN true THEN (SELECT max(n) FROM secret) ELSE 1 END",
    "coalesce(NULL, (SELECT n FROM secret)) = 1",
    "n BETWEEN 0 AND (SELECT max(n) FROM secret)",
    "EXTRACT(year FROM (SELECT timestamp FROM secret)) = 2024",
    "CAST((SELECT n FROM secret) AS BIGINT) = 1",
    "[n, (SELECT n FROM secret)][2] = 1",
    "(SELECT n FROM \"secret\")::BIGINT = n",
    "n = -(SELECT -n FROM secret)",
    "1 = 1 OR 'a' LIKE (SELECT from_where FROM secret)",
    "sum(n) FILTER (WHERE n IN (SELECT n FROM secret)) = 1",
    "row_number() OVER (PARTITION BY (SELECT n FROM secret)) = 1",
];

/// `where=n IN (SELECT n FROM other)` reads another table.
#[test]
fn a_condition_reads_no_other_table_for_who_may_read_only_one() {
    let server = guarded();
    let ingest = |table: &str| {
        let row = json!([{ "timestamp": "2024-05-01T00:00:00Z", "n": 1, "from_where": "a" }]);
        let path = format!("/tables/{table}/ingest?time=timestamp");
        server.json_as(TRUSTED, "POST", &path, &row).data();
    };
    ingest("t");
    ingest("secret");
    let (one, all) = (made(&server, &["read:t"]), made(&server, &["read"]));
    let ask = |secret: &str, behind: &str| {
        let path = format!("/tables/t/query?{}", encoded(behind));
        server.json_as(secret, "GET", &path, &Value::Null)
    };
    let mut refused = 0;
    for condition in DISGUISES {
        for behind in [format!("where={condition}"), format!("order={condition}")] {
            let answer = ask(&one, &behind);
            match answer.status {
                // Not even who may read all can say that.
                400 => assert_eq!(ask(&all, &behind).status, 400, "{behind}"),
                _ => {
                    let error = answer.error(403);
                    assert!(error.contains("read, of all streams"), "{behind}: {error}");
                    refused += 1;
                }
            }
        }
    }
    assert!(refused > 30, "{refused}");
    // What can't be read as one condition reads nothing.
    for condition in ["n = 1) UNION SELECT * FROM secret WHERE (1 = 1", "1; TABLE secret", "n ="] {
        ask(&one, &format!("where={condition}")).error(400);
        ask(&one, &format!("order={condition}")).error(400);
    }
    assert_eq!(ask(&all, "where=n IN (SELECT n FROM secret)").data().as_array().unwrap().len(), 1);
    // A word within a name or a text is no query, and functions have some of these words too.
    for behind in [
        "where=n = 1 AND from_where = 'a'",
        "where=EXTRACT(year FROM timestamp) = 2024",
        "where=substring(from_where FROM 1 FOR 1) = 'a'",
        "where=trim(BOTH ' ' FROM from_where) = 'a'",
        "where=from_where <> '(SELECT n FROM secret)'",
        "where=n = 1 -- (SELECT n FROM secret)",
        "order=EXTRACT(year FROM timestamp) DESC, n",
        "order=n DESC",
        "order=desc",
        "limit=1",
    ] {
        assert_eq!(ask(&one, behind).data().as_array().unwrap().len(), 1, "{behind}");
    }
}

#[test]
fn a_server_hears_of_tokens_that_are_made_and_revoked_beside_it() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), Settings::default()).unwrap();
    let server = Harness::on(store, &[], None);
    server.csv("t", TRADES).data();
    let beside = TokenFolder::in_dir(&Io::os(), dir.path());
    let (token, secret) = beside.create(NewToken::new("a", &["read"]).unwrap()).unwrap();
    let asks = || server.json_as(secret.reveal(), "GET", "/tables/t/count", &Value::Null).status;
    // Nobody told the server, and nobody is let in without a token any more.
    until(|| server.get("/tables").status == 401);
    assert_eq!((asks(), server.get("/health").status), (200, 200));
    // One that is new is taken at once.
    let (_, other) = beside.create(NewToken::new("b", &["read:t"]).unwrap()).unwrap();
    assert_eq!(server.json_as(other.reveal(), "GET", "/tables/t/count", &Value::Null).status, 200);
    beside.revoke(token.id()).unwrap();
    until(|| asks() == 401);
    for (id, _) in beside.list().unwrap() {
        beside.revoke(&id).unwrap();
    }
    until(|| server.json_as(other.reveal(), "GET", "/tables", &Value::Null).status == 401);
    assert_eq!(server.get("/tables").status, 401, "the door stays closed");
}

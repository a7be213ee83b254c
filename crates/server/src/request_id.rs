//! `X-Request-Id`: what a request is called in its answer, in what is said of a problem and in its line of the
//! log, so that all three are found by each other. A client, or a proxy before it, may bring one.

use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;
use timestrata_engine::Io;

const HEADER: HeaderName = HeaderName::from_static("x-request-id");
const GIVEN_BYTES_MAX: usize = 128;

tokio::task_local! {
    static CURRENT: String;
}

/// What the request is called that this task answers; nothing outside of one, as on a thread of a query.
pub(crate) fn current() -> Option<String> {
    CURRENT.try_with(Clone::clone).ok()
}

/// Gives each request its id.
pub(crate) async fn identify(State(io): State<Io>, request: Request, next: Next) -> Response {
    let given = request.headers().get(HEADER).and_then(|given| given.to_str().ok());
    let id = given.filter(|given| is_sane(given)).map_or_else(|| new(&io), str::to_owned);
    let mut answer = CURRENT.scope(id.clone(), next.run(request)).await;
    // It is plain, so this never fails.
    if let Ok(value) = HeaderValue::from_str(&id) {
        answer.headers_mut().insert(HEADER, value);
    }
    answer
}

/// What others bring must not forge a line of the log, nor be longer than the rest of it.
fn is_sane(given: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/+=@".contains(&byte);
    (1..=GIVEN_BYTES_MAX).contains(&given.len()) && given.bytes().all(is_plain)
}

fn new(io: &Io) -> String {
    format!("{:016x}{:016x}", io.rng.next_u64(), io.rng.next_u64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_brought_is_taken_where_it_is_plain_and_short() {
        for sane in
            ["a", "7b44c2a1-0d5e-4f0e-9b7c-2f0d9a3c1e55", "Root=1-67891233:x", &"a".repeat(128)]
        {
            assert!(is_sane(sane), "{sane}");
        }
        for insane in ["", "a b", "a\"", "a\nb", "ä", "{}", &"a".repeat(129)] {
            assert!(!is_sane(insane), "{insane}");
        }
        let io = Io::memory();
        assert!(is_sane(&new(&io)) && new(&io) != new(&io));
    }
}

use std::sync::mpsc;

use timestrata_engine::{ErrorKind, Settings, Store};

use super::*;

#[test]
fn who_waits_listens_though_all_threads_of_the_runtime_are_busy() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_time().build();
    let runtime = runtime.unwrap();
    let (started, has_started) = mpsc::channel();
    let (let_go, is_let_go) = mpsc::channel::<()>();
    runtime.spawn(async move {
        started.send(()).unwrap();
        let _ = is_let_go.recv();
    });
    has_started.recv().unwrap();

    let store = Store::memory(Settings::default()).unwrap();
    let query = store.begin_query_for("wait", None, || false);
    let waited = wait_for(&runtime, std::future::pending::<Result<()>>(), Some(&query));
    assert_eq!(waited.unwrap_err().kind(), ErrorKind::Cancelled);
    drop(let_go);
}

#[test]
fn who_waits_for_a_commit_goes_on_when_its_rows_have_been_let_go_of() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_time().build();
    let store = Store::memory(Settings::default()).unwrap();
    let query = store.begin_query("INSERT", None);
    drop(query.given_up_on_drop());
    let mut polls = 0;
    let commit = std::future::poll_fn(|context| {
        polls += 1;
        context.waker().wake_by_ref();
        if polls > 2 { Poll::Ready(Ok(polls)) } else { Poll::Pending }
    });
    assert_eq!(wait_for(&runtime.unwrap(), commit, Some(&query)).unwrap(), 3);
}

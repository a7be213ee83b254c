//! Checkpoints that are signed by themselves: of every partition that has records since its last one, each interval.
//!
//! One round after the other: a round that takes longer than the interval puts off the next.

use std::time::Duration;

use timestrata_topic::Topic;

use crate::state::{AppState, blocking};

/// Signs what has changed, until the server is told to stop.
pub(crate) async fn sign_every(interval: Duration, state: AppState) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(interval) => {}
            () = state.stopped() => return,
        }
        let round = state.clone();
        let signed = blocking(move || match &round.key {
            Some(key) => Ok(Topic::checkpoint_store(&round.store, key)?),
            None => Ok(0),
        });
        match signed.await {
            Ok(0) => {}
            Ok(partitions) => tracing::debug!(partitions, "signed checkpoints"),
            // The others were signed nevertheless, and this one is tried again.
            Err(failure) => tracing::error!(?failure, "a partition can't be signed"),
        }
    }
}

//! Topics: records by offset, consumers, proofs.

mod also;
mod arguments;
mod asked;
mod consumer;
mod consumer_state;
mod number;
mod object;
mod open;
mod producer;
mod proof;
mod receipt;
mod record;
mod staged;
mod told;
mod tree;
mod witness;

pub(crate) use consumer::Consumer;
pub(crate) use object::Topic;
pub(crate) use producer::Producer;
pub(crate) use proof::{Proof, SigningKey, verify, verify_checkpoints, verify_consistency};
pub(crate) use receipt::Receipt;
pub(crate) use record::Record;
pub(crate) use staged::{CommitTopic, TopicRecords};

//! Topics: records by offset, consumers, proofs.

mod arguments;
mod consumer;
mod object;
mod open;
mod producer;
mod proof;
mod receipt;
mod record;
mod staged;

pub(crate) use consumer::Consumer;
pub(crate) use object::Topic;
pub(crate) use producer::Producer;
pub(crate) use proof::{Proof, SigningKey, verify, verify_consistency};
pub(crate) use receipt::Receipt;
pub(crate) use record::Record;
pub(crate) use staged::{CommitTopic, TopicRecords};

//! Topics: records by offset, consumers, proofs.

mod arguments;
mod consumer;
mod object;
mod producer;
mod proof;
mod receipt;
mod record;

pub(crate) use arguments::{span_ns, stamp_of, time_ns};
pub(crate) use consumer::{Consumer, ConsumerAsked};
pub(crate) use object::{Topic, TopicAsked};
pub(crate) use producer::Producer;
pub(crate) use proof::{Proof, SigningKey, verify, verify_consistency};
pub(crate) use receipt::Receipt;
pub(crate) use record::Record;

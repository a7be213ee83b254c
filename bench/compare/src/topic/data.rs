//! The records that both sides get.

use timestrata_bench::Numbers;
use timestrata_topic::Record;

/// Bytes of a value.
pub(crate) const VALUE_BYTES: usize = 256;

/// Time of the first record.
const BEGIN_NS: i64 = 1_700_000_000_000_000_000;
/// Between two records, and by how much at most one is off.
const STEP_NS: i64 = 1_000_000;

/// Makes records, one after another, the same in every run.
#[derive(Debug)]
pub(crate) struct Maker {
    numbers: Numbers,
    made: i64,
}

/// Values and times of consecutive records.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) values: Vec<u8>,
    times: Vec<i64>,
}

impl Maker {
    pub(crate) fn new() -> Self {
        Self { numbers: Numbers::new(21), made: 0 }
    }

    /// The next records: values that don't compress, times nearly evenly apart.
    pub(crate) fn batch(&mut self, records: usize) -> Batch {
        let values = self.numbers.bytes(records * VALUE_BYTES);
        let mut time = || {
            self.made += 1;
            let off = self.numbers.below(STEP_NS.unsigned_abs()).cast_signed();
            BEGIN_NS + self.made * STEP_NS + off
        };
        let times = (0..records).map(|_| time()).collect();
        Batch { values, times }
    }

    /// The same as text, for who takes nothing else.
    pub(crate) fn texts(&mut self, records: usize) -> Vec<String> {
        let text = |value: &[u8]| value.iter().map(|byte| char::from(byte & 0x7f)).collect();
        self.batch(records).values.chunks(VALUE_BYTES).map(text).collect()
    }

    /// The next text.
    pub(crate) fn text(&mut self) -> String {
        self.texts(1).pop().unwrap_or_default()
    }
}

impl Batch {
    /// As what is sent.
    pub(crate) fn records(&self) -> Vec<Record<'_>> {
        let values = self.values.chunks(VALUE_BYTES).zip(&self.times);
        values
            .map(|(value, time)| Record {
                value: Some(value),
                timestamp_ns: Some(*time),
                ..Record::default()
            })
            .collect()
    }
}

/// What a reader has seen. Looks at each value as both sides' readers would: its length and a byte.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Seen {
    pub(crate) records: u64,
    sum: u64,
}

impl Seen {
    #[inline]
    pub(crate) fn record(&mut self, offset: u64, value: &[u8]) {
        self.records += 1;
        let byte = value.last().copied().unwrap_or_default();
        self.sum = self.sum.wrapping_add(offset ^ (value.len() as u64 + u64::from(byte)));
        std::hint::black_box(self.sum);
    }
}

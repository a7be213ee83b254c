use super::{GivenBack, WRITTEN_BYTES_MIN};

const SECOND: u64 = 1_000_000_000;

#[test]
fn memory_is_given_back_once_a_minute_at_most_and_after_work() {
    let given_back = GivenBack::default();
    assert!(!given_back.is_due(100 * SECOND, WRITTEN_BYTES_MIN - 1));
    assert!(given_back.is_due(100 * SECOND, WRITTEN_BYTES_MIN));
    assert!(!given_back.is_due(159 * SECOND, 9 * WRITTEN_BYTES_MIN));
    assert!(given_back.is_due(160 * SECOND, 9 * WRITTEN_BYTES_MIN));
    assert!(!given_back.is_due(900 * SECOND, 10 * WRITTEN_BYTES_MIN - 1));
}

//! A time log does what a sorted list does, whatever is done to it in which order.

#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use proptest::prelude::*;
use timestrata_engine::{Maintenance, Settings, Store};
use timestrata_timelog::{Timelog, TimelogOptions};

#[derive(Debug, Clone)]
enum Step {
    Append(i64),
    Extend(Vec<i64>),
    Delete(i64, i64),
    DeleteThrough(i64),
    Flush,
    Compact,
}

fn time() -> impl Strategy<Value = i64> {
    prop_oneof![8 => -20..20i64, 1 => Just(i64::MIN), 1 => Just(i64::MAX)]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => time().prop_map(Step::Append),
        3 => prop::collection::vec(time(), 0..12).prop_map(Step::Extend),
        2 => (time(), time()).prop_map(|(a, b)| Step::Delete(a.min(b), a.max(b))),
        1 => time().prop_map(Step::DeleteThrough),
        1 => Just(Step::Flush),
        1 => Just(Step::Compact),
    ]
}

/// The list that the log must agree with: sorted by time, equal times in commit order.
#[derive(Default)]
struct List {
    entries: Vec<(i64, u64)>,
    next: u64,
}

impl List {
    fn insert(&mut self, time: i64) -> [u8; 8] {
        let place = self.entries.partition_point(|(other, _)| *other <= time);
        self.entries.insert(place, (time, self.next));
        self.next += 1;
        (self.next - 1).to_le_bytes()
    }
}

fn apply(step: &Step, log: &Timelog, list: &mut List) {
    match step {
        Step::Append(time) => drop(log.append(*time, &list.insert(*time)).unwrap()),
        Step::Extend(times) => {
            let values: Vec<_> = times.iter().map(|time| list.insert(*time)).collect();
            log.extend(times, &values).unwrap();
        }
        Step::Delete(from, to) => {
            list.entries.retain(|(time, _)| !(from..to).contains(&time));
            log.delete_range(from..to).unwrap();
        }
        Step::DeleteThrough(to) => {
            list.entries.retain(|(time, _)| time > to);
            log.delete_range(..=*to).unwrap();
        }
        Step::Flush => log.flush().unwrap(),
        Step::Compact => log.compact().unwrap(),
    }
}

fn agree(log: &Timelog, list: &List, from: i64, to: i64) {
    let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap());
    let wanted: Vec<(i64, u64)> =
        list.entries.iter().copied().filter(|(time, _)| (from..=to).contains(time)).collect();
    let read = |selection: timestrata_timelog::Selection| -> Vec<(i64, u64)> {
        selection
            .into_iter()
            .map(|entry| entry.map(|entry| (entry.time, number(&entry.value))).unwrap())
            .collect()
    };
    let chosen = log.range(from..=to).unwrap();
    assert_eq!(chosen.count().unwrap(), wanted.len() as u64);
    assert_eq!(read(chosen.clone()), wanted);
    assert_eq!(read(chosen.clone().limit(3)), &wanted[..wanted.len().min(3)]);
    let mut reversed = wanted;
    reversed.reverse();
    assert_eq!(read(chosen.clone().reverse()), reversed);
    assert_eq!(read(chosen.reverse().limit(2)), &reversed[..reversed.len().min(2)]);
    assert_eq!(log.len().unwrap(), list.entries.len() as u64);
    assert_eq!(log.min_time().unwrap(), list.entries.first().map(|(time, _)| *time));
    assert_eq!(log.max_time().unwrap(), list.entries.last().map(|(time, _)| *time));
    let next = list.entries.iter().map(|(time, _)| *time).find(|time| *time > from);
    assert_eq!(log.next_time(from).unwrap(), next);
    let previous = list.entries.iter().rev().map(|(time, _)| *time).find(|time| *time < to);
    assert_eq!(log.previous_time(to).unwrap(), previous);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_log_agrees_with_a_sorted_list(
        steps in prop::collection::vec((step(), time(), time()), 1..40),
        run_batch_rows in 1usize..8,
    ) {
        let settings = Settings {
            maintenance: Maintenance::Manual,
            run_batch_rows,
            ..Settings::default()
        };
        let store = Store::memory(settings).unwrap();
        let log = Timelog::create(&store, "log", TimelogOptions::default()).unwrap();
        let mut list = List::default();
        for (step, a, b) in &steps {
            apply(step, &log, &mut list);
            agree(&log, &list, *a.min(b), *a.max(b));
        }
    }
}

use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone)]
enum Step {
    Push(i64),
    Times(i64, usize),
    Grow(i64, usize),
    Extend(Vec<i64>),
    /// By an iterator that doesn't know how many it has.
    ExtendSome(Vec<i64>),
    Truncate(usize),
    Double,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let some = || prop::collection::vec(any::<i64>(), 0..40);
    let step = prop_oneof![
        any::<i64>().prop_map(Step::Push),
        (any::<i64>(), 0..40_usize).prop_map(|(value, count)| Step::Times(value, count)),
        (any::<i64>(), 0..40_usize).prop_map(|(value, count)| Step::Grow(value, count)),
        some().prop_map(Step::Extend),
        some().prop_map(Step::ExtendSome),
        (0..200_usize).prop_map(Step::Truncate),
        Just(Step::Double),
    ];
    prop::collection::vec(step, 0..20)
}

fn take(buffer: &mut ValueBuffer<i64>, step: Step) {
    match step {
        Step::Push(value) => buffer.push(value),
        Step::Times(value, count) => buffer.push_times(value, count),
        Step::Grow(value, count) => buffer.grow(count).fill(value),
        Step::Extend(values) => buffer.extend(values),
        Step::ExtendSome(values) => {
            let mut values = values.into_iter();
            buffer.extend(std::iter::from_fn(|| values.next()));
        }
        Step::Truncate(values) => buffer.truncate(values),
        Step::Double => buffer.iter_mut().for_each(|value| *value = value.wrapping_mul(2)),
    }
}

fn take_as_vec(values: &mut Vec<i64>, step: Step) {
    match step {
        Step::Push(value) => values.push(value),
        Step::Times(value, count) | Step::Grow(value, count) => {
            values.resize(values.len() + count, value);
        }
        Step::Extend(more) | Step::ExtendSome(more) => values.extend(more),
        Step::Truncate(len) => values.truncate(len),
        Step::Double => values.iter_mut().for_each(|value| *value = value.wrapping_mul(2)),
    }
}

proptest! {
    #[test]
    fn a_buffer_holds_what_a_vec_would_wherever_it_is_and_however_much_was_reserved(
        steps in steps(),
        reserved in 0..200_usize,
        in_arena in any::<bool>(),
    ) {
        let arena = Arena::default();
        let mut buffer = ValueBuffer::default();
        buffer.reserve(reserved, in_arena.then_some(&arena));
        let mut expected = Vec::new();
        for step in steps {
            take(&mut buffer, step.clone());
            take_as_vec(&mut expected, step);
            prop_assert_eq!(&*buffer, expected.as_slice());
        }
        let buffer = buffer.into_buffer();
        prop_assert_eq!(buffer.typed_data::<i64>(), expected.as_slice());
    }
}

#[test]
fn memory_of_an_arena_holds_what_was_written_to_it_and_nothing_of_who_had_it_before() {
    let arena = Arena::default();
    let made = |value: i32, count: usize| {
        let mut buffer = ValueBuffer::default();
        buffer.reserve(1_000, Some(&arena));
        buffer.push_times(value, count);
        buffer.into_buffer()
    };
    let first = made(7, 1_000);
    let second = made(8, 10);
    assert!(first.typed_data::<i32>().iter().all(|value| *value == 7));
    assert_eq!(second.typed_data::<i32>(), [8; 10]);
    drop((first, second));
    assert_eq!(made(9, 3).typed_data::<i32>(), [9; 3]);
}

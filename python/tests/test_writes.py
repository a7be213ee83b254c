"""What is appended is there, whole or not at all, whatever way it came."""

import time
from collections.abc import Iterator

import pytest

import timestrata
from timestrata import Store, Timelog


def test_an_append_takes_its_timestamp_first_by_name_or_from_the_clock(log: Timelog) -> None:
    log.append(1, "a")
    log.append("b", ts=2)
    log[3] = "c"
    assert list(log) == [(1, "a"), (2, "b"), (3, "c")]
    before = time.time_ns() // 1_000_000
    log.append("now")
    after = time.time_ns() // 1_000_000
    [(stamp, value)] = log.last()
    assert value == "now"
    assert before <= stamp <= after


def test_none_is_an_object_like_any_other(log: Timelog) -> None:
    log.append(1, None)
    log.append(None, ts=2)
    log.append(None)
    assert [value for _, value in log] == [None, None, None]


def test_the_clock_counts_in_the_logs_unit(store: Store) -> None:
    for unit, scale in (("s", 10**9), ("ms", 10**6), ("us", 10**3), ("ns", 1)):
        log = store.timelog(f"in {unit}", unit=unit)  # type: ignore[arg-type]
        before = time.time_ns() // scale
        log.append("now")
        [(stamp, _)] = log.last()
        assert before <= stamp <= time.time_ns() // scale


def test_of_a_timestamp_given_twice_the_first_counts(log: Timelog) -> None:
    log.append(1, "a", ts=2)
    assert list(log) == [(1, "a")]


def test_a_slice_cannot_be_assigned_to(log: Timelog) -> None:
    with pytest.raises(TypeError, match="slice"):
        log[1:2] = "a"  # type: ignore[index]


def test_extend_takes_pairs_of_any_kind_and_columns(log: Timelog) -> None:
    log.extend([(3, "c"), [1, "a"], iter((2, "b"))])  # type: ignore[list-item]
    log.extend(range(4, 6), "de")
    log.extend(iter([6]), iter(["f"]))
    log.extend([])
    log.extend([], [])
    log.extend({7: "g"}.items())
    assert list(log) == list(enumerate("abcdefg", start=1))


@pytest.mark.parametrize("row", [5, "abc", (1,), (1, 2, 3), None])
def test_what_is_not_a_pair_is_refused_and_nothing_is_stored(log: Timelog, row: object) -> None:
    with pytest.raises((ValueError, TypeError), match="pairs") as caught:
        log.extend([(1, "good"), row])  # type: ignore[list-item]
    assert any("nothing was stored" in note for note in caught.value.__notes__)
    assert len(log) == 0


def test_a_list_is_stored_whole_or_not_at_all(log: Timelog) -> None:
    rows: list[tuple[int, object]] = [(time, time) for time in range(20_000)]
    rows[19_999] = (5, object())
    with pytest.raises(TypeError, match="'object'"):
        log.extend(rows)
    rows[19_999] = (2**63, "too great")
    with pytest.raises(OverflowError):
        log.extend(rows)
    assert len(log) == 0


def test_a_list_is_one_commit(store: Store) -> None:
    log = store.timelog("log")
    before = store.stats()["last_seq"]
    log.extend([(time, time) for time in range(20_000)])
    assert store.stats()["last_seq"] == before + 1


def test_an_iterator_is_stored_in_parts_and_a_note_says_how_far(log: Timelog) -> None:
    def rows() -> Iterator[tuple[int, int]]:
        for time in range(20_000):
            yield time, time
        raise RuntimeError("the source broke")

    with pytest.raises(RuntimeError, match="the source broke") as caught:
        log.extend(rows())
    assert any("the first 16384 rows are stored" in note for note in caught.value.__notes__)
    assert len(log) == 16_384


def test_columns_of_different_length_are_refused(log: Timelog) -> None:
    with pytest.raises(ValueError, match="same length"):
        log.extend([1, 2], ["a"])
    with pytest.raises(ValueError, match="same length"):
        log.extend(iter([1, 2]), iter(["a"]))
    with pytest.raises(ValueError, match="same length"):
        log.extend(iter([1]), iter(["a", "b"]))
    assert len(log) == 0


def test_what_cannot_be_iterated_is_refused(log: Timelog) -> None:
    with pytest.raises(TypeError):
        log.extend(5)  # type: ignore[call-overload]


def test_a_log_can_be_extended_with_itself(log: Timelog) -> None:
    log.extend(range(1_000), range(1_000))
    log.extend(log)
    assert len(log) == 2_000


def test_a_log_can_be_appended_to_while_it_is_extended(log: Timelog) -> None:
    def rows() -> Iterator[tuple[int, str]]:
        for time in range(10):
            log.append(time, "inside")
            yield time, "outside"

    log.extend(rows())
    assert len(log) == 20


def test_a_value_larger_than_a_log_takes_is_refused(store: Store) -> None:
    log = store.timelog("raw", codec="bytes")
    with pytest.raises(timestrata.TooLargeError):
        log.append(1, bytes(40 << 20))
    with pytest.raises(ValueError):
        store.timelog("cbor").append(1, "x" * (40 << 20))
    log.append(2, bytes(1 << 20))
    assert [len(value) for _, value in log] == [1 << 20]


def test_sync_makes_the_last_commit_survive_a_power_cut(tmp_path: object) -> None:
    with timestrata.open(f"{tmp_path}/store", sync_interval="1h") as store:
        log = store.timelog("log")
        log.append(1, "a", sync=True)
        stats = store.stats()
        assert stats["synced_seq"] == stats["last_seq"]
        log.append(2, "b")
        assert store.sync() == store.stats()["synced_seq"] == store.stats()["last_seq"]

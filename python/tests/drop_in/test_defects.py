"""Each defect that was confirmed in the module we replace, by its number in the table of the
specification. None is to be repeated. Times are only compared with each other: the same work at
two sizes, or beside a plain list."""

import array
import gc
import random
import time
import timeit
import weakref
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

Make = Callable[..., Any]
LEAST, GREATEST = -(2**63), 2**63 - 1


class Payload:
    """An object that weak references can watch."""


def settle(log: Any) -> None:
    log.flush()
    log.compact()
    while log.maint_step():
        pass


def quickest(work: Callable[[], object], number: int = 1, repeat: int = 7) -> float:
    """Seconds of one call where nothing else got in the way."""
    return min(timeit.repeat(work, number=number, repeat=repeat)) / number


def alive(watched: "list[weakref.ref[Payload]]") -> int:
    gc.collect()
    return sum(watch() is not None for watch in watched)


@pytest.mark.parametrize("turn", range(3))
def test_1_a_cycle_of_log_payload_and_iterator_is_collected_without_a_crash(
    run_alone: Callable[[str], str], turn: int
) -> None:
    said = run_alone(
        """
        import gc, weakref
        class Payload: pass
        log = module.Timelog()
        payload = Payload()
        log.append(1, payload)
        log.append(2, "b")
        payload.entries = iter(log)
        next(payload.entries)
        seen = weakref.ref(payload)
        del log, payload
        gc.collect()
        gc.collect()
        print(seen())
        """
    )
    assert said == "None\n"


SMALL = {"memtable_max_bytes": 24 * 1_000, "sealed_max_runs": 1}
ROWS = 20_000


@pytest.mark.ours("stops at the first busy chunk and says that all was stored")
@pytest.mark.parametrize("form", ["pairs", "generator", "columns", "checked"])
def test_2_a_busy_extend_has_stored_every_row_when_it_says_so(
    make: Make, peer_module: ModuleType, form: str
) -> None:
    log = make(busy_policy="raise", **SMALL)
    pairs = [(n, n) for n in range(ROWS)]
    forms: dict[str, Callable[[], object]] = {
        "pairs": lambda: log.extend(pairs),
        "generator": lambda: log.extend(pair for pair in pairs),
        "columns": lambda: log.extend(range(ROWS), range(ROWS)),
        "checked": lambda: log.extend(pairs, insert_on_error=False),
    }
    with pytest.raises(peer_module.TimelogBusyError, match="committed"):
        forms[form]()
    assert list(log) == pairs
    assert log.busy_events >= 1


@pytest.mark.ours("stops at the first busy chunk and says that all was stored")
def test_2_a_busy_extend_reads_its_source_to_the_end_once(
    make: Make, peer_module: ModuleType
) -> None:
    log = make(busy_policy="raise", **SMALL)
    source = ((n, n) for n in range(ROWS))
    with pytest.raises(peer_module.TimelogBusyError):
        log.extend(source)
    assert next(source, None) is None
    with pytest.raises(ValueError, match="pairs"):  # a mistake is told before busyness
        log.extend([*((n, n) for n in range(ROWS)), 5])


def test_2_a_bulk_is_stored_whole_when_it_is_busy(make: Make, peer_module: ModuleType) -> None:
    log = make(busy_policy="raise", **SMALL)
    for _ in range(3):
        try:
            log.bulk_append(array.array("q", range(ROWS)), range(ROWS))
        except peer_module.TimelogBusyError:
            pass
    assert len(log) == 3 * ROWS


@pytest.mark.ours("fails every compaction for ever once a row is at the least time")
def test_3_rows_at_the_least_time_are_compacted_like_others(make: Make) -> None:
    log = make(max_delta_segments=2)
    for turn in range(4):
        log.extend([(LEAST, turn), (0, turn), (GREATEST, turn)])
        settle(log)
        assert log.stats()["storage"]["segments_l0"] == 0
    assert log[LEAST] == log[0] == log[GREATEST] == [0, 1, 2, 3]
    log.delete(LEAST)
    settle(log)
    assert log.min_ts() == 0


@pytest.mark.ours("orders late rows of one time by their addresses")
@pytest.mark.parametrize("write", ["append", "extend", "bulk_append", "set item"])
def test_4_late_rows_of_one_time_keep_the_order_they_came_in(make: Make, write: str) -> None:
    objects = [Payload() for _ in range(200)]
    random.Random(4).shuffle(objects)
    log = make()
    log.append(100, "ahead")
    if write == "append":
        for each in objects:
            log.append(5, each)
    elif write == "set item":
        for each in objects:
            log[5] = each
    elif write == "extend":
        log.extend((5, each) for each in objects)
    else:
        log.bulk_append(array.array("q", [5] * 200), objects)
    assert log[5] == objects
    log.flush()
    assert log[5] == objects
    log.append(5, "last")
    settle(log)
    assert log[5] == [*objects, "last"]
    assert [value for _, value in log] == [*objects, "last", "ahead"]


@pytest.mark.ours("reads what was compacted after what is newer")
def test_4_compactions_keep_the_order_too(log: Any) -> None:
    for turn in range(6):
        log.extend((n, turn) for n in range(20))
        settle(log)
    assert all(log[n] == list(range(6)) for n in range(20))


def test_5_objects_deleted_from_the_memtable_are_let_go_before_close(log: Any) -> None:
    payloads = [Payload() for _ in range(1_100)]
    watched = [weakref.ref(payload) for payload in payloads]
    log.extend(range(1_100), payloads)
    del payloads
    log.delete(0, 501)
    settle(log)
    assert alive(watched) == 599
    assert len(log) == 599


def test_5_objects_deleted_as_they_come_are_let_go(log: Any) -> None:
    watched = []
    for n in range(1_000):
        payload = Payload()
        watched.append(weakref.ref(payload))
        log.append(n, payload)
        if n >= 10:
            log.delete(n - 10)
    del payload
    settle(log)
    assert alive(watched) == 10
    assert [stamp for stamp, _ in log] == list(range(990, 1_000))


def pairs_of_append_and_read(make: Make, rows: int) -> float:
    log = make(memtable_max_bytes=1 << 26)
    log.extend(range(rows), range(rows))
    stamps = iter(range(rows, 10**9))

    def pair() -> None:
        stamp = next(stamps)
        log.append(stamp, stamp)
        assert log.at(stamp) == [stamp]

    return quickest(pair, number=100)


@pytest.mark.ours("copies its whole memtable for a read after a write")
def test_6_a_read_after_a_write_does_not_cost_the_whole_memtable(make: Make) -> None:
    few, many = pairs_of_append_and_read(make, 500), pairs_of_append_and_read(make, 200_000)
    assert many < 15 * few  # 400 times as many rows


def growth_of_a_busy_window(make: Make) -> float:
    """How many times more its last rows cost than its first ones, of all threads' time."""
    options = {"memtable_max_bytes": 24 * 200, "busy_policy": "flush"}
    with make(maintenance="background", **options) as log:
        costs = []
        for part in range(16):
            rows = [(part * 10_000 + n, n) for n in range(10_000)]
            before = time.process_time()
            log.extend(rows)
            costs.append(time.process_time() - before)
        assert len(log) == 160_000
    return sum(costs[-4:]) / sum(costs[:4])


def test_7_a_busy_window_costs_a_row_no_more_as_it_grows(make: Make) -> None:
    """A guard only: at this size the module we replace grows by half. The benchmark has more."""
    assert min(growth_of_a_busy_window(make) for _ in range(3)) < 2.5


@pytest.mark.ours("keeps a set of the addresses of all objects")
def test_8_distinct_objects_cost_about_what_one_shared_object_costs(make: Make) -> None:
    rows = 100_000
    stamps = array.array("q", range(rows))
    shared = [object()] * rows
    distinct = [object() for _ in range(rows)]

    def write(objects: list[object]) -> None:
        log = make(busy_policy="flush", memtable_max_bytes=1 << 26)
        log.bulk_append(stamps, objects)

    assert quickest(lambda: write(distinct)) < 4 * quickest(lambda: write(shared))


@pytest.mark.parametrize(
    "ask",
    [
        pytest.param("max_ts", marks=pytest.mark.ours("reads all rows to find the last")),
        pytest.param("prev_ts", marks=pytest.mark.ours("reads all rows before to find one")),
        "next_ts",
        "min_ts",
    ],
)
@pytest.mark.parametrize("flushed", [False, True])
def test_9_the_last_time_is_found_without_a_scan(make: Make, ask: str, flushed: bool) -> None:
    def seconds(rows: int) -> float:
        log = make(memtable_max_bytes=1 << 26)
        log.extend(range(rows), range(rows))
        if flushed:
            log.flush()
        asks: dict[str, Callable[[], object]] = {
            "max_ts": log.max_ts,
            "min_ts": log.min_ts,
            "prev_ts": lambda: log.prev_ts(rows - 10),
            "next_ts": lambda: log.next_ts(rows - 10),
        }
        assert asks[ask]() == {"max_ts": rows - 1, "min_ts": 0, "prev_ts": rows - 11}.get(
            ask, rows - 9
        )
        return quickest(asks[ask], number=100)

    assert seconds(200_000) < 15 * seconds(1_000)  # 200 times as many rows


@pytest.mark.ours("takes a hundred bytes a row")
@pytest.mark.parametrize("way", ["extend", "bulk_append"])
def test_10_a_row_takes_few_bytes_beyond_its_object(
    run_alone: Callable[[str], str], way: str
) -> None:
    said = run_alone(
        f"""
        import array, gc
        def resident():
            with open("/proc/self/statm") as pages:
                return int(pages.read().split()[1]) * 4096
        rows = 400_000
        objects = [float(n) for n in range(rows)]
        stamps = array.array("q", range(rows))
        with module.Timelog.for_bulk_ingest() as warm:
            warm.extend(stamps[:1000], objects[:1000])
        gc.collect()
        before = resident()
        log = module.Timelog.for_bulk_ingest()
        log.{way}(stamps, objects)
        log.flush()
        print((resident() - before) / rows)
        """
    )
    assert float(said) < 60


@pytest.mark.ours("is walked ten times as slowly as a list")
def test_11_the_collector_walks_a_log_about_as_fast_as_a_list(make: Make) -> None:
    values = [float(n) for n in range(200_000)]
    gc.collect()
    gc.freeze()  # all but what comes now is out of the way
    try:
        plain = [list(values)]
        beside_a_list = quickest(gc.collect, repeat=5)
        plain.clear()
        log = make(busy_policy="flush", memtable_max_bytes=1 << 26)
        log.extend(range(200_000), values)
        log.flush()
        beside_a_log = quickest(gc.collect, repeat=5)
        log.close()
    finally:
        gc.unfreeze()
    # The millisecond is for what else is in the process.
    assert beside_a_log < 8 * beside_a_list + 0.001


LEAVES_CHUNKS = pytest.mark.ours("leaves the full chunks before the refused row")


@pytest.mark.parametrize(
    "form",
    [
        pytest.param("pairs", marks=LEAVES_CHUNKS),
        pytest.param("tuple", marks=LEAVES_CHUNKS),
        pytest.param("columns", marks=LEAVES_CHUNKS),
        pytest.param("late floor", marks=LEAVES_CHUNKS),
        "checked",
    ],
)
def test_12_a_sized_extend_with_a_row_below_the_floor_stores_nothing(
    make: Make, form: str
) -> None:
    log = make(min_ts=0)
    good = [(n, n) for n in range(3_000)]
    forms: dict[str, Callable[[], object]] = {
        "pairs": lambda: log.extend([*good, (-1, "below")]),
        "tuple": lambda: log.extend((*good, (-1, "below"))),
        "columns": lambda: log.extend([*range(3_000), -1], range(3_001)),
        "checked": lambda: log.extend([*good, (-1, "below")], insert_on_error=False),
        "late floor": lambda: log.extend([*good, (-1, "below"), *good]),
    }
    with pytest.raises(ValueError, match=r"timestamp -1 is below min_ts boundary \(0\)"):
        forms[form]()
    assert len(log) == 0
    log.extend(good)
    assert len(log) == 3_000


@pytest.mark.ours("allocates as many slots as were asked for")
@pytest.mark.parametrize("size", [10**12, 10**18, GREATEST])
def test_13_a_batch_of_any_size_takes_only_what_is_there(log: Any, size: int) -> None:
    log.extend(range(10), range(10))
    entries = log.all()
    assert entries.next_batch(size) == [(n, n) for n in range(10)]
    assert entries.next_batch(size) == []
    assert entries.closed
    log.flush()
    assert log[5:].next_batch(size) == [(n, n) for n in range(5, 10)]


@pytest.mark.ours("can't reach its greatest time by a view or a delete")
def test_14_views_and_deletes_of_all_reach_the_greatest_time(log: Any) -> None:
    log.extend([(LEAST, "first"), (0, "middle"), (GREATEST, "last")])
    spans = list(log.views(kind="logical"))
    assert [stamp for span in spans for stamp in span.timestamps] == [LEAST, 0, GREATEST]
    assert [value for span in spans for value in span.objects()] == ["first", "middle", "last"]
    log.flush()
    del log[1:]
    assert list(log) == [(LEAST, "first"), (0, "middle")]
    log.append(GREATEST, "again")
    del log[:]
    assert list(log) == []
    assert list(log.views(kind="logical")) == []
    log.append(GREATEST, "again")
    log.delete(GREATEST)
    settle(log)
    assert len(log) == 0
    assert log.max_ts() is None

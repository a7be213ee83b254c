"""Following a time log: `log.tail()`, by one entry after the other or with `async for`."""

import asyncio
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import timestrata
from timestrata import Timelog

COMING = [[(10, "a")], [(10, "b")], [(12, "c")], [(11, "late"), (12, "d")]]


def follow(log: Timelog, since: int | None = None, before: int = 0) -> list[tuple[int, object]]:
    """Gather what is there, then ask for each entry before it is appended."""

    async def run() -> list[tuple[int, object]]:
        tail = log.tail(since)
        seen = [await anext(tail) for _ in range(before)]
        for entries in COMING:
            asked = asyncio.ensure_future(anext(tail))
            # Runs behind the first look of the one who asks, which so finds nothing yet.
            asyncio.get_running_loop().call_soon(log.extend, entries)
            seen.append(await asyncio.wait_for(asked, 60))
        return seen

    return asyncio.run(run())


@pytest.fixture(params=[False, True], ids=["memory", "stored"])
def log(request: pytest.FixtureRequest, path: Path) -> Timelog:
    return Timelog(path=path) if request.param else Timelog()


def rest(tail: timestrata.TimelogTail) -> list[tuple[int, object]]:
    """Give what a tail gives by now."""
    seen = []
    while tail._fill(0.0) and (entry := tail._take()) is not None:
        seen.append(entry)
        while (entry := tail._take()) is not None:
            seen.append(entry)
    return seen


def test_what_comes_is_given_in_order_and_once(log: Timelog) -> None:
    log.extend([(1, "old"), (10, "old too")])
    assert follow(log) == [(10, "a"), (10, "b"), (12, "c"), (12, "d")]
    log.close()


def test_a_tail_may_begin_in_the_past(log: Timelog) -> None:
    log.extend([(1, "old"), (5, "old too")])
    assert follow(log, since=5, before=1)[:3] == [(5, "old too"), (10, "a"), (10, "b")]
    log.close()


def test_late_entries_are_given_too_if_wished_in_the_order_in_which_they_came(log: Timelog) -> None:
    log.extend([(5, "old"), (1, "older")])
    now, everything = log.tail(late=True), log.tail(since=0, late=True)
    log.append(3, "late")
    log.extend([(9, "new"), (2, "later")])
    del log[3]
    came = [(3, "late"), (9, "new"), (2, "later")]
    assert rest(now) == came
    assert rest(everything) == [(1, "older"), (5, "old"), *came]
    assert rest(now) == rest(everything) == []
    log.close()


def test_many_entries_come_in_parts_and_each_once(log: Timelog) -> None:
    tails = [log.tail(since=0), log.tail(late=True), log.tail()]
    pairs = [(number // 3, number) for number in range(10_000)]
    log.extend(pairs)
    for tail in tails:
        assert rest(tail) == pairs
    log.close()


def test_entries_that_come_where_others_were_deleted_are_given_also_equal_ones(log: Timelog) -> None:
    # As many as had been given before at that time were left out, and then those that were equal to them.
    log.extend([(10, f"old {i}") for i in range(3)])
    tail = log.tail(0)
    assert len(rest(tail)) == 3
    del log[:]
    new = [(10, "old 0"), (10, "old 1"), (10, "new")]
    log.extend(new)
    assert rest(tail) == new
    log.append(10, "newer")
    assert rest(tail) == [(10, "newer")]
    log.close()


def test_a_tail_goes_on_behind_a_place_that_another_has_told(log: Timelog) -> None:
    tail = log.tail()
    assert isinstance(tail.cursor, str)
    log.extend([(1, "a"), (1, "b"), (1, "c"), (2, "d")])
    places = []
    for entry in rest(tail):
        places.append(entry)
        other = log.tail(after=tail.cursor)
        assert rest(other) == []
    tail = log.tail(since=0)
    for row, wanted in enumerate([(1, "a"), (1, "b"), (1, "c"), (2, "d")]):
        assert next(tail) == wanted
        left = [(1, "a"), (1, "b"), (1, "c"), (2, "d")][row + 1 :]
        assert rest(log.tail(after=tail.cursor)) == left
    log.close()


def test_who_waits_in_a_thread_is_woken_and_ends_with_the_log(log: Timelog) -> None:
    tail, seen = log.tail(), []
    thread = threading.Thread(target=lambda: seen.extend(tail))
    thread.start()
    for number in range(100):
        log.append(number, number)
    while len(seen) < 100:
        assert thread.is_alive()
        thread.join(0.01)
    log.close()
    thread.join(60)
    assert not thread.is_alive() and seen == [(number, number) for number in range(100)]


def test_a_tail_ends_when_the_log_is_closed(log: Timelog) -> None:
    async def run() -> list[tuple[int, object]]:
        log.append(1, "a")
        tail = log.tail(0)
        seen = [await anext(tail)]
        log.close()
        seen.extend([entry async for entry in tail])
        return seen

    assert asyncio.run(run()) == [(1, "a")]


WRITER = """
import sys, timestrata
store = timestrata.open(sys.argv[1])
door = store.timelog("door")
for line in sys.stdin:
    time, value = line.split()
    door.append(int(time), value)
    print("written", flush=True)
store.close()
"""


def test_what_another_process_writes_is_followed(path: Path) -> None:
    with timestrata.open(path) as store:
        store.timelog("door").append(5, "old")
    command = [sys.executable, "-c", WRITER, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdin is not None and writer.stdout is not None

        def write(line: str) -> None:
            print(line, file=writer.stdin, flush=True)
            assert writer.stdout.readline() == "written\n"

        write("6 first")
        with timestrata.open(path, mode="r") as reader:
            door = reader.timelog("door")
            tail, late = door.tail(), door.tail(late=True)
            write("7 a")
            write("1 late")
            write("8 b")
            assert [next(tail), next(tail)] == [(7, "a"), (8, "b")]
            assert [next(late) for _ in range(3)] == [(7, "a"), (1, "late"), (8, "b")]
        writer.stdin.close()
        assert writer.wait() == 0


def test_a_tail_by_name_goes_on_where_it_has_saved(path: Path) -> None:
    with timestrata.open(path) as store:
        door = store.timelog("door")
        door.extend([(1, "a"), (2, "b")])
        # What is there at first is given again until all of it was.
        tail = door.tail(0, late=True, name="index")
        assert next(tail) == (1, "a")
        tail.save()
        tail = door.tail(0, late=True, name="index")
        assert rest(tail) == [(1, "a"), (2, "b")]
        tail.save()
        door.append(0, "late")
        door.extend([(7, "c"), (8, "d")])
    with timestrata.open(path) as store:
        door = store.timelog("door")
        assert list(store.followers()) == ["index"]
        tail = door.tail(late=True, name="index")
        assert next(tail) == (0, "late")
        tail.save()
        assert next(tail) == (7, "c")
        tail.save()  # of a commit that was given in part all is given again
        assert rest(door.tail(late=True, name="index")) == [(7, "c"), (8, "d")]
        store.remove_follower("index")


def test_what_is_not_kept_any_more_is_said(path: Path) -> None:
    with timestrata.open(path, history_min=0) as store:
        door = store.timelog("door", codec="bytes")
        door.append(1, b"a")
        tail = door.tail(since=0)
        assert next(tail) == (1, b"a")
        door.extend([(number, bytes(100)) for number in range(2, 1_000)])
        store.flush()
        door.compact()
        with pytest.raises(timestrata.HistoryLostError):
            door.tail(after="c.1.0", late=True)
        # By time a place never grows too old.
        assert len(rest(door.tail(after=tail.cursor))) == 998


def test_late_entries_that_nobody_reads_are_bounded_in_memory() -> None:
    log = Timelog()
    tail = log.tail(late=True)
    log.extend(range(2**20 + 1), [None] * (2**20 + 1))
    with pytest.raises(timestrata.HistoryLostError, match="begin a new tail"):
        rest(tail)
    assert rest(log.tail(since=2**20, late=True)) == [(2**20, None)]


def test_a_value_that_can_not_be_read_is_passed_by_who_goes_on(path: Path) -> None:
    class Odd:
        pass

    timestrata.register_type(
        Odd, "tests.Odd of tails", to_plain=lambda odd: 1, of_plain=lambda plain: 1 / 0
    )
    with timestrata.open(path) as store:
        door = store.timelog("door")
        tail = door.tail()
        door.extend([(1, "a"), (2, Odd()), (3, "b")])
        assert next(tail) == (1, "a")
        with pytest.raises(timestrata.InvalidDataError) as raised:
            next(tail)
        assert "timestamp 2" in "".join(raised.value.__notes__)
        assert next(tail) == (3, "b")


def test_what_makes_no_sense_is_refused(path: Path) -> None:
    memory = Timelog()
    with timestrata.open(path) as store:
        door = store.timelog("door")
        for log in (memory, door):
            with pytest.raises(ValueError, match="interval"):
                log.tail(interval=0)
            with pytest.raises(timestrata.InvalidArgumentError, match="not both"):
                log.tail(1, after="t.1.1.0")
            with pytest.raises(timestrata.InvalidArgumentError, match="no place of a tail"):
                log.tail(after="first")
            with pytest.raises(timestrata.InvalidArgumentError, match="late=True"):
                log.tail(name="index")
            with pytest.raises(timestrata.InvalidArgumentError, match="leave out"):
                log.tail(after="c.1.0", late=True, name="index")
            with pytest.raises(timestrata.InvalidArgumentError):
                log.tail(after="t.1.1.0", late=True)
            with pytest.raises(timestrata.InvalidArgumentError, match="with a name"):
                log.tail().save()
        with pytest.raises(timestrata.InvalidArgumentError, match="keeps no places"):
            memory.tail(late=True, name="index")
        door.close()
    with pytest.raises(timestrata.TimelogError), timestrata.open() as store:
        closed = store.timelog("door")
        closed.close()
        closed.tail()


def test_a_dropped_log_is_named(path: Path) -> None:
    with timestrata.open(path) as store:
        tails = [store.timelog("door").tail(), store.timelog("door").tail(late=True)]
        store.drop("door")
        for tail in tails:
            with pytest.raises(timestrata.NotFoundError, match="door"):
                next(tail)

"""`async for` over a log that grows."""

import asyncio
from pathlib import Path

import pytest

import timestrata
from timestrata import Timelog


COMING = [[(10, "a")], [(10, "b")], [(12, "c")], [(11, "late"), (12, "d")]]


def follow(log: Timelog, since: int | None = None, before: int = 0) -> list[tuple[int, object]]:
    """Gather what is there, then ask for each entry before it is appended."""

    async def run() -> list[tuple[int, object]]:
        tail = log.tail(since, interval=0.001)
        seen = [await anext(tail) for _ in range(before)]
        for entries in COMING:
            asked = asyncio.ensure_future(anext(tail))
            # Runs behind the first look of the one who asks, which so finds nothing yet.
            asyncio.get_running_loop().call_soon(log.extend, entries)
            seen.append(await asyncio.wait_for(asked, 10))
        return seen

    return asyncio.run(run())


@pytest.mark.parametrize("durable", [False, True])
def test_what_comes_is_given_in_order_and_once(durable: bool, path: Path) -> None:
    log = Timelog(path=path) if durable else Timelog()
    log.extend([(1, "old"), (10, "old too")])
    assert follow(log) == [(10, "a"), (10, "b"), (12, "c"), (12, "d")]
    log.close()


def test_a_tail_may_begin_in_the_past() -> None:
    log = Timelog()
    log.extend([(1, "old"), (5, "old too")])
    assert follow(log, since=5, before=1)[:3] == [(5, "old too"), (10, "a"), (10, "b")]


@pytest.mark.parametrize("durable", [False, True])
def test_entries_that_come_where_others_were_deleted_are_given(durable: bool, path: Path) -> None:
    # As many as had been given before at that time were left out.
    log = Timelog(path=path) if durable else Timelog()
    log.extend([(10, f"old {i}") for i in range(3)])

    async def run() -> list[object]:
        tail = log.tail(0, interval=0.001)
        old = [await anext(tail) for _ in range(3)]
        del log[:]
        log.extend([(10, f"new {i}") for i in range(5)])
        new = [await asyncio.wait_for(anext(tail), 10) for _ in range(5)]
        log.append(10, "newer")
        return [*old, *new, await asyncio.wait_for(anext(tail), 10)]

    wanted = [f"old {i}" for i in range(3)] + [f"new {i}" for i in range(5)] + ["newer"]
    assert asyncio.run(run()) == [(10, value) for value in wanted]
    log.close()


def test_a_tail_ends_when_the_log_is_closed() -> None:
    async def run() -> list[tuple[int, object]]:
        log = Timelog()
        log.append(1, "a")
        tail = log.tail(0, interval=0.001)
        seen = [await anext(tail)]
        log.close()
        seen.extend([entry async for entry in tail])
        return seen

    assert asyncio.run(run()) == [(1, "a")]


def test_an_interval_is_positive() -> None:
    with pytest.raises(ValueError, match="interval"):
        timestrata.Timelog().tail(interval=0)

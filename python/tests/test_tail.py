"""`async for` over a log that grows."""

import asyncio
from pathlib import Path

import pytest

import timestrata
from timestrata import Timelog


def follow(log: Timelog, wanted: int, since: int | None = None) -> list[tuple[int, object]]:
    """Gather entries while another task appends."""

    async def run() -> list[tuple[int, object]]:
        tail = log.tail(since, interval=0.001)

        async def write() -> None:
            for time, value in [(10, "a"), (10, "b"), (12, "c"), (11, "late"), (12, "d")]:
                log.append(time, value)
                await asyncio.sleep(0.01)

        writing = asyncio.ensure_future(write())
        seen = [await asyncio.wait_for(anext(tail), 10) for _ in range(wanted)]
        await writing
        return seen

    return asyncio.run(run())


@pytest.mark.parametrize("durable", [False, True])
def test_what_comes_is_given_in_order_and_once(durable: bool, path: Path) -> None:
    log = Timelog(path=path) if durable else Timelog()
    log.extend([(1, "old"), (10, "old too")])
    assert follow(log, 4) == [(10, "a"), (10, "b"), (12, "c"), (12, "d")]
    log.close()


def test_a_tail_may_begin_in_the_past() -> None:
    log = Timelog()
    log.extend([(1, "old"), (5, "old too")])
    assert follow(log, 3, since=5) == [(5, "old too"), (10, "a"), (10, "b")]


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

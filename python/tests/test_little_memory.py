"""Memory that runs out in the middle of a write: an error or the end of the process, and nothing acknowledged is lost."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import timestrata

ChildOf = Callable[..., Any]
pytest.importorskip("pyarrow")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the address space is limited as Linux does it")

# Rows come in an order that has to be mended, so that a copy of all of them is needed.
WRITES_MUCH = """
    import resource, sys
    from pathlib import Path

    import pyarrow as pa
    import timestrata

    path, spare_mib = sys.argv[1], int(sys.argv[2])
    ROWS, TEXT = 20_000, "x" * 5_000
    times = pa.array(range(ROWS, 0, -1), pa.timestamp("ms", "UTC"))
    much = pa.record_batch({"at": times, "text": pa.array([TEXT] * ROWS)})
    store = timestrata.open(path)
    table = store.table("rows", time="at", schema={"at": "timestamp[ms, tz=UTC]", "text": "string"})
    for at in range(100):
        table.append([{"at": at, "text": "little"}])
        print("kept", 1, flush=True)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + (spare_mib << 20)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    try:
        table.append(much)
        print("kept", ROWS, flush=True)
    except MemoryError as error:
        print("refused", type(error).__name__, flush=True)
    table.append([{"at": 200, "text": "little"}])
    print("kept", 1, flush=True)
    store.close()
    print("closed", flush=True)
"""
ROWS = 20_000


def run(child: ChildOf, path: Path, spare_mib: int) -> tuple[list[list[str]], int, str]:
    process = child(WRITES_MUCH, path, spare_mib)
    out, errors = process.communicate(timeout=300)
    return [line.split() for line in out.splitlines()], process.returncode, errors


def found(path: Path) -> int:
    with timestrata.open(path) as store:
        assert store.check().is_sound
        return store.table("rows").count()


def test_a_write_for_which_there_is_no_memory_is_refused_and_the_next_is_made(path: Path, child: ChildOf) -> None:
    # Less than the copy takes, and enough for all else.
    lines, status, errors = run(child, path, 80)
    assert (status, errors) == (0, "")
    assert ["refused", "OutOfMemoryError"] in lines
    assert lines[-1] == ["closed"]
    assert found(path) == 101


@pytest.mark.parametrize("spare_mib", [1, 4, 16, 40, 160, 400])
def test_whatever_memory_there_is_all_that_was_acknowledged_is_found(path: Path, child: ChildOf, spare_mib: int) -> None:
    lines, status, errors = run(child, path, spare_mib)
    kept = sum(int(line[1]) for line in lines if line[0] == "kept")
    assert lines[-1] == ["closed"] or status != 0, errors
    # What ended the process may have been behind the commit and before its acknowledgement.
    assert found(path) in {kept, kept + 1, kept + ROWS}, (lines[-3:], status, errors)

"""File objects are taken in whole, whatever pieces they come in, and survive what `sync` says."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
import timestrata

HEAD = b"time,v\n"


def csv(rows: int) -> bytes:
    return HEAD + b"".join(b"%d,%d\n" % (1_700_000_000_000 + row, row) for row in range(rows))


class Pieces:
    """A file object that gives what it has in pieces of so many bytes, whatever is asked for."""

    def __init__(self, content: bytes, size: int, fails_at: int | None = None) -> None:
        self.left, self.size, self.fails_at = content, size, fails_at
        self.reads = 0

    def read(self, _size: int, /) -> bytes:
        self.reads += 1
        if self.reads == self.fails_at:
            raise OSError("the cable was pulled")
        given, self.left = self.left[: self.size], self.left[self.size :]
        return given


# Shorter than what one thread takes in, longer than that, and longer than what is asked for at once.
@pytest.mark.parametrize("rows", [1, 10, 2_000, 20_000, 80_000])
@pytest.mark.parametrize("size", [7, 4_096, 60_000, 1 << 20, 1 << 30])
def test_an_object_is_one_commit_whatever_pieces_it_gives(rows: int, size: int) -> None:
    content = csv(rows)
    if len(content) // size > 5_000:
        size = len(content) // 5_000
    with timestrata.open() as store:
        taken = store.table("t", time="time").ingest(Pieces(content, size), "csv")
        assert taken == {"rows": rows, "skipped": 0, "errors": []}
        (found,) = store.sql("SELECT count(*) AS n, sum(v) AS s FROM t")
        assert (found["n"], found["s"]) == (rows, rows * (rows - 1) // 2)


# The first read, the one behind a small piece, and a later one.
@pytest.mark.parametrize("fails_at", [1, 2, 3])
@pytest.mark.parametrize("size", [20, 70_000])
def test_of_an_object_that_fails_nothing_is_kept(fails_at: int, size: int) -> None:
    with timestrata.open() as store:
        table = store.table("t", time="time")
        with pytest.raises(OSError, match="the cable was pulled"):
            table.ingest(Pieces(csv(20_000), size, fails_at), "csv")
        assert store.tables() == []
        table.ingest(io.BytesIO(csv(3)), "csv")
        assert len(table) == 3


def test_an_object_without_bytes_says_that_it_is_empty_or_no_file() -> None:
    table = timestrata.open().table("t", time="time")
    with pytest.raises(timestrata.TimestrataError):
        table.ingest(io.BytesIO(b""), "csv")
    with pytest.raises(TypeError, match="open the file as 'rb'"):
        table.ingest(io.StringIO("time,v\n1,2\n"), "csv")  # type: ignore[arg-type]


@pytest.mark.parametrize("sync", [True, False])
def test_a_file_that_is_taken_in_without_sync_is_not_synced(tmp_path: Path, sync: bool) -> None:
    with timestrata.open(tmp_path / "s", sync_interval=3600) as store:
        table = store.table("t", time="time")
        table.ingest(io.BytesIO(csv(10)), "csv", sync=sync)
        told = store.stats()
        assert (told["synced_seq"] == told["last_seq"]) is sync
        path = tmp_path / "more.csv"
        path.write_bytes(csv(10))
        table.ingest(path, sync=sync)
        told = store.stats()
        assert (told["synced_seq"] == told["last_seq"]) is sync
    with timestrata.open(tmp_path / "s") as store:
        assert len(store.table("t")) == 20

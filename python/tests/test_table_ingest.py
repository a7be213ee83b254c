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
        assert taken == {"rows": rows, "skipped": 0, "errors": [], "notes": {}}
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


def test_options_of_reading_say_how_a_file_is_written(tmp_path: Path) -> None:
    file = tmp_path / "meter.csv"
    file.write_bytes("Meter 2\nday;v;note\n% pause\n31.01.24;1,5;'a;\xfc'\n01.02.24;-\n".encode("cp1252"))
    with timestrata.open() as store:
        table = store.table("t", time="day")
        done = table.ingest(
            file, skip_lines=1, comment="%", delimiter=";", quote="'", decimal=",", null_text=["-"],
            fill_short_rows=True, encoding="cp1252", time_format="%d.%m.%y",
        )
        assert done["rows"] == 2
        first, second = table.scan()
        assert (first["day"].day, first["v"], first["note"]) == (31, 1.5, "a;\xfc")
        assert (second["day"].month, second["v"], second["note"]) == (2, None, None)


def test_a_refusal_names_the_keyword_that_helps_and_that_keyword_helps(tmp_path: Path) -> None:
    cases: list[tuple[bytes, str, dict[str, object]]] = [
        (b"a\n1\n", "time_of_load=True", {"time_of_load": True}),
        (b"day\n1/2/2024\n3/4/2024\n", "time_format='%m/%d/%Y'", {"time_format": "%m/%d/%Y"}),
        (b"time,a,b\n2024-01-01,1\n", "fill_short_rows=True", {"fill_short_rows": True}),
        (b"time,a\n2024-01-01,\xfc\n", "encoding='windows-1252'", {"encoding": "cp1252"}),
    ]
    file = tmp_path / "in.csv"
    for content, told, helps in cases:
        file.write_bytes(content)
        with timestrata.open() as store:
            with pytest.raises(timestrata.TimestrataError) as refused:
                store.table("t").ingest(file)
            assert told in str(refused.value)
            assert store.tables() == []
            assert store.table("t").ingest(file, **helps)["rows"] >= 1  # type: ignore[arg-type]
    # How long something took is no time unless that is said.
    with timestrata.open() as store:
        file.write_bytes(b"time,status\n306,2\n")
        with pytest.raises(timestrata.InvalidDataError, match="from 306|306, which are no times"):
            store.table("lung").ingest(file)
        store.table("lung", time="time").ingest(file, time_unit="s")
        assert len(store.table("lung")) == 1


def test_an_object_is_begun_anew_only_if_it_is_taken_into_memory() -> None:
    content = csv(25_000) + b"1700000000000,nil\n"
    with timestrata.open() as store:
        with pytest.raises(timestrata.InvalidDataError, match="sample_rows='all'"):
            store.table("t").ingest(io.BytesIO(content), "csv")
        assert store.tables() == []
        assert store.table("t").ingest(io.BytesIO(content), "csv", sample_rows="all")["rows"] == 25_001
        assert store.table("t").types["v"] == "Utf8"


def test_a_dry_run_tells_what_would_be_made_and_makes_nothing() -> None:
    with timestrata.open() as store:
        told = store.table("t").ingest(io.BytesIO(b"day;v\n31.01.2024;1,5\n01.02.2024;2\n"), "csv", dry_run=True)
        assert (told["rows"], told["time"], told["delimiter"], told["refusal"]) == (2, "day", ";", None)
        assert [(column["name"], column["note"]) for column in told["columns"]] == [
            ("day", "day before month"), ("v", "decimal comma"),
        ]
        assert store.tables() == []
        told = store.table("t").ingest(io.BytesIO(b"a\n1\n"), "csv", dry_run=True)
        assert "time_of_load=True" in told["refusal"]


def test_options_that_mean_nothing_are_refused() -> None:
    with timestrata.open() as store:
        for name, value in [
            ("delimiter", "a\nb"), ("thousands", "."), ("quote", "ab"), ("comment", ""), ("decimal", "x"), ("encoding", "klingon"),
            ("sample_rows", 0), ("sample_rows", "some"), ("time_unit", "h"), ("time_format", "yyyy"),
            ("time_format", "%d.%m."), ("time_format", "%F %T %Z"),
        ]:
            with pytest.raises(timestrata.InvalidArgumentError):
                store.table("t").ingest(io.BytesIO(b"time\n1\n"), "csv", **{name: value})  # type: ignore[arg-type]


def test_what_was_told_apart_is_told_and_thousands_are_what_is_said() -> None:
    with timestrata.open() as store:
        text = "time||n||x\n31.05.2024||1,234||1,000.5\n01.06.2024||7||2\n"
        plain = store.table("plain").ingest(io.BytesIO(text.encode()), "csv")
        assert plain["notes"] == {"time": "day before month"}
        told = store.table("t").ingest(
            io.BytesIO(text.encode()), "csv", delimiter="||", thousands=","
        )
        assert told["notes"]["n"] == "',' between thousands"
        assert [(row["n"], row["x"]) for row in store.table("t").scan()] == [(1234, 1000.5), (7, 2.0)]
        with pytest.raises(timestrata.InvalidArgumentError, match="one character"):
            store.table("u").ingest(io.BytesIO(b"time\n"), "csv", thousands="ab")
        with pytest.raises(timestrata.InvalidArgumentError, match="eight bytes"):
            store.table("u").ingest(io.BytesIO(b"time\n"), "csv", delimiter="much too long")

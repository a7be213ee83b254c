"""Embedded stores that keep rows by time on a disk, behind one face.

Each with the fastest settings that still keep an acknowledged row when the process is killed,
as `Written` does: SQLite with its log and `NORMAL`, RocksDB with its log, LMDB mapped
writable; none waits for the disk. Values are CBOR everywhere.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from struct import Struct
from typing import Any, Protocol, cast

import cbor2
import lmdb
from rocksdict import Options, Rdict, WriteBatch

# Time, with its sign turned so that bytes sort as it does, and a number that keeps equal
# times apart.
KEY = Struct(">QQ")
SIGN = 1 << 63
LMDB_BYTES_MAX = 8 << 30

Pair = tuple[int, Any]


class Store(Protocol):
    """What is measured."""

    def append(self, ts: int, value: Any, /) -> Any: ...
    def extend(self, pairs: Iterable[Pair], /) -> Any: ...
    def __iter__(self) -> Iterator[Pair]: ...
    def close(self) -> None: ...


class Sqlite:
    """A table in a tree by time."""

    label = f"SQLite {sqlite3.sqlite_version}"

    def __init__(self, path: Path) -> None:
        self._rows = 0
        self._db = sqlite3.connect(path / "log.sqlite", isolation_level=None)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")
        self._db.execute(
            "CREATE TABLE log (ts INTEGER NOT NULL, row INTEGER NOT NULL, value BLOB NOT NULL,"
            " PRIMARY KEY (ts, row)) WITHOUT ROWID"
        )

    def append(self, ts: int, value: Any) -> None:
        self._rows += 1
        self._db.execute("INSERT INTO log VALUES (?, ?, ?)", (ts, self._rows, cbor2.dumps(value)))

    def extend(self, pairs: Iterable[Pair]) -> None:
        rows = [
            (ts, row, cbor2.dumps(value)) for row, (ts, value) in enumerate(pairs, self._rows + 1)
        ]
        self._db.execute("BEGIN")
        self._db.executemany("INSERT INTO log VALUES (?, ?, ?)", rows)
        self._db.execute("COMMIT")
        self._rows += len(rows)

    def __iter__(self) -> Iterator[Pair]:
        for ts, value in self._db.execute("SELECT ts, value FROM log ORDER BY ts, row"):
            yield ts, cbor2.loads(value)

    def close(self) -> None:
        self._db.close()


class Rocks:
    """RocksDB through `rocksdict`, with keys and values as bytes."""

    label = "RocksDB (rocksdict)"

    def __init__(self, path: Path) -> None:
        self._rows = 0
        self._db = Rdict(str(path / "rocks"), Options(raw_mode=True))

    def append(self, ts: int, value: Any) -> None:
        self._rows += 1
        self._db[KEY.pack(ts + SIGN, self._rows)] = cbor2.dumps(value)

    def extend(self, pairs: Iterable[Pair]) -> None:
        batch = WriteBatch(raw_mode=True)
        for ts, value in pairs:
            self._rows += 1
            batch[KEY.pack(ts + SIGN, self._rows)] = cbor2.dumps(value)
        self._db.write(batch)

    def __iter__(self) -> Iterator[Pair]:
        for key, value in self._db.items():
            ts, _ = KEY.unpack(cast(bytes, key))
            yield ts - SIGN, cbor2.loads(cast(bytes, value))

    def close(self) -> None:
        self._db.close()


class Lmdb:
    """LMDB through `lmdb`."""

    label = f"LMDB {'.'.join(map(str, lmdb.version()))}"

    def __init__(self, path: Path) -> None:
        self._rows = 0
        self._db = lmdb.open(
            str(path / "lmdb"), map_size=LMDB_BYTES_MAX, sync=False, metasync=False, writemap=True
        )

    def append(self, ts: int, value: Any) -> None:
        self._rows += 1
        with self._db.begin(write=True) as txn:
            txn.put(KEY.pack(ts + SIGN, self._rows), cbor2.dumps(value))

    def extend(self, pairs: Iterable[Pair]) -> None:
        items = [
            (KEY.pack(ts + SIGN, row), cbor2.dumps(value))
            for row, (ts, value) in enumerate(pairs, self._rows + 1)
        ]
        with self._db.begin(write=True) as txn:
            txn.cursor().putmulti(items)
        self._rows += len(items)

    def __iter__(self) -> Iterator[Pair]:
        with self._db.begin() as txn:
            for key, value in txn.cursor():
                yield KEY.unpack(key)[0] - SIGN, cbor2.loads(value)

    def close(self) -> None:
        self._db.close()


OTHERS: tuple[type[Sqlite] | type[Rocks] | type[Lmdb], ...] = (Sqlite, Rocks, Lmdb)

"""The two sides of every comparison, behind the one face that both have.

A benchmark names only methods of `Log`: what the peer offers and the drop-in must.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

PEER_MODULE = "timelog"
PEER_VERSION = "1.4.0"


class Rows(Iterator[tuple[int, Any]], Protocol):
    """An iterator over rows."""

    def next_batch(self, n: int, /) -> list[tuple[int, Any]]: ...
    def close(self) -> None: ...
    def __enter__(self) -> Rows: ...
    def __exit__(self, *error: object) -> Any: ...


class Span(Protocol):
    """A piece of a log's storage."""

    @property
    def timestamps(self) -> memoryview: ...
    def objects(self) -> Iterable[Any]: ...
    def close(self) -> None: ...
    def __len__(self) -> int: ...


class Log(Protocol):
    """What is measured."""

    def append(self, ts: int, obj: Any, /) -> None: ...
    def extend(self, pairs: Any, objects: Any = ..., /) -> None: ...
    def bulk_append(self, timestamps: Any, objects: Sequence[Any], /) -> None: ...
    def at(self, ts: int, /) -> list[Any]: ...
    def range(self, t1: int, t2: int, /) -> Rows: ...
    def delete_range(self, t1: int, t2: int, /) -> None: ...
    def delete_before(self, t: int, /) -> None: ...
    def page_spans(self, t1: int, t2: int, /) -> Iterator[Span]: ...
    def max_ts(self) -> int | None: ...
    def prev_ts(self, t: int, /) -> int | None: ...
    def to_numpy(self) -> tuple[Any, Any]: ...
    def flush(self) -> None: ...
    def compact(self) -> None: ...
    def maint_step(self) -> bool: ...
    def start_maintenance(self) -> None: ...
    def stop_maintenance(self) -> None: ...
    def stats(self) -> dict[str, dict[str, Any]]: ...
    def close(self) -> None: ...
    def __getitem__(self, key: Any, /) -> Any: ...
    def __iter__(self) -> Rows: ...
    def __len__(self) -> int: ...


@dataclass(frozen=True)
class Side:
    """One of the two: its module's name, what the report calls it, and its class."""

    module: str
    label: str
    factory: Any

    @property
    def is_durable(self) -> bool:
        """Whether its logs can be kept on a disk."""
        return self.module != PEER_MODULE

    def open(self, **settings: Any) -> Log:
        """An empty log in memory; unless told otherwise, it tidies up in `flush` alone.

        So both do the same work at the same moment, and no other thread is measured.
        """
        usual = {"time_unit": "ns", "maintenance": "disabled", "busy_policy": "flush"}
        log: Log = self.factory(**{**usual, **settings})
        return log

    def open_for_bulk(self) -> Log:
        """The preset with a memtable of 16 MiB."""
        log: Log = self.factory.for_bulk_ingest(time_unit="ns")
        return log

    def open_at(self, path: Path) -> Log:
        """A log that is kept in a directory, its values as CBOR."""
        log: Log = self.factory(path=path, codec="cbor", time_unit="ns")
        return log


def side(module: str) -> Side:
    """Imports one side and tries it."""
    found = importlib.import_module(module)
    label = {PEER_MODULE: "timelog-lib"}.get(module, module)
    made = Side(module, f"{label} {found.__version__}", found.Timelog)
    if module == PEER_MODULE and found.__version__ != PEER_VERSION:
        raise ImportError(f"timelog-lib is {found.__version__}, not {PEER_VERSION}")
    made.open().close()
    return made


def settle(log: Log) -> None:
    """Brings everything into compacted storage; for logs without maintenance of their own."""
    log.flush()
    log.compact()
    while log.maint_step():
        pass

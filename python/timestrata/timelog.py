"""Time logs: what a program that says ``from timelog import Timelog`` imports instead.

Examples
--------
>>> from timestrata.timelog import Timelog
>>> log = Timelog(time_unit="s")
>>> log.append(1, {"state": "open"})
>>> log[1]
[{'state': 'open'}]
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from timestrata._timestrata import (
    PageSpan,
    PageSpanIter,
    PageSpanObjectsView,
    Timelog,
    TimelogIter,
    __version__,
)
from timestrata.errors import TimelogBusyError, TimelogError

#: One entry: its timestamp and its object.
Record: TypeAlias = tuple[int, object]
#: Entries, one after the other.
RecordIter: TypeAlias = Iterator[Record]
#: Entries at once.
RecordBatch: TypeAlias = list[Record]

__all__ = [
    "PageSpan",
    "PageSpanIter",
    "PageSpanObjectsView",
    "Record",
    "RecordBatch",
    "RecordIter",
    "Timelog",
    "TimelogBusyError",
    "TimelogError",
    "TimelogIter",
    "__version__",
]

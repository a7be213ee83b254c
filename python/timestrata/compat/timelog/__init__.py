"""What the module ``timelog`` (PyPI ``timelog-lib`` 1.4) offers, with the same names and ways.

Programs that say ``from timelog import Timelog`` say ``from timestrata.compat.timelog import Timelog``
instead, or call `install_as_timelog` once before they import it. The class takes what that module's takes
and refuses what it refuses: times are whole numbers, ``reversed`` is an error. `timestrata.Timelog`, which it is
a subclass of, takes more.

Examples
--------
>>> from timestrata.compat.timelog import Timelog
>>> log = Timelog(time_unit="s")
>>> log[1] = {"state": "open"}
>>> log
<Timelog len~1 time_unit='s' [1..1]>
>>> log.to_dict()
{1: {'state': 'open'}}
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import metadata as _importlib_metadata
from itertools import islice as _islice
from typing import Any, TypeAlias

from timestrata._timestrata import __version__ as _own_version
from timestrata.compat.timelog import _api, _timelog
from timestrata.compat.timelog._api import TL_TS_MAX, TL_TS_MIN, _coerce_ts, _slice_to_iter
from timestrata.compat.timelog._timelog import (
    PageSpan,
    PageSpanIter,
    PageSpanObjectsView,
    TimelogBusyError,
    TimelogError,
    TimelogIter,
)
from timestrata.compat.timelog._timelog import Timelog as _CTimelog

#: Rows that an export takes at once. Other threads run in between.
_EXPORT_CHUNK = 65_536
# Where neither is as it was, somebody watches how exports take rows.
_NATIVE_CHUNK, _NATIVE_ISLICE = _EXPORT_CHUNK, _islice

#: One entry: its timestamp and its object.
Record: TypeAlias = tuple[int, object]
#: Entries, one after the other.
RecordIter: TypeAlias = Iterator[Record]
#: Entries at once.
RecordBatch: TypeAlias = list[Record]


def _resolve_local_version() -> str | None:
    """The version of a source tree of that module: this is none."""
    return None


def _resolve_version() -> str:
    """The version of the module that this stands in for, where it is installed too; else our own."""
    local = _resolve_local_version()
    if local is not None:
        return local
    for name in ("timelog-lib", "timelog"):
        try:
            return _importlib_metadata.version(name)
        except _importlib_metadata.PackageNotFoundError:
            continue
    return _own_version


__version__ = _own_version


class Timelog(_CTimelog):
    """Python objects by timestamp, as the module ``timelog`` has them.

    Its keywords, methods, properties and errors are that module's; with ``path=`` a store keeps the log,
    as `timestrata.Timelog` says.

    Examples
    --------
    >>> from timestrata.compat.timelog import Timelog
    >>> with Timelog() as log:
    ...     log.extend([(2, "b"), (1, "a")])
    ...     list(log[:2]), log.min_ts_floor
    ([(1, 'a')], None)
    """

    __slots__ = ()

    @property
    def _min_ts(self) -> int | None:
        return _CTimelog._min_ts_floor(self)

    @property
    def _extend_skipped(self) -> int:
        return self.extend_skipped

    @property
    def _mostly_ordered_default(self) -> bool:
        return bool(self.stats()["config"]["mostly_ordered_default"])

    def __repr__(self) -> str:
        name = type(self).__name__
        try:
            if self.closed:
                return f"<{name} closed>"
            storage = self.stats()["storage"]
            first, last = storage["min_ts"], storage["max_ts"]
            span = "" if first is None else f" [{first}..{last}]"
            return f"<{name} len~{storage['records_estimate']} time_unit={self.time_unit!r}{span}>"
        except Exception:
            # One that was never initialised, or that is being closed: to be shown is no reason to fail.
            return object.__repr__(self)

    def to_dict(self, t1: Any = None, t2: Any = None) -> dict[int, Any]:
        """Give ``{timestamp: object}``; of several objects at one timestamp, the last."""
        if _is_native():
            return super().to_dict(t1, t2)
        _check_chunk()
        given: dict[int, Any] = {}
        with _slice_to_iter(self, slice(t1, t2)) as entries:
            while len(entries):
                given.update(_islice(entries, _EXPORT_CHUNK))
        return given

    def to_numpy(self, t1: Any = None, t2: Any = None, *, dtype: Any = None) -> tuple[Any, Any]:
        """Give two numpy arrays: timestamps as int64, and values as numbers, float64 unless asked otherwise."""
        if _is_native():
            return super().to_numpy(t1, t2, dtype=dtype)
        import numpy

        _check_chunk()
        kind = numpy.dtype("float64" if dtype is None else dtype)
        if kind.kind not in "iuf":
            raise TypeError(f"to_numpy() takes a numeric dtype, not '{kind}'")
        with _slice_to_iter(self, slice(t1, t2)) as entries:
            rows = len(entries)
            times, values = numpy.empty(rows, "int64"), numpy.empty(rows, kind)
            try:
                for start in range(0, rows, _EXPORT_CHUNK):
                    stop = min(start + _EXPORT_CHUNK, rows)
                    pairs = _islice(entries, stop - start)
                    chunk = numpy.fromiter(pairs, [("time", "int64"), ("value", kind)], stop - start)
                    times[start:stop], values[start:stop] = chunk["time"], chunk["value"]
            except Exception as error:
                error.add_note(f"to_numpy(): raised at row {rows - len(entries) - 1} of {rows}")
                raise
        return times, values


def _is_native() -> bool:
    return _EXPORT_CHUNK == _NATIVE_CHUNK and _islice is _NATIVE_ISLICE


def _check_chunk() -> None:
    if _EXPORT_CHUNK < 1:
        raise ValueError(f"_EXPORT_CHUNK must be >= 1, not {_EXPORT_CHUNK}")


def install_as_timelog() -> None:
    """Have ``import timelog`` give this module from now on, for programs that can't be changed.

    Raises
    ------
    ImportError
        The module ``timelog`` itself has been imported already.

    Examples
    --------
    >>> from timestrata.compat.timelog import install_as_timelog
    >>> install_as_timelog()
    >>> from timelog import Timelog
    >>> Timelog.__module__
    'timestrata.compat.timelog'
    """
    own = {"timelog": sys.modules[__name__], "timelog._api": _api, "timelog._timelog": _timelog}
    for name, module in own.items():
        there = sys.modules.get(name)
        if there is not None and there is not module and getattr(there, "Timelog", None) is not None:
            raise ImportError(f"{name} is imported already: call install_as_timelog() before")
    sys.modules.update(own)


__all__ = [
    "PageSpan",
    "PageSpanIter",
    "PageSpanObjectsView",
    "Record",
    "RecordBatch",
    "RecordIter",
    "TL_TS_MAX",
    "TL_TS_MIN",
    "Timelog",
    "TimelogBusyError",
    "TimelogError",
    "TimelogIter",
    "__version__",
    "_coerce_ts",
    "install_as_timelog",
]

"""Helpers of the module ``timelog`` that programs have been seen to import, though they are private there."""

from __future__ import annotations

import datetime
import operator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from timestrata._timestrata import Timelog, TimelogIter

__all__ = ["TL_TS_MAX", "TL_TS_MIN", "_coerce_ts", "_slice_to_iter"]

#: The smallest and the greatest timestamp.
TL_TS_MIN = -(2**63)
TL_TS_MAX = 2**63 - 1


def _coerce_ts(x: Any) -> int:
    """Give a timestamp as an int: of what is a whole number and no bool, and within 64 bits."""
    if isinstance(x, bool):
        raise TypeError("timestamp must be int (bool not allowed)")
    if isinstance(x, datetime.datetime):
        raise TypeError(
            "timestamps are integers in the log's time_unit: of a datetime give "
            "int(dt.timestamp() * 1000), where the unit is 'ms'"
        )
    if isinstance(x, float):
        raise TypeError(
            f"timestamps are integers in the log's time_unit, and {x!r} is a float: use int(x), or "
            "a finer time_unit"
        )
    time = operator.index(x)
    if not TL_TS_MIN <= time <= TL_TS_MAX:
        raise OverflowError(f"timestamp {time} is outside int64 range [{TL_TS_MIN}, {TL_TS_MAX}]")
    return time


def _slice_to_iter(log: Timelog, s: slice) -> TimelogIter:
    """Give the entries of a slice of time."""
    if not isinstance(s, slice):
        raise TypeError(f"Timelog indices must be slices, not {type(s).__name__}: of one time use .at(ts)")
    return log[s]

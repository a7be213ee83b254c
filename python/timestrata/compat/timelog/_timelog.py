"""The native names of the module ``timelog``, under which some programs import them."""

from timestrata._timestrata import PageSpan, PageSpanIter, PageSpanObjectsView, TimelogIter
from timestrata._timestrata import _DropInTimelog as Timelog
from timestrata.errors import TimelogBusyError, TimelogError

__all__ = [
    "PageSpan",
    "PageSpanIter",
    "PageSpanObjectsView",
    "Timelog",
    "TimelogBusyError",
    "TimelogError",
    "TimelogIter",
]

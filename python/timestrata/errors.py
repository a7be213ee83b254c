"""The errors of timestrata: one tree, whose leaves are also Python's own kinds.

``except timestrata.TimestrataError`` catches all of them; ``except KeyError`` catches a stream
that is not there, ``except OSError`` what the operating system refused. ``str(error)`` is one
sentence that says what and where; `TimestrataError.hint` says what to do about it.

Mistakes in the call itself raise Python's own: ``TypeError`` for a value of the wrong type,
``OverflowError`` for a timestamp outside signed 64 bits.

Examples
--------
>>> import timestrata
>>> with timestrata.open() as store:
...     try:
...         store.drop("nothing")
...     except KeyError as error:
...         print(type(error).__name__, "-", error.hint)
NotFoundError - create it first, or check the name
"""

from __future__ import annotations

__all__ = [
    "AlreadyExistsError",
    "BusyError",
    "CancelledError",
    "ClosedError",
    "ConflictError",
    "CorruptionError",
    "ForkedError",
    "HistoryLostError",
    "InvalidArgumentError",
    "InvalidDataError",
    "IoError",
    "LockedError",
    "NoSpaceError",
    "NotAStoreError",
    "NotFoundError",
    "OutOfMemoryError",
    "OutOfRangeError",
    "PoisonedError",
    "ReadOnlyError",
    "TimedOutError",
    "TimelogBusyError",
    "TimelogError",
    "TimestrataError",
    "TooLargeError",
    "UnsupportedVersionError",
    "VerificationError",
]


class TimestrataError(Exception):
    """Any failure of the store.

    Attributes
    ----------
    path : str or None
        The file or directory concerned.
    offset : int or None
        The byte in that file.
    hint : str or None
        What to do about it; also shown under a traceback.
    """

    path: str | None
    offset: int | None
    hint: str | None

    def __init__(
        self,
        message: str = "",
        *,
        path: str | None = None,
        offset: int | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.path = path
        self.offset = offset
        self.hint = hint
        if hint:
            self.add_note(f"hint: {hint}")

    def __str__(self) -> str:
        # KeyError would show the repr of its key, OSError a number.
        return Exception.__str__(self)


class InvalidArgumentError(TimestrataError, ValueError):
    """An argument has no meaning here: an empty name, an inverted range, an unknown option."""


class InvalidDataError(TimestrataError, ValueError):
    """Data does not fit where it should go, or stored bytes are not what the codec writes."""


class TooLargeError(TimestrataError, ValueError):
    """A value or commit is larger than the store takes."""


class NotFoundError(TimestrataError, KeyError):
    """No such store, stream or pin."""


class OutOfRangeError(TimestrataError, LookupError):
    """An offset that is not there: not yet, or not any more."""


class HistoryLostError(TimestrataError, LookupError):
    """What the store was then is not kept any more; the message has the oldest commit that can be read."""


class ConflictError(TimestrataError):
    """What the call counted on has changed meanwhile: another offset comes next, a partition is
    another member's, a log does not go on from its last checkpoint."""


class VerificationError(TimestrataError, ValueError):
    """A proof does not show what it should."""


class AlreadyExistsError(TimestrataError, ValueError):
    """The name is taken, by something of another definition."""


class NotAStoreError(TimestrataError, ValueError):
    """The directory holds something, but not a store."""


class UnsupportedVersionError(TimestrataError):
    """Written by a newer version of timestrata."""


class LockedError(TimestrataError, OSError):
    """Another writer has the store open; the message names its process."""


class ReadOnlyError(TimestrataError, OSError):
    """The store was opened for reading."""


class BusyError(TimestrataError):
    """Flushes can't keep up and the busy policy is "raise". Nothing was written: try later."""


class CancelledError(TimestrataError):
    """A query that was cancelled by its number."""


class TimedOutError(TimestrataError, TimeoutError):
    """A query that took longer than it may."""


class NoSpaceError(TimestrataError, OSError):
    """The disk is full."""


class OutOfMemoryError(TimestrataError, MemoryError):
    """There is not enough memory for what was asked, and it has not been done."""


class IoError(TimestrataError, OSError):
    """The operating system refused."""


class CorruptionError(TimestrataError):
    """Bytes on disk are not what was written. Not an ``OSError``: trying again can't help."""


class PoisonedError(TimestrataError):
    """An earlier write or sync failed, so the store takes no more writes until reopened."""


class ClosedError(TimestrataError):
    """The store has been closed."""


class ForkedError(TimestrataError):
    """The store was opened by the parent process, before a fork."""


class TimelogError(TimestrataError):
    """A call that the state of a `Timelog` doesn't allow."""


class TimelogBusyError(TimelogError):
    """Flushes are behind. All records of the call were stored: do not write them again."""

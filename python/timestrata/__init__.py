"""Timestrata: keeps what happens, in the order in which it happens, in one directory.

An embedded, durable, log-structured store. `open` gives a `Store`; `Store.timelog` gives a
`Timelog`, which keeps Python objects by timestamp and gives them back by slices of time;
`Store.table` gives a `Table`, which keeps typed rows by time; `Store.topic` gives a `Topic`, an event
log whose records can be proved to others; `Store.graph` gives a `Graph`, which keeps versioned blocks
and the edges between them; `Store.logs` gives a `Logs`, which keeps a program's log entries and searches
them, also those of Python's ``logging`` (see `timestrata.logging`). `connect` gives the same of a store behind a
server.

Examples
--------
>>> import timestrata
>>> with timestrata.open() as store:  # give a path to keep it
...     door = store.timelog("door")
...     door.append(1_700_000_000_000, {"state": "open"})
...     door.append(1_700_000_060_000, {"state": "closed"})
...     list(door[:1_700_000_060_000])
[(1700000000000, {'state': 'open'})]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from timestrata._timestrata import (
    FORMAT_VERSION,
    BackupReport,
    Block,
    Change,
    Changes,
    CheckReport,
    Commit,
    CommitGraph,
    CommitLogs,
    CommitTable,
    CommitTimelog,
    CommitTopic,
    CommittedChanges,
    Consumer,
    Edge,
    Finding,
    Graph,
    GraphView,
    LogBucket,
    LogEntries,
    LogEntriesIter,
    LogEntry,
    LogFacet,
    LogTail,
    Logs,
    PageSpan,
    PageSpanIter,
    PageSpanObjectsView,
    Pin,
    Producer,
    Proof,
    PurgeReport,
    Receipt,
    Record,
    RecoveryReport,
    RepairReport,
    Route,
    Rows,
    RowsIter,
    SigningKey,
    Store,
    Table,
    Timelog,
    TimelogIter,
    TimelogTail,
    Topic,
    Walk,
    __version__,
    allocated_bytes,
    cbor_decode,
    cbor_encode,
    open,
    repair,
    verify,
    verify_checkpoints,
    verify_consistency,
)
from timestrata.errors import (
    AlreadyExistsError,
    BusyError,
    CancelledError,
    ClosedError,
    ConflictError,
    CorruptionError,
    ForkedError,
    HistoryLostError,
    InvalidArgumentError,
    InvalidDataError,
    IoError,
    LockedError,
    NoSpaceError,
    NotAStoreError,
    NotFoundError,
    OutOfMemoryError,
    OutOfRangeError,
    PoisonedError,
    ReadOnlyError,
    TimedOutError,
    TimelogBusyError,
    TimelogError,
    TimestrataError,
    TooLargeError,
    UnsupportedVersionError,
    VerificationError,
)

if TYPE_CHECKING:
    from timestrata.kinds import UnknownValue, register_type
    from timestrata.remote import connect

__all__ = [
    "FORMAT_VERSION",
    "AlreadyExistsError",
    "BackupReport",
    "Block",
    "BusyError",
    "CancelledError",
    "Change",
    "Changes",
    "CheckReport",
    "ClosedError",
    "Commit",
    "CommittedChanges",
    "CommitGraph",
    "CommitLogs",
    "CommitTable",
    "CommitTimelog",
    "CommitTopic",
    "ConflictError",
    "Consumer",
    "CorruptionError",
    "Edge",
    "Finding",
    "ForkedError",
    "Graph",
    "GraphView",
    "HistoryLostError",
    "InvalidArgumentError",
    "InvalidDataError",
    "IoError",
    "LockedError",
    "LogBucket",
    "LogEntries",
    "LogEntriesIter",
    "LogEntry",
    "LogFacet",
    "LogTail",
    "Logs",
    "NoSpaceError",
    "NotAStoreError",
    "NotFoundError",
    "OutOfMemoryError",
    "OutOfRangeError",
    "PageSpan",
    "PageSpanIter",
    "PageSpanObjectsView",
    "Pin",
    "PoisonedError",
    "Producer",
    "Proof",
    "PurgeReport",
    "ReadOnlyError",
    "Receipt",
    "Record",
    "RecoveryReport",
    "RepairReport",
    "Route",
    "Rows",
    "RowsIter",
    "SigningKey",
    "Store",
    "Table",
    "TimedOutError",
    "Timelog",
    "TimelogBusyError",
    "TimelogError",
    "TimelogIter",
    "TimelogTail",
    "TimestrataError",
    "TooLargeError",
    "Topic",
    "UnknownValue",
    "UnsupportedVersionError",
    "VerificationError",
    "Walk",
    "__version__",
    "allocated_bytes",
    "cbor_decode",
    "cbor_encode",
    "connect",
    "open",
    "register_type",
    "repair",
    "verify",
    "verify_checkpoints",
    "verify_consistency",
]


def __getattr__(name: str) -> Any:
    # What asks servers stands on asyncio, which takes longer to import than all else: not for who opens a directory.
    if name == "connect":
        from timestrata.remote import connect

        return connect
    if name in ("UnknownValue", "register_type"):
        from timestrata import kinds

        return getattr(kinds, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

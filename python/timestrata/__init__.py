"""Timestrata: keeps what happens, in the order in which it happens, in one directory.

An embedded, durable, log-structured store. `open` gives a `Store`; `Store.timelog` gives a
`Timelog`, which keeps Python objects by timestamp and gives them back by slices of time;
`Store.table` gives a `Table`, which keeps typed rows by time; `Store.topic` gives a `Topic`, an event
log whose records can be proved to others; `Store.graph` gives a `Graph`, which keeps versioned blocks
and the edges between them.

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

from timestrata._timestrata import (
    FORMAT_VERSION,
    BackupReport,
    Block,
    CheckReport,
    Consumer,
    Edge,
    Finding,
    Graph,
    GraphView,
    PageSpan,
    PageSpanIter,
    PageSpanObjectsView,
    Pin,
    Producer,
    Proof,
    Receipt,
    Record,
    RecoveryReport,
    Route,
    Rows,
    RowsIter,
    SigningKey,
    Store,
    Table,
    Timelog,
    TimelogIter,
    Topic,
    Walk,
    __version__,
    cbor_decode,
    cbor_encode,
    open,
    verify,
    verify_consistency,
)
from timestrata.errors import (
    AlreadyExistsError,
    BusyError,
    ClosedError,
    ConflictError,
    CorruptionError,
    ForkedError,
    InvalidArgumentError,
    InvalidDataError,
    IoError,
    LockedError,
    NoSpaceError,
    NotAStoreError,
    NotFoundError,
    OutOfRangeError,
    PoisonedError,
    ReadOnlyError,
    TimelogBusyError,
    TimelogError,
    TimestrataError,
    TooLargeError,
    UnsupportedVersionError,
    VerificationError,
)

__all__ = [
    "FORMAT_VERSION",
    "AlreadyExistsError",
    "BackupReport",
    "Block",
    "BusyError",
    "CheckReport",
    "ClosedError",
    "ConflictError",
    "Consumer",
    "CorruptionError",
    "Edge",
    "Finding",
    "ForkedError",
    "Graph",
    "GraphView",
    "InvalidArgumentError",
    "InvalidDataError",
    "IoError",
    "LockedError",
    "NoSpaceError",
    "NotAStoreError",
    "NotFoundError",
    "OutOfRangeError",
    "PageSpan",
    "PageSpanIter",
    "PageSpanObjectsView",
    "Pin",
    "PoisonedError",
    "Producer",
    "Proof",
    "ReadOnlyError",
    "Receipt",
    "Record",
    "RecoveryReport",
    "Route",
    "Rows",
    "RowsIter",
    "SigningKey",
    "Store",
    "Table",
    "Timelog",
    "TimelogBusyError",
    "TimelogError",
    "TimelogIter",
    "TimestrataError",
    "TooLargeError",
    "Topic",
    "UnsupportedVersionError",
    "VerificationError",
    "Walk",
    "__version__",
    "cbor_decode",
    "cbor_encode",
    "open",
    "verify",
    "verify_consistency",
]

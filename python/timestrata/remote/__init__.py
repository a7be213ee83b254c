"""A store behind a server: `connect`, and the classes of what it gives.

They have the methods of the embedded classes that a server can carry out, by the same names and with the same parameters
and results. What a server acknowledges has been synced, whatever ``sync`` or ``durability`` a call asks for.

A request that reads is sent again where the connection broke, and so is one that comes to the same when it is sent twice (a
send with a producer's sequence, a poll of a consumer). Any other write is sent once: where no answer comes, `IoError` says
that it may have been done all the same.
"""

from __future__ import annotations

from timestrata.remote.changes import RemoteChanges
from timestrata.remote.commit import (
    RemoteCommit,
    RemoteCommitGraph,
    RemoteCommitLogs,
    RemoteCommitTable,
    RemoteCommitTimelog,
    RemoteCommitTopic,
)
from timestrata.remote.consumer import RemoteConsumer
from timestrata.remote.graph import RemoteGraph
from timestrata.remote.logs import RemoteLogs, RemoteLogTail
from timestrata.remote.producer import RemoteProducer
from timestrata.remote.store import RemoteStore, connect
from timestrata.remote.table import RemoteTable
from timestrata.remote.timelog import RemoteTimelog, RemoteTimelogIter
from timestrata.remote.timelog_tail import RemoteTimelogTail
from timestrata.remote.topic import RemoteTopic

__all__ = [
    "RemoteChanges",
    "RemoteCommit",
    "RemoteCommitGraph",
    "RemoteCommitLogs",
    "RemoteCommitTable",
    "RemoteCommitTimelog",
    "RemoteCommitTopic",
    "RemoteConsumer",
    "RemoteGraph",
    "RemoteLogTail",
    "RemoteLogs",
    "RemoteProducer",
    "RemoteStore",
    "RemoteTable",
    "RemoteTimelog",
    "RemoteTimelogIter",
    "RemoteTimelogTail",
    "RemoteTopic",
    "connect",
]

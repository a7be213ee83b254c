"""One commit over several models of a server: what its block changes, sent as one request at its end."""

from __future__ import annotations

import base64
import contextlib
import threading
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from timestrata import awaiting
from timestrata._timestrata import Receipt, _Server
from timestrata.errors import ClosedError, InvalidArgumentError, NotFoundError
from timestrata.remote.connection import LINES, Connection, dumps
from timestrata.remote.graph_lines import block_line, each_of, edge_key, edge_line, id_text
from timestrata.remote.logs import RemoteLogs
from timestrata.remote.producer import RemoteProducer, receipts_of, record_json
from timestrata.remote.table import RemoteTable
from timestrata.remote.timelog import RemoteTimelog, known_timelog

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Buffer, Self

    from timestrata._timestrata import (
        BlockId,
        Blocklike,
        Edgelike,
        LogEntrylike,
        Recordlike,
        Rowlike,
        SupportsArrowArray,
        SupportsArrowStream,
        TableBound,
        TableTime,
        Timestamp,
    )
    from timestrata.remote.consumer import RemoteConsumer

__all__ = [
    "RemoteCommit",
    "RemoteCommitGraph",
    "RemoteCommitLogs",
    "RemoteCommitTable",
    "RemoteCommitTimelog",
    "RemoteCommitTopic",
]

_Part = TypeVar("_Part", bound="_CommitPart[Any]")
_One = TypeVar("_One")


class _Block:
    """Whether a commit can still be added to; held by who adds and by who ends it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.is_open = False

    def check(self) -> None:
        if not self.is_open:
            raise ClosedError(
                "a commit takes changes within its block: with store.commit() as commit: ..."
            )


class _CommitPart(Generic[_One]):
    """What a commit does to one stream, in the order in which it was asked for."""

    def __init__(self, connection: Connection, name: str, block: _Block) -> None:
        self._connection = connection
        self._name = name
        self._block = block
        self._all: list[_One] = []

    def _add(self, *given: _One) -> None:
        with self._block.lock:
            self._block.check()
            self._all.extend(given)

    def _steps(self) -> list[str]:
        """Give what is asked for as steps of JSON."""
        raise NotImplementedError


class RemoteCommitTable(_CommitPart[str]):
    """What a commit changes in a table of a server. Made by `RemoteCommit.table`; its methods are those of `CommitTable`."""

    def append(
        self,
        rows: Rowlike,
        *,
        if_unchanged_since: int | None = None,
        on_mismatch: Literal["error", "widen"] = "error",
    ) -> None:
        """Append rows, as `CommitTable.append` takes them; they are sent with the commit."""
        self._block.check()
        if on_mismatch not in ("error", "widen"):
            raise InvalidArgumentError(f"on_mismatch={on_mismatch!r}: it must be 'error' or 'widen'")
        stream, count = _Server.arrow_of(rows)
        if count == 0:
            return
        made_with = self._connection.made_with.get(self._name, {"ids": False})
        said = {
            "table": self._name,
            "arrow": base64.b64encode(stream).decode(),
            "if_unchanged_since": if_unchanged_since,
            "on_mismatch": None if on_mismatch == "error" else on_mismatch,
            **made_with,
        }
        for name in ("key", "tags"):
            if isinstance(said.get(name), str):
                said[name] = said[name].split(",")
        self._add(dumps({name: part for name, part in said.items() if part is not None}))

    def delete(self, start: TableBound | None = None, end: TableBound | None = None) -> None:
        """Delete the rows of earlier commits from ``start`` to before ``end``."""
        table = RemoteTable(self._connection, self._name, {})
        ends = {"from": table._bound_text(start), "to": table._bound_text(end)}
        given: Any = "all" if start is None and end is None else ends
        self._add(dumps({"table": self._name, "delete": given}))

    def _steps(self) -> list[str]:
        return self._all


class RemoteCommitTopic(_CommitPart[dict[str, Any]]):
    """What a commit appends to a topic of a server. Made by `RemoteCommit.topic`; its methods are those of `CommitTopic`."""

    def __init__(self, connection: Connection, name: str, block: _Block) -> None:
        super().__init__(connection, name, block)
        self._expected: int | None = None
        self._producer: RemoteProducer | None = None
        self._receipts: list[Receipt] = []

    def send(
        self,
        record: Recordlike,
        *,
        partition: int | None = None,
        expected_offset: int | None = None,
        producer: RemoteProducer | None = None,
    ) -> None:
        """Append one record, behind those before, as `CommitTopic.send` does."""
        self.send_batch(
            [record], partition=partition, expected_offset=expected_offset, producer=producer
        )

    def send_batch(
        self,
        records: Iterable[Recordlike],
        *,
        partition: int | None = None,
        expected_offset: int | None = None,
        producer: RemoteProducer | None = None,
    ) -> None:
        """Append records, behind those before; see `send`."""
        if producer is not None:
            producer._expect_of(self._connection, self._name)
        said = [record_json(record) for record in records]
        if partition is not None:
            said = [{**one, "partition": partition} for one in said]
        with self._block.lock:
            self._block.check()
            if self._all and self._producer is not producer:
                raise InvalidArgumentError(
                    "a commit's records of one topic are of one producer, or of none"
                )
            self._all.extend(said)
            self._producer = producer
            if self._expected is None:
                self._expected = expected_offset

    def _steps(self) -> list[str]:
        if not self._all:
            return []
        said: dict[str, Any] = {"topic": self._name, "records": self._all}
        if self._expected is not None:
            said["expected_offset"] = self._expected
        if self._producer is not None:
            said.update(producer_id=self._producer._id, epoch=self._producer._epoch)
        return [dumps(said)]


class RemoteCommitLogs(_CommitPart[dict[str, Any]]):
    """What a commit writes to a log of a server. Made by `RemoteCommit.logs`; its methods are those of `CommitLogs`."""

    def __init__(self, connection: Connection, name: str, block: _Block) -> None:
        super().__init__(connection, name, block)
        self._log = RemoteLogs(connection, name, None)

    def write(
        self,
        message: str,
        /,
        *,
        level: str | int | None = None,
        source_time: TableTime | None = None,
        labels: Mapping[str, str] | None = None,
        **fields: Any,
    ) -> None:
        """Write one entry, behind those before, as `Logs.write` takes it."""
        entry = {
            "message": message,
            "level": level,
            "source_time": source_time,
            "labels": labels,
            "fields": fields,
        }
        self._add(self._log._entry(entry))

    def write_many(self, entries: Iterable[LogEntrylike]) -> None:
        """Write entries, behind those before, as `Logs.write_many` takes them."""
        self._add(*[self._log._entry(entry) for entry in entries])

    def _steps(self) -> list[str]:
        return [dumps({"logs": self._name, "entries": self._all})] if self._all else []


class RemoteCommitGraph(_CommitPart[str]):
    """What a commit changes in a graph of a server. Made by `RemoteCommit.graph`; its methods are those of `CommitGraph`."""

    def put(
        self,
        content: Buffer | str,
        *,
        id: BlockId | None = None,
        version: int | None = None,
        source_uri: str | None = None,
        metadata: Mapping[str, Any] | str | None = None,
        expected_version: int | None = None,
    ) -> bytes:
        """Put a block, as `Graph.put` takes it. Gives its id."""
        own, line = block_line(
            {
                "id": id,
                "content": content,
                "version": version,
                "source_uri": source_uri,
                "metadata": metadata,
            }
        )
        self._add(_expecting(line, expected_version))
        return own

    def put_many(
        self, blocks: Iterable[Blocklike] | SupportsArrowStream | SupportsArrowArray
    ) -> None:
        """Put blocks, as `Graph.put_many` takes them."""
        self._add(*[block_line(block)[1] for block in each_of(blocks)])

    def link(
        self,
        source: BlockId,
        kind: str,
        target: BlockId,
        *,
        weight: float | None = None,
        valid_from: TableTime | None = None,
        properties: Mapping[str, Any] | str | None = None,
    ) -> None:
        """Link two blocks, as `Graph.link` takes them."""
        edge = {
            "source": source,
            "kind": kind,
            "target": target,
            "weight": weight,
            "valid_from": valid_from,
            "properties": properties,
        }
        self._add(edge_line(edge))

    def link_many(
        self, edges: Iterable[Edgelike] | SupportsArrowStream | SupportsArrowArray
    ) -> None:
        """Link blocks, as `Graph.link_many` takes them."""
        self._add(*[edge_line(edge) for edge in each_of(edges)])

    def unlink(self, source: BlockId, kind: str, target: BlockId) -> None:
        """Take an edge away, if it is there."""
        self._add(dumps({"unlink": edge_key((source, kind, target))}))

    def delete(self, id: BlockId, *, expected_version: int | None = None) -> None:
        """Delete a block with its edges, if it is there; ``expected_version`` as for `put`."""
        self._add(_expecting(dumps({"delete": id_text(id)}), expected_version))

    def _steps(self) -> list[str]:
        if not self._all:
            return []
        return [f'{{"graph":{dumps(self._name)},"changes":[{",".join(self._all)}]}}']


def _expecting(line: str, version: int | None) -> str:
    """Give a line of a change that is made only to a block of this version."""
    return line if version is None else f'{line[:-1]},"expected_version":{int(version)}}}'


class RemoteCommitTimelog(_CommitPart[tuple[str, str]]):
    """What a commit changes in a time log of a server. Made by `RemoteCommit.timelog`; its methods are those of `CommitTimelog`."""

    def __init__(self, connection: Connection, name: str, block: _Block) -> None:
        super().__init__(connection, name, block)
        try:
            self._log = known_timelog(connection, name)
        except NotFoundError:
            # As it will be made.
            self._log = RemoteTimelog(connection, name, "cbor", "ms")

    def append(self, time: Timestamp, value: Any) -> None:
        """Append an object at a time, as `Timelog.append` takes them."""
        self._add(("entries", self._log._line(self._log._time(time), value)))

    def extend(self, pairs_or_timestamps: Iterable[Any], objects: Iterable[Any] | None = None) -> None:
        """Append many objects, in any order of time; all of them or none are in the commit."""
        pairs = pairs_or_timestamps if objects is None else zip(pairs_or_timestamps, objects, strict=True)
        lines = [("entries", self._log._line(self._log._time(time), value)) for time, value in pairs]
        for line in lines:
            self._add(line)

    def delete(self, t1: Timestamp, t2: Timestamp | None = None) -> None:
        """Delete the entries of earlier commits from ``t1`` to before ``t2``, or those at ``t1``."""
        first, behind = self._log._range(t1, t2)
        if behind is not None and first > behind:
            raise ValueError("t1 must be <= t2: the range ends before it begins")
        ends = {"from": first, "to": behind}
        self._add(("delete", dumps({name: end for name, end in ends.items() if end is not None})))

    def _steps(self) -> list[str]:
        log = self._log
        is_of = f'"timelog":{dumps(log.name)},"codec":"{log.codec}","unit":"{log.unit}"'
        entries = [part for kind, part in self._all if kind == "entries"]
        deleted = [part for kind, part in self._all if kind == "delete"]
        said = [f'{{{is_of},"delete":{ends}}}' for ends in deleted]
        if entries:
            said.append(f'{{{is_of},"entries":[{",".join(entries)}]}}')
        return said


class RemoteCommit:
    """One commit over several models of a server. Made by `RemoteStore.commit`; its methods are those of `Commit`.

    Its block's changes are sent at its end, in one request of at most ``limits.batch_bytes_max`` bytes of the server. It is sent once: where
    no answer comes, `IoError` says that it may have been done all the same.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._block = _Block()
        self._has_begun = False
        self._parts: dict[tuple[str, str], _CommitPart[Any]] = {}
        self._consumer: RemoteConsumer | None = None
        self._seq: int | None = None

    def _part(self, model: str, name: str, kind: type[_Part]) -> _Part:
        self._block.check()
        found = self._parts.get((model, name))
        if found is None:
            # Making it may ask the server: not with the lock.
            made = kind(self._connection, name, self._block)
            with self._block.lock:
                self._block.check()
                found = self._parts.setdefault((model, name), made)
        if not isinstance(found, kind):
            raise TypeError(f"{name!r} is no {model}")
        return found

    def table(self, name: str) -> RemoteCommitTable:
        """Give what the commit changes in the table of this name."""
        return self._part("table", name, RemoteCommitTable)

    def topic(self, name: str) -> RemoteCommitTopic:
        """Give what the commit appends to the topic of this name."""
        return self._part("topic", name, RemoteCommitTopic)

    def logs(self, name: str) -> RemoteCommitLogs:
        """Give what the commit writes to the log of this name."""
        return self._part("logs", name, RemoteCommitLogs)

    def graph(self, name: str) -> RemoteCommitGraph:
        """Give what the commit changes in the graph of this name."""
        return self._part("graph", name, RemoteCommitGraph)

    def timelog(self, name: str) -> RemoteCommitTimelog:
        """Give what the commit changes in the time log of this name."""
        return self._part("timelog", name, RemoteCommitTimelog)

    def consumed(self, consumer: RemoteConsumer) -> None:
        """Commit how far a consumer has been read at the end of the block, as `Commit.consumed` does."""
        if consumer._connection.server is not self._connection.server:
            raise InvalidArgumentError("the consumer is of another store than the commit")
        with self._block.lock:
            self._block.check()
            if self._consumer not in (None, consumer):
                raise InvalidArgumentError(
                    "a commit takes one consumer: commit those of another by another"
                )
            self._consumer = consumer

    @property
    def seq(self) -> int | None:
        """Its place in the order of commits; None until the block has ended well."""
        return self._seq

    def topic_receipts(self, name: str) -> list[Receipt]:
        """Give the receipts of the records of a topic, in their order. Empty until the block has ended well."""
        part = self._parts.get(("topic", name))
        if not isinstance(part, RemoteCommitTopic):
            raise ValueError(f"the commit has nothing for a topic {name!r}")
        return list(part._receipts)

    def _commit(self) -> None:
        topics = [part for part in self._parts.values() if isinstance(part, RemoteCommitTopic)]
        producers = {id(part._producer): part._producer for part in topics if part._producer}
        with contextlib.ExitStack() as held:
            # Nobody else sends as one of them meanwhile. In one order, so that nobody waits for ever.
            for _, producer in sorted(producers.items()):
                held.enter_context(producer._apart())
            # The consumer's records can be asked for on meanwhile, but what was given is what was given now.
            consumed = None if self._consumer is None else self._consumer._done()
            steps = [(part, step) for part in self._parts.values() for step in part._steps()]
            lines = [step for _, step in steps]
            if consumed is not None:
                lines.append(dumps(consumed.step))
            told = self._connection.send(
                "POST", "commit", text="\n".join(lines), content_type=LINES
            )
        self._seq = int(told["seq"])
        for (part, _), each in zip(steps, told["steps"], strict=False):
            if isinstance(part, RemoteCommitTopic):
                part._receipts = receipts_of(each["records"])
        if consumed is not None:
            consumed.forget()

    def __enter__(self) -> Self:
        with self._block.lock:
            if self._has_begun:
                raise InvalidArgumentError(
                    "a commit has one block: begin another with store.commit()"
                )
            self._has_begun = self._block.is_open = True
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> Literal[False]:
        with self._block.lock:
            was_open, self._block.is_open = self._block.is_open, False
        if was_open and exception_type is None:
            self._commit()
        return False

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> Literal[False]:
        return await awaiting.write(self.__exit__, exception_type, exception, traceback)

    def __repr__(self) -> str:
        return "<RemoteCommit>" if self._seq is None else f"<RemoteCommit seq={self._seq}>"

"""Consumers of a server's topic."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from timestrata import awaiting
from timestrata._timestrata import Record, _Server
from timestrata.errors import ClosedError, InvalidArgumentError
from timestrata.remote.connection import Connection, Remote, ns_text
from timestrata.remote.reading import Alone, Member, Reader

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

    from timestrata._timestrata import TableTime

__all__ = ["RemoteConsumer"]

# How long one request waits for records; whoever waits longer asks again.
_WAIT_SECONDS = 5.0
_RECORDS_MAX = 500
_BYTES_MAX = 52_428_800


class Done:
    """What a consumer was given, on its way into a commit."""

    def __init__(
        self, consumer: RemoteConsumer, step: Mapping[str, Any], offsets: Mapping[int, int]
    ) -> None:
        self._consumer = consumer
        self._offsets = offsets
        self.step = step

    def forget(self) -> None:
        """Take note that it is committed."""
        self._consumer._forget(self._offsets)


class RemoteConsumer(Remote):
    """Reads a topic of a server on from where it, or its group, was. Made by `RemoteTopic.consumer`; as `Consumer`.

    In a group a record is given at least once: what was given and not committed is given again where the server began anew
    or the member was not heard of for its ``session``.
    """

    MISSING: ClassVar[Mapping[str, str]] = {
        "skip": "seek() behind what can't be read",
        "subscribe": "a server's consumer reads one topic: make a consumer of each",
    }
    # For the await forms: cancelling gives up a request at once.
    _wait_seconds = _WAIT_SECONDS

    def __init__(
        self,
        connection: Connection,
        topic: str,
        group: str | None,
        *,
        member: str | None,
        reset: str,
        strategy: str,
        session: float,
        poll_interval_max: float,
        auto_commit: float | None,
        idle_timeout: float | None,
    ) -> None:
        super().__init__(connection)
        for what, given, known in (
            ("reset", reset, ("earliest", "latest", "error")),
            ("strategy", strategy, ("sticky", "range", "round_robin")),
        ):
            if given not in known:
                raise ValueError(f"{what}={given!r}: it must be one of {', '.join(known)}")
        self._topic = topic
        self._group = group
        self._idle_timeout = idle_timeout
        options: dict[str, Any] = {
            "member": member,
            "reset": reset,
            "strategy": strategy,
            "session": session,
            "poll_interval_max": poll_interval_max,
            "auto_commit": auto_commit,
        }
        said = {name: value for name, value in options.items() if value is not None}
        self._reader: Reader | None = (
            Alone(connection, topic, reset)
            if group is None
            else Member(connection, topic, group, said)
        )
        # What was read and not given yet.
        self._ahead: deque[Record] = deque()
        # The next offset of each partition of which something was given since it was committed last.
        self._given: dict[int, int] = {}
        # What the last call gave, by its first offsets: done once the next one is asked for.
        self._undone: dict[int, int] = {}
        # Held while asking for records. Others may use the consumer meanwhile.
        self._asking = threading.Lock()
        # Held for a moment, by who takes records or puts them down.
        self._holding = threading.Lock()

    def _open(self) -> Reader:
        if self._reader is None:
            raise ClosedError("the consumer has been closed")
        return self._reader

    def _place(self, topic: str | None) -> None:
        if topic is not None and topic != self._topic:
            raise InvalidArgumentError(f"the consumer reads topic {self._topic!r}, not {topic!r}")

    @property
    def assignment(self) -> list[tuple[str, int]]:
        """The partitions that are read now, as (topic, partition)."""
        return [(self._topic, partition) for partition in self._open().assignment()]

    @property
    def member(self) -> str:
        """The member's name in its group."""
        return self._open().member

    @property
    def idle_timeout(self) -> float | None:
        """Seconds without a record after which iterating ends."""
        return self._idle_timeout

    def assign(self, partitions: Sequence[tuple[str, int] | int]) -> None:
        """Read these partitions from now on, whoever else reads them. Only without a group."""
        wanted = []
        for one in partitions:
            topic, partition = one if isinstance(one, tuple) else (None, one)
            self._place(topic)
            wanted.append(partition)
        self._put_back()
        self._open().assign(wanted)

    def _look(self, seconds: float, records_max: int, bytes_max: int) -> list[Record]:
        with self._asking:
            if self._ahead:
                return []
            return self._open().look(min(seconds, _WAIT_SECONDS), records_max, bytes_max)

    def _until(self, timeout: float | None) -> float:
        if timeout is not None and not 0 <= timeout < 9.2e9:
            raise ValueError(f"timeout={timeout}: it must be a number of seconds from 0 to below 9.2e9")
        return float("inf") if timeout is None else time.monotonic() + timeout

    def poll(
        self,
        timeout: float | None = 0.0,
        *,
        max_records: int = _RECORDS_MAX,
        max_bytes: int = _BYTES_MAX,
    ) -> list[Record]:
        """Give the records that there are; wait for some, ``timeout`` seconds at most. None: as long as it takes."""
        end = self._until(timeout)
        self._open()
        while True:
            with self._holding:
                most = min(len(self._ahead), max_records)
                found = [self._ahead.popleft() for _ in range(most)]
            left = end - time.monotonic()
            found = found or self._look(max(left, 0.0), max_records, max_bytes)
            if found or left <= 0:
                with self._holding:
                    self._note(found)
                return found

    def _note(self, given: list[Record]) -> None:
        self._undone = {}
        for record in given:
            if record.partition is not None and record.offset is not None:
                self._undone.setdefault(record.partition, record.offset)
                self._given[record.partition] = record.offset + 1

    def _put_back(self, only: int | None = None) -> None:
        """Go back to before what was read and not given."""
        reader = self._open()
        with self._holding:
            first = self._first_ahead()
            kept = [one for one in self._ahead if only is not None and one.partition != only]
            self._ahead = deque(kept)
        for partition, offset in first.items():
            if only in (None, partition):
                reader.seek(partition, offset)

    def _first_ahead(self) -> dict[int, int]:
        first: dict[int, int] = {}
        for record in self._ahead:
            if record.partition is not None and record.offset is not None:
                first.setdefault(record.partition, record.offset)
        return first

    def heartbeat(self) -> list[tuple[str, int]]:
        """Say that this member is alive while it works. Gives the partitions that others wait for."""
        return [(self._topic, partition) for partition in self._open().heartbeat()]

    def seek(self, offset: int, partition: int = 0, *, topic: str | None = None) -> None:
        """Go on at an offset."""
        self._place(topic)
        self._put_back(partition)
        self._open().seek(partition, offset)
        self._given.pop(partition, None)

    def seek_to_time(
        self, time: TableTime, partition: int = 0, *, topic: str | None = None
    ) -> int:
        """Go on at the first record whose time is this or later. Gives its offset."""
        self._place(topic)
        one = self._offsets(partition, time=ns_text(_Server.time_ns(time)))
        offset = one["end"] if one["at_time"] is None else one["at_time"]
        self.seek(offset, partition)
        return int(offset)

    def _offsets(self, partition: int, **parameters: Any) -> dict[str, Any]:
        for one in self._connection.get("topics", self._topic, "offsets", **parameters):
            if one["partition"] == partition:
                found: dict[str, Any] = one
                return found
        raise InvalidArgumentError(f"topic {self._topic!r} has no partition {partition}")

    def position(self, partition: int = 0, *, topic: str | None = None) -> int | None:
        """Give the offset that comes next; None for a partition that isn't read here now."""
        self._place(topic)
        ahead = self._first_ahead().get(partition)
        return self._open().position(partition) if ahead is None else ahead

    def lag(self, partition: int = 0, *, topic: str | None = None) -> int:
        """Count the offsets of a partition that come yet."""
        position = self.position(partition, topic=topic)
        one = self._offsets(partition)
        return int(one["end"]) - (int(one["first"]) if position is None else position)

    def pause(self, partition: int = 0, *, topic: str | None = None) -> None:
        """Give no records of a partition until `resume`. Only without a group."""
        self._place(topic)
        self._open().pause(partition, True)
        self._put_back(partition)

    def resume(self, partition: int = 0, *, topic: str | None = None) -> None:
        """Give records of a partition again."""
        self._place(topic)
        self._open().pause(partition, False)

    def committed(self, partition: int = 0, *, topic: str | None = None) -> int | None:
        """Give where the group goes on in a partition; None if it has committed nothing there."""
        self._place(topic)
        return self._open().committed(partition)

    def commit(self, record: Record | None = None) -> None:
        """Say durably that the records given so far are done, or those up to ``record``."""
        reader = self._open()
        if record is None:
            offsets = dict(self._given)
        elif record.topic is None or record.partition is None or record.offset is None:
            raise ValueError("the record was not read from a topic")
        else:
            self._place(record.topic)
            offsets = {record.partition: record.offset + 1}
        if not offsets and self._group is not None:
            return
        reader.commit(offsets)
        self._forget(offsets)

    def _forget(self, committed: Mapping[int, int]) -> None:
        for partition, offset in committed.items():
            if self._given.get(partition, offset + 1) <= offset:
                del self._given[partition]

    def _done(self) -> Done | None:
        """Give what was given so far as a step of a commit; None where that is nothing."""
        reader = self._open()
        with self._holding:
            offsets = dict(self._given)
        step = reader.step(offsets)
        return Done(self, step, offsets) if offsets else None

    def close(self) -> None:
        """Leave the group; with ``auto_commit`` what was given is committed. Fine to call twice."""
        self._end(is_failed=False)

    def _end(self, *, is_failed: bool) -> None:
        reader, self._reader = self._reader, None
        if reader is not None:
            undone = self._first_ahead()
            if is_failed:
                undone |= self._undone
            reader.leave(undone)

    def _fill(self, seconds: float) -> bool:
        if not self._ahead:
            found = self._look(seconds, _RECORDS_MAX, _BYTES_MAX)
            with self._holding:
                self._ahead.extend(found)
        return bool(self._ahead)

    def _take(self) -> Record | None:
        self._open()
        with self._holding:
            if not self._ahead:
                return None
            record = self._ahead.popleft()
            self._note([record])
        return record

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Record:
        end = self._until(self._idle_timeout)
        while True:
            record = self._take()
            if record is not None:
                return record
            left = end - time.monotonic()
            if not self._fill(max(left, 0.0)) and left <= 0:
                raise StopIteration

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Record:
        return await awaiting.next_record(self)

    def __enter__(self) -> Self:
        self._open()
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> Literal[False]:
        try:
            self._end(is_failed=exception_type is not None)
        except Exception:
            # The body's own exception says more than what closing met after it.
            if exception_type is None:
                raise
        return False

    def __repr__(self) -> str:
        if self._reader is None:
            return "<RemoteConsumer, closed>"
        group = "" if self._group is None else f" of group {self._group!r}"
        return f"<RemoteConsumer {self._reader.member!r}{group}>"

"""Logs of a server."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from timestrata import awaiting
from timestrata._timestrata import LogBucket, LogEntries, LogEntry, LogFacet, _Server
from timestrata.errors import InvalidArgumentError, NotFoundError
from timestrata.remote.connection import (
    LINES,
    Connection,
    Remote,
    duration_text,
    lines,
    names_text,
    ns_text,
    time_ns,
)
from timestrata.remote.following import Following

if TYPE_CHECKING:
    from timestrata._timestrata import Duration, LogClock, LogEntrylike, LogFigures, LogPlace, Rows, TableTime

__all__ = ["RemoteLogTail", "RemoteLogs"]

_PARTS = ("message", "level", "source_time", "labels", "fields")


class RemoteLogs(Remote):
    """A log of a server. Made by `RemoteStore.logs`; its methods are those of `Logs`.

    Fields are what JSON can say, whole numbers of any size among them.
    """

    MISSING: ClassVar[Mapping[str, str]] = {
        "compact": "the server compacts by itself",
        "flush": "the server flushes by itself",
    }

    def __init__(
        self, connection: Connection, name: str, labels: Mapping[str, str] | None
    ) -> None:
        super().__init__(connection)
        self._name = name
        self._labels = _labels(labels)

    @property
    def name(self) -> str:
        """Its name."""
        return self._name

    @property
    def labels(self) -> dict[str, str]:
        """The labels that entries get which are written by this object."""
        return dict(self._labels)

    def describe(self) -> LogFigures:
        """What it was made as, with what has been changed since, as `Logs.describe` says it."""
        described: LogFigures = self._connection.get("logs", self._name)
        return described

    @property
    def columns(self) -> list[str]:
        """The fields that have columns of their own now."""
        return self.describe()["columns"]

    @property
    def message_bytes_max(self) -> int:
        """Longest message that it takes, in bytes."""
        return self.describe()["message_bytes_max"]

    def set_retention(self, *, age: float | None = None, bytes: int | None = None) -> None:
        """Throw away by itself what is older than ``age`` seconds, or the oldest beyond so many ``bytes``."""
        self._connection.send(
            "PATCH",
            "logs",
            self._name,
            body={"retention_age": age, "retention_bytes": bytes},
            repeats=True,
        )

    def with_labels(self, labels: Mapping[str, str]) -> RemoteLogs:
        """Give the same log, with further labels for what is written by it."""
        return RemoteLogs(self._connection, self._name, {**self._labels, **_labels(labels)})

    def write(
        self,
        message: str,
        /,
        *,
        level: str | int | None = None,
        source_time: TableTime | None = None,
        labels: Mapping[str, str] | None = None,
        sync: bool = False,
        **fields: Any,
    ) -> int:
        """Write an entry, as `Logs.write` does. Gives when it arrived, in nanoseconds."""
        entry = {
            "message": message,
            "level": level,
            "source_time": source_time,
            "labels": labels,
            "fields": fields,
        }
        return self.write_many([entry], sync)[0]

    async def write_async(
        self,
        message: str,
        /,
        *,
        level: str | int | None = None,
        source_time: TableTime | None = None,
        labels: Mapping[str, str] | None = None,
        sync: bool = False,
        **fields: Any,
    ) -> int:
        """`write` without holding up an event loop; a task that is cancelled waits for its end."""
        return await awaiting.write(
            self.write,
            message,
            level=level,
            source_time=source_time,
            labels=labels,
            sync=sync,
            **fields,
        )

    def write_many(self, entries: Iterable[LogEntrylike], sync: bool = False) -> range:
        """Write entries in one commit, as `Logs.write_many` does. Gives when they arrived: a nanosecond apart."""
        said = [self._entry(entry) for entry in entries]
        if not said:
            return range(0)
        told = self._connection.send(
            "POST", "logs", self._name, "entries", text=lines(said), content_type=LINES
        )
        first = time_ns(told["first_timestamp"]) or 0
        return range(first, first + int(told["entries"]))

    async def write_many_async(
        self, entries: Iterable[LogEntrylike], sync: bool = False
    ) -> range:
        """`write_many` without holding up an event loop; a task that is cancelled waits for its end."""
        return await awaiting.write(self.write_many, entries, sync)

    def _entry(self, given: LogEntrylike) -> dict[str, Any]:
        if isinstance(given, LogEntry):
            parts: Mapping[str, Any] = given.to_dict()
        elif isinstance(given, str):
            parts = {"message": given}
        elif isinstance(given, Mapping):
            parts = given
        else:
            kind = type(given).__name__
            raise TypeError(f"an entry must be a str, a mapping or a LogEntry, not {kind!r}")
        for name in parts:
            if name not in _PARTS and name != "timestamp":
                raise InvalidArgumentError(
                    f"an entry has no part {name!r}: it has {', '.join(_PARTS)}; put it among the fields"
                )
        if not isinstance(parts.get("message"), str):
            raise TypeError("an entry's message must be a str")
        said = {
            "message": parts["message"],
            "level": _level(parts.get("level")),
            "source_time": _Server.time_ns(parts.get("source_time")),
            "labels": {**self._labels, **_labels(parts.get("labels"))},
            "fields": _fields(parts.get("fields")),
        }
        return {name: part for name, part in said.items() if part not in (None, {})}

    def _get(self, what: str, **parameters: Any) -> Any:
        return self._connection.get("logs", self._name, what, **parameters)

    def search(
        self,
        filter: str = "",
        *,
        start: TableTime | None = None,
        end: TableTime | None = None,
        by: LogClock | None = None,
        newest_first: bool = False,
        limit: int | None = None,
        after: LogPlace | None = None,
    ) -> LogEntries:
        """Find entries, oldest first, as `Logs.search` does. They come while they are read; a second reading asks again."""
        connection = self._connection
        return connection.server.search(
            ["logs", self._name, "search"],
            connection.reading({}),
            filter,
            start=start,
            end=end,
            by=by,
            newest_first=newest_first,
            limit=limit,
            after=after,
        )

    def count(
        self,
        filter: str = "",
        *,
        start: TableTime | None = None,
        end: TableTime | None = None,
        by: LogClock | None = None,
    ) -> int:
        """Count the entries that a search would find."""
        return int(self._get("count", **dict(_Server.log_parameters(filter, start, end, by)))["count"])

    def histogram(
        self,
        filter: str = "",
        *,
        start: TableTime | None = None,
        end: TableTime | None = None,
        by: LogClock | None = None,
        step: Duration | None = None,
    ) -> list[LogBucket]:
        """Count the entries that a search would find by stretches of time, as `Logs.histogram` does."""
        asked = dict(_Server.log_parameters(filter, start, end, by))
        said = self._get(
            "histogram", **asked, step=None if step is None else duration_text("step", step)
        )
        length, buckets = int(said["step_ns"]), []
        for told in said["buckets"]:
            begins = time_ns(told["start"]) or 0
            # The last one may end behind the last time that there is.
            ends = min(begins + length, 2**63 - 1)
            buckets.append(LogBucket._of(begins, ends, told["count"], told["levels"]))
        return buckets

    def facets(
        self,
        filter: str = "",
        *,
        start: TableTime | None = None,
        end: TableTime | None = None,
        by: LogClock | None = None,
        fields: str | Sequence[str] | None = None,
        values: int = 10,
    ) -> list[LogFacet]:
        """Count which values fields have among the entries that a search would find, as `Logs.facets` does."""
        asked = dict(_Server.log_parameters(filter, start, end, by))
        said = self._get("facets", **asked, fields=names_text("fields", fields), values=values)
        return [
            LogFacet._of(
                told["field"],
                told["count"],
                [(value["value"], value["count"]) for value in told["values"]],
                told["others"],
            )
            for told in said
        ]

    def stats(
        self,
        question: str,
        *,
        start: TableTime | None = None,
        end: TableTime | None = None,
        by: LogClock | None = None,
    ) -> Rows:
        """Count, sum and rank the entries that a filter finds, group by group, as `Logs.stats` does."""
        asked = {**dict(_Server.log_parameters("", start, end, by)), "filter": question}
        return self._connection.rows("logs", self._name, "stats", **asked)

    def context(self, timestamp: LogPlace, before: int = 5, after: int = 5) -> list[LogEntry]:
        """Give an entry with those around it, oldest first; none if there is no such entry."""
        connection = self._connection
        asked = {
            "timestamp": ns_text(_Server.log_place(timestamp)),
            "before": before,
            "after": after,
        }
        try:
            entries, _ = connection.server.entries(
                ["logs", self._name, "context"], connection.reading(asked)
            )
        except NotFoundError:
            # Of a log that is there, it is the entry that isn't.
            self.count()
            return []
        return entries

    def tail(self, filter: str = "", *, after: LogPlace | None = None) -> RemoteLogTail:
        """Follow the log: entries as they arrive, as `Logs.tail` does."""
        return RemoteLogTail(self._connection, self._name, filter, after)

    def drop(self) -> None:
        """Remove the log and its entries, durably."""
        self._connection.send("DELETE", "logs", self._name)

    def __len__(self) -> int:
        return self.count()

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"<RemoteLogs {self._name!r} of {self._connection.server.url}>"


class RemoteLogTail(Following[LogEntry]):
    """Follows a log of a server: each entry that arrives, once and in order. Made by `RemoteLogs.tail`; as `LogTail`.

    It goes on over a server that is started anew: it asks behind the last entry that came.
    """

    def __init__(
        self, connection: Connection, name: str, filter: str, after: LogPlace | None
    ) -> None:
        connection.expect_now()
        self._connection = connection
        self._path = ["logs", name]
        # Says what is wrong with the filter.
        self._filter = dict(_Server.log_parameters(filter, None, None, "timestamp")).get("filter")
        self._ready: deque[LogEntry] = deque()
        # Held while asking. Who wants what is there already need not wait for it.
        self._asking = threading.Lock()
        self._asked_behind = self._last() if after is None else _Server.log_place(after)
        self._given = self._asked_behind

    def _last(self) -> int:
        """Give the arrival of the newest entry: what comes from now on is behind it."""
        found, _ = self._connection.server.entries(
            [*self._path, "search"], [("limit", "1"), ("order", "desc")]
        )
        return found[0].timestamp if found else 0

    @property
    def position(self) -> str:
        """The position of the last entry that was delivered; `RemoteLogs.tail` and `RemoteLogs.search` go on behind it."""
        return f"{self._given}"

    def _ask(self) -> None:
        with self._asking:
            if self._ready:
                return
            asked = [("after", str(self._asked_behind))]
            if self._filter is not None:
                asked.append(("filter", self._filter))
            found, behind = self._connection.server.entries([*self._path, "tail"], asked)
            self._ready.extend(found)
            if behind is not None:
                self._asked_behind = behind
            if not found:
                # What was looked at and not wanted need not be looked at again.
                self._given = self._asked_behind

    def _fill(self, seconds: float) -> bool:
        if self._connection.server.closed:
            return False
        self._ask()
        return True

    def _take(self) -> LogEntry | None:
        try:
            entry = self._ready.popleft()
        except IndexError:
            return None
        self._given = entry.timestamp
        return entry

    def __repr__(self) -> str:
        return f"<RemoteLogTail behind {self.position}>"


def _labels(given: Mapping[str, str] | None) -> dict[str, str]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise TypeError(f"labels must be a mapping, not {type(given).__name__!r}")
    for name, value in given.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise TypeError(f"label {name!r} must be a str")
    return dict(given)


def _fields(given: Mapping[str, Any] | None) -> dict[str, Any]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise TypeError(f"fields must be a mapping, not {type(given).__name__!r}")
    return dict(given)


def _level(given: str | int | None) -> str | None:
    if given is None or isinstance(given, str):
        return given
    if isinstance(given, bool) or not hasattr(given, "__index__"):
        raise TypeError(
            "level must be a str such as 'warn', a number of logging's such as 30, or None, "
            f"not {type(given).__name__!r}"
        )
    return _Server.log_level(given)

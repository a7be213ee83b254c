"""Time logs of a server."""

from __future__ import annotations

import base64
import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, overload

from timestrata import awaiting
from timestrata._timestrata import Rows, _Server, cbor_decode, cbor_encode
from timestrata.errors import (
    AlreadyExistsError,
    InvalidArgumentError,
    InvalidDataError,
    NotFoundError,
)
from timestrata.remote.connection import (
    LINES,
    Connection,
    Remote,
    bytes_json,
    dumps,
    quoted,
    time_text,
    unlike,
)
from timestrata.remote.timelog_tail import RemoteTimelogTail

if TYPE_CHECKING:
    from typing_extensions import Self

    from timestrata._timestrata import Codec, Timestamp, Unit

__all__ = ["RemoteTimelog", "RemoteTimelogIter", "known_timelog", "open_timelog"]

# Entries that are asked for at once. An answer has at most 64 MiB.
_PAGE_ENTRIES = 4_096
# Entries of one request that writes, and bytes.
_SEND_ENTRIES = 65_536
_SEND_BYTES = 16 << 20
_TIME_MIN, _TIME_MAX = -(2**63), 2**63 - 1

Entry = tuple[int, Any]


class _Nothing:
    """What stands where nothing was given; None is a value."""


_NOTHING: Any = _Nothing()


def open_timelog(
    connection: Connection, name: str, codec: Codec | None, unit: str | None, kept: Mapping[str, float | None]
) -> RemoteTimelog:
    """Give the time log of a name; made if it is missing and may be."""
    try:
        log = known_timelog(connection, name)
    except NotFoundError:
        if connection.at is not None:
            raise
        if codec in ("pickle", "arrow"):
            raise InvalidArgumentError(
                f"a server makes no time log of codec {codec!r}",
                hint="choose 'cbor', 'json' or 'bytes', or make it where the store is open",
            ) from None
        asked = {"codec": codec, "unit": unit, **kept}
        body = {name: value for name, value in asked.items() if value is not None}
        said = connection.send("PUT", "timelogs", name, body=body, repeats=True)
        log = RemoteTimelog(connection, name, said["codec"], said["unit"])
    for what, is_, wanted in (("codec", log.codec, codec), ("unit", log.unit, unit)):
        if wanted not in (None, is_):
            raise AlreadyExistsError(f"time log {name!r} has {what} {is_!r}, not {wanted!r}")
    said_now = {name: value for name, value in kept.items() if value is not None}
    if said_now:
        # As where the store is open: what is asked for is so from now on.
        connection.send("PUT", "timelogs", name, body=said_now, repeats=True)
    return log


def known_timelog(connection: Connection, name: str) -> RemoteTimelog:
    """Give the time log of a name, which is there."""
    said = connection.get("timelogs", name)
    if said["codec"] == "pickle":
        raise InvalidArgumentError(
            f"time log {name!r} holds pickles, which a server neither reads nor writes",
            hint="open the store's directory, by timestrata.open",
        )
    return RemoteTimelog(connection, name, said["codec"], said["unit"])


class RemoteTimelog(Remote):
    """A time log of a server. Made by `RemoteStore.timelog`; its methods are those of `Timelog`.

    Values are exactly those of the log's codec. Those of a typed log are read in SQL, from a token that may read the whole
    store.
    """

    MISSING: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("views", "page_spans"), "memory is shared only where the store is open"),
        **dict.fromkeys(
            ("to_arrow", "to_numpy", "to_pandas", "to_polars", "__arrow_c_stream__"),
            "ask in SQL: store.sql('SELECT * FROM \"NAME\"').to_arrow()",
        ),
        **dict.fromkeys(
            ("flush", "compact", "maint_step", "start_maintenance", "stop_maintenance"),
            "the server does it by itself",
        ),
        **dict.fromkeys(
            ("busy_events", "busy_policy", "alloc_failures", "extend_skipped", "maintenance_mode",
             "min_ts_floor", "retired_queue_len", "stats", "validate"),
            "it is told where the store is open",
        ),  # fmt: skip
        **dict.fromkeys(
            ("reopen", "configure", "close", "closed"), "it belongs to the connection: store.close()"
        ),
        "bulk_append": "extend() takes timestamps and objects too",
        "alter": "ask in SQL: store.sql('ALTER TABLE \"NAME\" ADD COLUMN name type')",
        "sync": "what a server acknowledges has been synced",
    }

    def __init__(self, connection: Connection, name: str, codec: Codec, unit: Unit) -> None:
        super().__init__(connection)
        self._name = name
        self._codec: Codec = codec
        self._unit: Unit = unit

    @property
    def name(self) -> str:
        """Its name."""
        return self._name

    @property
    def codec(self) -> Codec:
        """How its values are stored."""
        return self._codec

    @property
    def unit(self) -> Unit:
        """The unit of its timestamps."""
        return self._unit

    @property
    def time_unit(self) -> Unit:
        """The unit of its timestamps."""
        return self._unit

    def _time(self, time: Timestamp) -> int:
        return _Server.time_in(time, self._unit)

    # Writing

    def append(
        self,
        obj_or_ts: Any,
        obj_or_none: Any = _NOTHING,
        *,
        ts: Timestamp | None = None,
        sync: bool = False,
    ) -> None:
        """Append one object, as `Timelog.append` does. Without a time it gets the server's."""
        time = None if ts is None else self._time(ts)
        if obj_or_none is _NOTHING:
            self._send([self._line(time, obj_or_ts)])
        else:
            self._send([self._line(self._time(obj_or_ts), obj_or_none)])

    async def append_async(
        self,
        obj_or_ts: Any,
        obj_or_none: Any = _NOTHING,
        *,
        ts: Timestamp | None = None,
        sync: bool = False,
    ) -> None:
        """`append` without holding up an event loop; a task that is cancelled waits for its end."""
        await awaiting.write(self.append, obj_or_ts, obj_or_none, ts=ts, sync=sync)

    def extend(
        self,
        pairs_or_timestamps: Iterable[Any],
        objects: Iterable[Any] | None = None,
        *,
        mostly_ordered: bool | None = None,
        insert_on_error: bool | None = None,
        sync: bool = False,
    ) -> None:
        """Append many objects, in any order of time, as `Timelog.extend` does.

        They are committed in parts of 65,536 entries or 16 MiB, and a note on an exception says how many are stored.
        """
        if insert_on_error:
            raise ValueError("insert_on_error=True: a log that a store keeps skips no row")
        pairs: Iterable[Any] = pairs_or_timestamps
        if objects is not None:
            pairs = _side_by_side(pairs_or_timestamps, objects)
        sent, lines, size = 0, [], 0
        try:
            for pair in pairs:
                time, value = _pair(pair)
                line = self._line(self._time(time), value)
                lines.append(line)
                size += len(line)
                if len(lines) >= _SEND_ENTRIES or size >= _SEND_BYTES:
                    sent, lines, size = sent + self._send(lines), [], 0
            self._send(lines)
        except Exception as error:
            what = f"the first {sent} rows are stored" if sent else "nothing was stored"
            error.add_note(f"extend(): {what}; it stopped behind row {sent + len(lines)}")
            raise

    async def extend_async(
        self,
        pairs_or_timestamps: Iterable[Any],
        objects: Iterable[Any] | None = None,
        *,
        mostly_ordered: bool | None = None,
        insert_on_error: bool | None = None,
        sync: bool = False,
    ) -> None:
        """`extend` without holding up an event loop; a task that is cancelled waits for its end."""
        await awaiting.write(
            self.extend,
            pairs_or_timestamps,
            objects,
            mostly_ordered=mostly_ordered,
            insert_on_error=insert_on_error,
            sync=sync,
        )

    def _send(self, lines: list[str]) -> int:
        if lines:
            self._connection.send(
                "POST",
                "timelogs",
                self._name,
                "entries",
                text="\n".join(lines) + "\n",
                content_type=LINES,
            )
        return len(lines)

    def _line(self, time: int | None, value: Any) -> str:
        said: dict[str, Any] = {} if time is None else {"time": time}
        if self._codec == "arrow":
            said["value"] = _cells(value)
        else:
            said["encoded"] = base64.b64encode(self._encoded(value)).decode()
        return dumps(said)

    def _encoded(self, value: Any) -> bytes:
        if self._codec == "cbor":
            return cbor_encode(value)
        if self._codec == "json":
            return dumps(value).encode()
        if isinstance(value, (bytes, bytearray, memoryview)):
            return bytes(value)
        raise TypeError(
            f"a log of codec 'bytes' takes bytes, not {type(value).__name__!r}: encode it first"
        )

    def __setitem__(self, key: Timestamp, value: Any, /) -> None:
        self.append(key, value)

    def set_retention(self, *, age: float | None = None, bytes: int | None = None) -> None:
        """Throw away by itself what is older than ``age`` seconds, or the oldest beyond so many ``bytes``."""
        body = {"retention_age": age, "retention_bytes": bytes}
        self._connection.send("PUT", "timelogs", self._name, body=body, repeats=True)

    def describe(self) -> dict[str, Any]:
        """Give what it was made as, with what has been changed since, as `Timelog.describe` does."""
        said = self._connection.get("timelogs", self._name)
        names = ("name", "codec", "unit", "retention_age", "retention_bytes", "min_ts")
        return {name: said[name] for name in names}

    def delete(self, t1: Timestamp, t2: Timestamp | None = None) -> None:
        """Delete the entries at a time, or from one to before another."""
        self._delete(*self._range(t1, t2))

    async def delete_async(self, t1: Timestamp, t2: Timestamp | None = None) -> None:
        """`delete` without holding up an event loop; a task that is cancelled waits for its end."""
        await awaiting.write(self.delete, t1, t2)

    def _range(self, t1: Timestamp, t2: Timestamp | None) -> tuple[int, int | None]:
        """Give the ends of a range, or of one time."""
        first = self._time(t1)
        if t2 is None:
            return first, None if first == _TIME_MAX else first + 1
        return first, self._time(t2)

    def _delete(self, first: int | None, behind: int | None) -> None:
        if first is not None and behind is not None and first >= behind:
            return
        # Without bounds a server would not know that all is meant.
        first = _TIME_MIN if first is None and behind is None else first
        self._connection.send(
            "DELETE", "timelogs", self._name, "entries", repeats=True, from_=first, to=behind
        )

    def __delitem__(self, key: Timestamp | slice, /) -> None:
        if isinstance(key, slice):
            self._delete(*self._bounds(key))
        else:
            self.delete(key)

    def cutoff(self, ts: Timestamp) -> None:
        """Delete everything before ``ts``."""
        self._delete(None, self._time(ts))

    def delete_range(self, t1: Timestamp, t2: Timestamp, /) -> None:
        """Delete the entries from one time to before another."""
        self._delete(self._time(t1), self._time(t2))

    def delete_before(self, t: Timestamp, /) -> None:
        """Delete everything before a time."""
        self._delete(None, self._time(t))

    # Reading

    def _bounds(self, key: slice) -> tuple[int | None, int | None]:
        if key.step is not None:
            raise ValueError("slices of a log have no step")
        return (
            None if key.start is None else self._time(key.start),
            None if key.stop is None else self._time(key.stop),
        )

    def _entries(
        self, first: int | None, behind: int | None, *, reverse: bool = False, limit: int | None = None
    ) -> RemoteTimelogIter:
        if first is not None and behind is not None and first >= behind:
            return RemoteTimelogIter(lambda: 0, iter(()))
        count = _Counting(self._connection, self._name, first, behind)
        if self._codec == "arrow":
            return RemoteTimelogIter(count, self._typed(first, behind, reverse, limit))
        pages = _pages(self._connection, self._name, first, behind, reverse, limit)
        decoders: dict[str, Callable[[bytes], Any]] = {"cbor": cbor_decode, "json": json.loads}
        decode = decoders.get(self._codec, bytes)
        return RemoteTimelogIter(count, ((time, decode(value)) for time, value in pages))

    def _typed(
        self, first: int | None, behind: int | None, reverse: bool, limit: int | None
    ) -> Iterator[Entry]:
        time = 'CAST("time" AS BIGINT)'
        said = [f"{time} >= {first}"] if first is not None else []
        said += [f"{time} < {behind}"] if behind is not None else []
        order = "DESC" if reverse else "ASC"
        bound = "" if limit is None else f" LIMIT {limit}"
        rows: Rows = self._connection.sql(
            f'SELECT *, {time} AS "time in units" FROM {quoted(self._name)} '
            f'WHERE {" AND ".join(said) or "true"} ORDER BY "time" {order}{bound}'
        )
        for row in rows:
            at = row.pop("time in units")
            del row["time"]
            yield at, row["value"] if list(row) == ["value"] else row

    def at(self, ts: Timestamp) -> list[Any]:
        """Give the objects at a time, in the order in which they were written."""
        time = self._time(ts)
        behind = None if time == _TIME_MAX else time + 1
        return [value for _, value in self._entries(time, behind)]

    @overload
    def __getitem__(self, key: slice, /) -> RemoteTimelogIter: ...
    @overload
    def __getitem__(self, key: Timestamp, /) -> list[Any]: ...
    def __getitem__(self, key: slice | Timestamp, /) -> RemoteTimelogIter | list[Any]:
        if isinstance(key, slice):
            return self._entries(*self._bounds(key))
        return self.at(key)

    def range(self, t1: Timestamp, t2: Timestamp, /) -> RemoteTimelogIter:
        """Give the entries from one time to before another."""
        return self._entries(self._time(t1), self._time(t2))

    def since(self, t: Timestamp, /) -> RemoteTimelogIter:
        """Give the entries from a time on."""
        return self._entries(self._time(t), None)

    def until(self, t: Timestamp, /) -> RemoteTimelogIter:
        """Give the entries before a time."""
        return self._entries(None, self._time(t))

    def all(self) -> RemoteTimelogIter:
        """Give all entries."""
        return self._entries(None, None)

    def equal(self, t: Timestamp, /) -> RemoteTimelogIter:
        """Give the entries at a time."""
        time = self._time(t)
        return self._entries(time, None if time == _TIME_MAX else time + 1)

    def point(self, t: Timestamp, /) -> RemoteTimelogIter:
        """Give the entries at a time."""
        return self.equal(t)

    def first(self, n: int = 1, /) -> list[Entry]:
        """Give the first ``n`` entries."""
        return list(self._entries(None, None, limit=n)) if n > 0 else []

    def last(self, n: int = 1, /) -> list[Entry]:
        """Give the last ``n`` entries, in order of time."""
        found = list(self._entries(None, None, reverse=True, limit=n)) if n > 0 else []
        return found[::-1]

    def tail(
        self,
        since: Timestamp | None = None,
        *,
        after: str | None = None,
        late: bool = False,
        name: str | None = None,
        interval: float = 0.05,
    ) -> RemoteTimelogTail:
        """Follow the log, as `Timelog.tail` does; the server waits for entries, whatever the ``interval``."""
        first = None if since is None else self._time(since)
        return RemoteTimelogTail(self._connection, (self._name, self._codec), first, after, late, name)

    def __iter__(self) -> RemoteTimelogIter:
        return self.all()

    def __reversed__(self) -> RemoteTimelogIter:
        return self._entries(None, None, reverse=True)

    def __len__(self) -> int:
        return _Counting(self._connection, self._name, None, None)()

    def __bool__(self) -> bool:
        return self.min_ts() is not None

    def __contains__(self, ts: Timestamp, /) -> bool:
        time = self._time(ts)
        behind = None if time == _TIME_MAX else time + 1
        return _Counting(self._connection, self._name, time, behind)() > 0

    def min_ts(self) -> int | None:
        """Give the first timestamp; None without entries."""
        found: int | None = self._connection.get("timelogs", self._name)["first_time"]
        return found

    def max_ts(self) -> int | None:
        """Give the last timestamp; None without entries."""
        found: int | None = self._connection.get("timelogs", self._name)["last_time"]
        return found

    def next_ts(self, t: Timestamp, /) -> int | None:
        """Give the first timestamp after a time; None if there is none."""
        time = self._time(t)
        if time == _TIME_MAX:
            return None
        return next((at for at, _ in self._entries(time + 1, None, limit=1)), None)

    def prev_ts(self, t: Timestamp, /) -> int | None:
        """Give the last timestamp before a time; None if there is none."""
        found = self._entries(None, self._time(t), reverse=True, limit=1)
        return next((at for at, _ in found), None)

    def to_dict(self, t1: Timestamp | None = None, t2: Timestamp | None = None) -> dict[int, Any]:
        """Give the entries of a range by their times: of several at one time the last."""
        return dict(self._entries(*self._bounds(slice(t1, t2))))

    def __repr__(self) -> str:
        url = self._connection.server.url
        return f"<RemoteTimelog {self._name!r} codec={self._codec} unit={self._unit} of {url}>"


class RemoteTimelogIter(Iterator[Entry]):
    """Entries of a range, asked for page by page while they are read: each page as the log is then. As `TimelogIter`."""

    def __init__(self, count: Callable[[], int], entries: Iterator[Entry]) -> None:
        self._count = count
        self._entries: Iterator[Entry] | None = entries
        self._given = 0

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Entry:
        if self._entries is None:
            raise StopIteration
        entry = next(self._entries)
        self._given += 1
        return entry

    def __len__(self) -> int:
        return 0 if self._entries is None else max(self._count() - self._given, 0)

    def next_batch(self, n: int, /) -> list[Entry]:
        """Give the next ``n`` entries, or those that are left."""
        return [entry for _, entry in zip(range(n), self, strict=False)]

    def close(self) -> None:
        """Give no more entries."""
        self._entries = None

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._entries is None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> Literal[False]:
        self.close()
        return False


class _Counting:
    """Counts the entries of a range."""

    def __init__(
        self, connection: Connection, name: str, first: int | None, behind: int | None
    ) -> None:
        self._connection, self._name, self._first, self._behind = connection, name, first, behind

    def __call__(self) -> int:
        said = self._connection.get(
            "timelogs", self._name, "count", from_=self._first, to=self._behind
        )
        return int(said["count"])


def _pages(
    connection: Connection,
    name: str,
    first: int | None,
    behind: int | None,
    reverse: bool,
    left: int | None,
) -> Iterator[tuple[int, bytes]]:
    """Give the entries of a range. Where a page ends within a time, those of that time are left to the next one."""
    page = _PAGE_ENTRIES
    while left is None or left > 0:
        asked = page if left is None else min(page, left)
        try:
            said = connection.get(
                "timelogs",
                name,
                "entries",
                from_=first,
                to=behind,
                limit=asked,
                order="desc" if reverse else "asc",
                values="encoded",
            )
        except InvalidArgumentError:
            # Of fewer the answer is shorter; a page of one entry says what else is wrong.
            if page == 1:
                raise
            page = max(page // 8, 1)
            continue
        found = deque((told["time"], base64.b64decode(told["encoded"])) for told in said)
        is_last = len(found) < asked or asked == left
        last = found[-1][0] if found else None
        if not is_last:
            while found and found[-1][0] == last:
                found.pop()
            if not found:
                # All are of one time: they must come at once.
                page *= 2
                continue
        if left is not None:
            left -= len(found)
        yield from found
        if is_last or last is None:
            return
        first, behind = (first, min(last, _TIME_MAX - 1) + 1) if reverse else (last, behind)


def _pair(pair: Any) -> tuple[Any, Any]:
    try:
        time, value = pair
    except (TypeError, ValueError):
        raise InvalidDataError(f"extend() expects (ts, obj) pairs, not {repr(pair)[:80]}") from None
    return time, value


def _side_by_side(times: Iterable[Any], objects: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    try:
        yield from zip(times, objects, strict=True)
    except ValueError as error:
        raise InvalidDataError(f"timestamps and objects must have same length: {error}") from None


def _cells(value: Any) -> Any:
    """Give a value of a typed log as JSON has it."""
    if isinstance(value, Mapping):
        return {name: _cells(cell) for name, cell in value.items()}
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes_json(bytes(value))
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    text = time_text(value)
    if text is None:
        raise unlike("a value without a form in JSON")
    return text

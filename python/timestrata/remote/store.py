"""A store behind a server: what `connect` gives."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, overload

from timestrata import awaiting
from timestrata._timestrata import Rows, _Server
from timestrata.errors import (
    ClosedError,
    InvalidArgumentError,
    NotFoundError,
    ReadOnlyError,
)
from timestrata.remote.changes import RemoteChanges
from timestrata.remote.commit import RemoteCommit
from timestrata.remote.connection import LINES, Connection, Remote, names_text, time_text
from timestrata.remote.consumer import RemoteConsumer
from timestrata.remote.graph import RemoteGraph
from timestrata.remote.logs import RemoteLogs
from timestrata.remote.table import RemoteTable
from timestrata.remote.timelog import RemoteTimelog, open_timelog
from timestrata.remote.topic import RemoteTopic, open_topic

if TYPE_CHECKING:
    from os import PathLike
    from types import TracebackType

    from typing_extensions import Self

    from timestrata._timestrata import Codec, Duration, GroupOfStore, LogClock, TableTime

__all__ = ["RemoteStore", "connect"]

# Names the file with the token where no argument does, as for the command.
_TOKEN_FILE_VARIABLE = "TIMESTRATA_TOKEN_FILE"
# As long a server may wait with an answer that has nothing to tell yet, and somewhat longer.
_TIMEOUT_NS_MIN = 10_000_000_000
# The models, as paths have them.
_MODELS = ("tables", "logs", "topics", "graphs", "timelogs")


def connect(
    url: str,
    *,
    token: str | None = None,
    token_file: str | PathLike[str] | None = None,
    certificates: str | PathLike[str] | bytes | None = None,
    timeout: Duration | None = None,
) -> RemoteStore:
    """Give the store behind a server (``timestrata serve``), which is asked over HTTP.

    The server is asked once whether it is there and takes the token.

    Parameters
    ----------
    url : str
        Its address, such as ``"http://127.0.0.1:8080"``.
    token : str, optional
        The token that it asks for. One in a file is in no program's text and no list of processes.
    token_file : path, optional
        A file whose first line is the token; else the one that the environment names as ``TIMESTRATA_TOKEN_FILE``.
    certificates : path or bytes, optional
        Certificates, as PEM has them, that are trusted in place of those of the public authorities.
    timeout : float, timedelta or str, optional
        How long nothing at all may come before the server is given up, a long query's first rows among it: seconds, or "30s"; ten
        at least. Ten minutes unless given.

    Raises
    ------
    IoError
        No server answers there.
    InvalidArgumentError
        It is no such address, or the server doesn't know the token.

    Examples
    --------
    >>> import timestrata
    >>> try:
    ...     timestrata.connect("localhost:8080")
    ... except ValueError as error:
    ...     print(error.hint)
    give it as http://HOST:PORT, or https://HOST:PORT
    """
    if timeout is not None and _Server.duration_ns("timeout", timeout) < _TIMEOUT_NS_MIN:
        raise InvalidArgumentError(
            "timeout: a server is waited for 10 s at least",
            hint="for a query, give sql() a timeout of its own",
        )
    if token is not None and token_file is not None:
        raise InvalidArgumentError("connect() takes a token or a file with one, not both")
    named = token_file if token_file is not None else os.environ.get(_TOKEN_FILE_VARIABLE) or None
    if token is None and named is not None:
        token = _Server.token_in(named)
    if certificates is not None and not isinstance(certificates, bytes):
        certificates = Path(certificates).read_bytes()
    server = _Server(url, token=token, certificates=certificates, timeout=timeout)
    store = RemoteStore(Connection(server))
    store.tables()
    return store


class RemoteStore(Remote):
    """A store behind a server. Made by `connect`; its methods are those of `Store`, as far as a server does them.

    Safe to use from several threads. After a fork the child must connect anew.
    """

    MISSING: ClassVar[Mapping[str, str]] = {
        "backup": "copy the store's directory, by 'timestrata backup', also while the server runs",
        "check": "check the store's directory, by 'timestrata check', also while the server runs",
        "compact": "the server compacts by itself",
        "flush": "the server flushes by itself",
        "history": "see the store's directory, by 'timestrata info'",
        "mode": "a server says by its tokens what may be done",
        "oldest_commit": "see the store's directory, by 'timestrata info'",
        "path": "the store's directory is the server's",
        "pin": "pin it where the store is open, in Python or by 'timestrata pin'",
        "pins": "see the store's directory, by 'timestrata info'",
        "purge": "purge the store's directory, while no server has it open",
        "recovery": "the server's log has it",
        "refresh": "each call sees what is there by then",
        "stats": "the server tells its figures at /metrics",
        "streams": "list tables(), log_names(), topics(), graphs() and timelogs()",
        "sync": "what a server acknowledges has been synced",
        "unpin": "unpin it where the store is open",
    }

    # Models

    def timelog(
        self,
        name: str,
        *,
        codec: Codec | None = None,
        unit: Literal["s", "ms", "us", "ns"] | None = None,
        retention_age: float | None = None,
        retention_bytes: int | None = None,
        min_ts: int | None = None,
    ) -> RemoteTimelog:
        """Give the time log of this name; make it if it is missing."""
        kept = {"retention_age": retention_age, "retention_bytes": retention_bytes, "min_ts": min_ts}
        return open_timelog(self._connection, name, codec, unit, kept)

    def timelogs(self) -> list[str]:
        """List the names of all time logs."""
        return self._names("timelogs")

    def table(
        self,
        name: str,
        *,
        time: str | None = None,
        key: str | Sequence[str] | None = None,
        tags: str | Sequence[str] | None = None,
        ids: bool = False,
        compression: str | None = None,
    ) -> RemoteTable:
        """Give the table of this name, which comes into being with its first rows."""
        # One that isn't there yet comes into being as it was asked for with options last, whoever brings its first rows.
        said = (time, key, tags, compression) != (None, None, None, None) or ids
        known = self._connection.made_with.get(name)
        if known is not None and not said:
            return RemoteTable(self._connection, name, known)
        made_with = {
            "time": time,
            "key": names_text("key", key),
            "tags": names_text("tags", tags),
            "ids": ids,
            "compression": compression,
        }
        self._connection.made_with[name] = made_with
        return RemoteTable(self._connection, name, made_with)

    def tables(self) -> list[str]:
        """List the names of all tables."""
        return self._names("tables")

    def topic(
        self,
        name: str,
        *,
        partitions: int | None = None,
        record_bytes_max: int | None = None,
        timestamp: Literal["producer", "store"] | None = None,
        retention_age: float | None = None,
        retention_bytes: int | None = None,
        retention_records: int | None = None,
        compact: bool | None = None,
        retention_groups_age: float | None = None,
        compression: str | None = None,
        keep_entries: bool | None = None,
        create: bool = True,
    ) -> RemoteTopic:
        """Give the topic of this name; make it if it is missing, unless ``create`` is False."""
        options = {
            "partitions": partitions,
            "record_bytes_max": record_bytes_max,
            "timestamp": timestamp,
            "retention_age": retention_age,
            "retention_bytes": retention_bytes,
            "retention_records": retention_records,
            "compact": compact,
            "retention_groups_age": retention_groups_age,
            "compression": compression,
            "keep_entries": keep_entries,
        }
        said = {name: value for name, value in options.items() if value is not None}
        return open_topic(self._connection, name, said, create)

    def topics(self) -> list[str]:
        """List the names of all topics."""
        return self._names("topics")

    def groups(self) -> dict[str, GroupOfStore]:
        """List all groups of the store that have committed something, or have members with partitions now, by name."""
        return {
            one["group"]: {
                "offsets": {
                    (at["topic"], at["partition"]): at["committed"] for at in one["offsets"]
                },
                "members": {
                    member["member"]: [
                        (place["topic"], place["partition"]) for place in member["partitions"]
                    ]
                    for member in one["members"]
                },
            }
            for one in self._connection.get("groups")
        }

    def graph(
        self, name: str, *, keep_versions: int | None = None, create: bool = True
    ) -> RemoteGraph:
        """Give the graph of this name; make it if it is missing, unless ``create`` is False."""
        if keep_versions is not None:
            body = {"keep_versions": keep_versions}
            self._connection.send("PUT", "graphs", name, body=body)
        elif name not in self.graphs():
            if not create or self._connection.at is not None:
                # Says that it isn't there.
                self._connection.get("graphs", name)
            self._connection.send("PUT", "graphs", name, body={})
        return RemoteGraph(self._connection, name)

    def graphs(self) -> list[str]:
        """List the names of all graphs."""
        return self._names("graphs")

    def logs(
        self,
        name: str,
        *,
        message_bytes_max: int | None = None,
        columns_max: int | None = None,
        retention_age: float | None = None,
        retention_bytes: int | None = None,
        clock: LogClock | None = None,
        compression: str | None = None,
        labels: Mapping[str, str] | None = None,
        create: bool = True,
    ) -> RemoteLogs:
        """Give the log of this name; make it if it is missing, unless ``create`` is False. Options need a token that may
        administer it.
        """
        given = {
            "message_bytes_max": message_bytes_max,
            "columns_max": columns_max,
            "retention_age": retention_age,
            "retention_bytes": retention_bytes,
            "clock": clock,
            "compression": compression,
        }
        options = {option: value for option, value in given.items() if value is not None}
        connection = self._connection
        is_there = name in self.log_names()
        if not is_there and (not create or connection.at is not None):
            raise NotFoundError(f"no log {name!r}", hint="create it first, or check the name")
        if options:
            method = "PATCH" if is_there else "PUT"
            connection.send(method, "logs", name, body=options, repeats=True)
        elif not is_there:
            # No entries; and a log to have them.
            connection.send(
                "POST", "logs", name, "entries", text="", content_type=LINES, repeats=True
            )
        return RemoteLogs(connection, name, labels)

    def log_names(self) -> list[str]:
        """List the names of all logs."""
        return self._names("logs")

    def log_stats(
        self,
        names: str | Sequence[str],
        question: str,
        *,
        start: TableTime | None = None,
        end: TableTime | None = None,
        by: LogClock | None = None,
    ) -> Rows:
        """Ask several logs at once what `RemoteLogs.stats` asks of one, as `Store.log_stats` does."""
        asked = [names] if isinstance(names, str) else list(names)
        if not asked:
            raise InvalidArgumentError("names: name one log at least")
        # What is named by the caller needs no clock of the log.
        clocks = [by or self.logs(name, create=False).describe()["clock"] for name in asked]
        statement = _Server.log_statement(asked, clocks, question, start, end, by)
        return self._connection.sql(statement)

    def consumer(
        self,
        topics: Sequence[str],
        group: str | None = None,
        *,
        member: str | None = None,
        reset: Literal["earliest", "latest", "error"] = "earliest",
        strategy: Literal["sticky", "range", "round_robin"] = "sticky",
        session: float = 30.0,
        poll_interval_max: float = 300.0,
        auto_commit: float | None = None,
        idle_timeout: float | None = None,
    ) -> RemoteConsumer:
        """Read a topic from now on, as `Topic.consumer` does. A server's consumer is of one topic."""
        if isinstance(topics, str) or len(topics) != 1 or topics[0].endswith("*"):
            raise InvalidArgumentError(
                "a server's consumer reads one topic, called by its name",
                hint="make a consumer of each topic",
            )
        return RemoteConsumer(
            self._connection,
            topics[0],
            group,
            member=member,
            reset=reset,
            strategy=strategy,
            session=session,
            poll_interval_max=poll_interval_max,
            auto_commit=auto_commit,
            idle_timeout=idle_timeout,
        )

    def _names(self, model: str) -> list[str]:
        return list(self._connection.get(model))

    def drop(self, name: str) -> None:
        """Remove what has this name with all that it holds, durably."""
        for model in _MODELS:
            if name in self._names(model):
                self._connection.send("DELETE", model, name)
                return
        raise NotFoundError(f"no stream {name!r}", hint="create it first, or check the name")

    def commit(
        self, *, durability: Literal["written", "buffered", "synced"] | None = None
    ) -> RemoteCommit:
        """Begin one commit over several models, as `Store.commit` does: all that its block changes is there, or nothing is."""
        if durability not in (None, "written", "buffered", "synced"):
            raise InvalidArgumentError(
                f"durability={durability!r}: it must be one of buffered, written, synced"
            )
        self._connection.expect_now()
        if self.closed:
            raise ClosedError("the connection to the server has been closed")
        return RemoteCommit(self._connection)

    # SQL

    def sql(
        self,
        query: str,
        params: Sequence[Any] | Mapping[str, Any] | None = None,
        *,
        tables: dict[str, Any] | None = None,
        timeout: Duration | None = None,
    ) -> Rows:
        """Ask in SQL, as `Store.sql` does. Rows come while they are read; a second reading asks again.

        Until then the server keeps the answer's place: take it, or let go of the object. Bytes are no parameters here.
        Nor does a server take rows of yours as ``tables``.
        """
        if tables:
            raise InvalidArgumentError(
                "a server reads its own tables alone: it takes no tables=",
                hint="append the rows to a table, or join them with the answer",
            )
        return self._connection.sql(query, params, timeout)

    async def sql_async(
        self,
        query: str,
        params: Sequence[Any] | Mapping[str, Any] | None = None,
        *,
        tables: dict[str, Any] | None = None,
        timeout: Duration | None = None,
    ) -> Rows:
        """`sql` without holding up an event loop: all rows are read. A task that is cancelled ends the query."""
        return await awaiting.rows(self.sql, query, params, tables=tables, timeout=timeout)

    def queries(self) -> list[dict[str, Any]]:
        """List what is being asked of the server, the oldest first, as `Store.queries` does. Takes a token for everything."""
        return [_query(told) for told in self._connection.get("queries")]

    def cancel_query(self, id: int) -> bool:
        """Cancel a query by its number: whoever asked gets `CancelledError`. Whether there was one."""
        try:
            self._connection.send("DELETE", "queries", str(id))
        except NotFoundError:
            return False
        return True

    # Moments and changes

    @overload
    def at(self, seq: int, /) -> RemoteStore: ...
    @overload
    def at(self, *, pin: str) -> RemoteStore: ...
    @overload
    def at(self, *, time: datetime | str) -> RemoteStore: ...
    def at(  # type: ignore[misc]  # What is given by place alone is a commit's number.
        self,
        seq: int | None = None,
        /,
        *,
        pin: str | None = None,
        time: datetime | str | None = None,
    ) -> RemoteStore:
        """Give the store as it was, for reading: behind a commit, as a pin has it, or at a time."""
        if sum(one is not None for one in (seq, pin, time)) != 1:
            raise InvalidArgumentError(
                "at() takes one of a commit's number, pin=... and time=..."
            )
        at = f"pin={pin}" if pin is not None else str(seq) if seq is not None else time_text(time)
        then = RemoteStore(Connection(self._connection.server, at))
        # Says whether that can be read.
        then.tables()
        return then

    def last_commit(self) -> int:
        """Give the last commit that readers see, as `Store.last_commit` does."""
        if self._connection.at is not None:
            raise ReadOnlyError(
                "the last commit is one of the store as it is now", hint="ask the store that connect() gave"
            )
        # One that changes nothing.
        return int(self._connection.send("POST", "commit", body=[], repeats=True)["seq"])

    def changes(
        self, since: int | None = None, /, *, follow: bool = False, name: str | None = None
    ) -> RemoteChanges:
        """Give what commits change, one after the other, as `Store.changes` does.

        Rows of a change come as JSON has them: times are text, and bytes hexadecimal digits.
        """
        return RemoteChanges(self._connection, since, follow, name)

    def followers(self) -> dict[str, int]:
        """List those who follow the changes by a name: a dict of the last commit that each has saved."""
        return {one["name"]: one["seq"] for one in self._connection.get("followers")}

    def remove_follower(self, name: str) -> None:
        """Forget a follower, and let go of what only that one has not seen."""
        self._connection.send("DELETE", "followers", name)

    # The connection

    @property
    def url(self) -> str:
        """The server's address."""
        return self._connection.server.url

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._connection.server.closed

    def close(self) -> None:
        """Refuse all further calls, of what was made of it too. The server goes on. Fine to call twice."""
        if self._connection.at is None:
            self._connection.server.close()

    def __enter__(self) -> Self:
        if self.closed:
            raise ClosedError("the connection to the server has been closed")
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> Literal[False]:
        self.close()
        return False

    def __repr__(self) -> str:
        at = "" if self._connection.at is None else f" at {self._connection.at}"
        return f"<RemoteStore {self.url}{at}{', closed' if self.closed else ''}>"


def _query(told: Mapping[str, Any]) -> dict[str, Any]:
    timeout = told["timeout_ms"]
    return {
        "id": told["id"],
        "query": told["query"],
        "state": told["state"],
        "worked": told["worked_ms"] / 1_000,
        "timeout": None if timeout is None else timeout / 1_000,
        "steps": told["steps"],
        "memory_bytes": told["memory_bytes"],
    }

"""Following a time log of a server."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from timestrata._timestrata import cbor_decode
from timestrata.errors import InvalidArgumentError
from timestrata.remote.connection import Connection
from timestrata.remote.following import Following

__all__ = ["RemoteTimelogTail"]

_CURSOR = "tail cursor"

_DECODERS: dict[str, Callable[[bytes], Any]] = {"cbor": cbor_decode, "json": json.loads}


class RemoteTimelogTail(Following[tuple[int, Any]]):
    """Follows a time log of a server: each entry that comes. Made by `RemoteTimelog.tail`; as `TimelogTail`.

    It goes on over a server that is started anew: it asks behind the last entry that came.
    """

    def __init__(
        self,
        connection: Connection,
        log: tuple[str, str],
        since: int | None,
        after: str | None,
        late: bool,
        name: str | None,
    ) -> None:
        connection.expect_now()
        if name is not None and not late:
            raise InvalidArgumentError(
                "a place that the store keeps is one in the order of commits: say late=True as well, or keep "
                "tail.cursor yourself"
            )
        if since is not None and after is not None:
            raise InvalidArgumentError("a tail begins since a time or after a place, not both")
        if name is not None and after is not None:
            raise InvalidArgumentError("a tail with a name begins where it has saved: leave out after")
        self._connection = connection
        self._log, self._codec = log
        self._late, self._name = late, name
        self._ready: deque[tuple[str, int, Any]] = deque()
        # Held while asking. Who wants what is there already need not wait for it.
        self._asking = threading.Lock()
        self._since: int | None = None if after is not None else since
        self._asked_behind = self._given = after
        self._begin()

    def _begin(self) -> None:
        known: dict[str, int] = {}
        if self._name is not None:
            known = {one["name"]: one["seq"] for one in self._connection.get("followers")}
        if self._name in known:
            self._since = None
            self._asked_behind = self._given = f"c.{known[self._name]}.0"
        # Says where it begins, and what is wrong with the place.
        self._ask(0.0)
        if self._name is not None and self._name not in known and self._since is None:
            # Of what is there at first nothing is noted: one that breaks off in it begins anew.
            self.save()

    @property
    def cursor(self) -> str | None:
        """The place behind the last entry that was given, as text: ``log.tail(after=...)`` goes on there."""
        return self._given

    def save(self) -> None:
        """Note durably that all is done that was given so far: a tail of this name goes on behind it."""
        if self._name is None:
            raise InvalidArgumentError("only a tail with a name notes how far it has come")
        place = self._given if self._ready else self._asked_behind
        if place is None or not place.startswith("c."):
            return
        seq = int(place.split(".")[1])
        self._connection.send("PUT", "followers", self._name, body={"seq": seq}, repeats=True)

    def _ask(self, seconds: float) -> None:
        """Ask for what comes next, if nothing is there."""
        with self._asking:
            if self._ready:
                return
            rows = self._connection.rows(
                "timelogs",
                self._log,
                "tail",
                since=self._since if self._asked_behind is None else None,
                after=self._asked_behind,
                late="true" if self._late else None,
                wait=f"{int(seconds * 1_000)}ms",
            )
            for row in rows:
                place, time = row.pop(_CURSOR), row.pop("time")
                if time is not None:
                    self._ready.append((place, time, self._value(row)))
                self._asked_behind = place
            if not self._ready:
                # What was looked at and not wanted need not be looked at again.
                self._given = self._asked_behind

    def _value(self, row: dict[str, Any]) -> Any:
        if self._codec != "arrow":
            return _DECODERS.get(self._codec, bytes)(row["value"])
        return row["value"] if list(row) == ["value"] else row

    def _fill(self, seconds: float) -> bool:
        if self._connection.server.closed:
            return False
        self._ask(seconds)
        return True

    def _take(self) -> tuple[int, Any] | None:
        try:
            self._given, time, value = self._ready.popleft()
        except IndexError:
            return None
        return time, value

    def __repr__(self) -> str:
        return f"<RemoteTimelogTail behind {self._given}>"

"""What commits of a server's store change, one after the other."""

from __future__ import annotations

import threading
from collections import deque
from typing import Any

from timestrata._timestrata import Change, CommittedChanges, Rows
from timestrata.errors import InvalidArgumentError
from timestrata.remote.connection import Connection, time_ns
from timestrata.remote.following import Following

__all__ = ["RemoteChanges"]


class RemoteChanges(Following[CommittedChanges]):
    """What commits change, each once and in order. Made by `RemoteStore.changes`; as `Changes`.

    With ``follow`` it goes on over a server that is started anew: it asks behind the last commit that came.
    """

    def __init__(
        self, connection: Connection, since: int | None, follow: bool, name: str | None
    ) -> None:
        connection.expect_now()
        if since is None and name is None:
            raise InvalidArgumentError(
                "changes() takes the commit behind which to begin, or name=..."
            )
        self._connection = connection
        self._follow = follow
        self._name = name
        self._ready: deque[CommittedChanges] = deque()
        # Held while asking. Who wants what is there already need not wait for it.
        self._asking = threading.Lock()
        if name is not None:
            since = self._begin(name, since)
        self._asked_behind = self._seq = since or 0
        if name is None:
            # Says whether all that comes behind it is kept.
            self._ask(0.0)

    def _begin(self, name: str, since: int | None) -> int:
        known = {one["name"]: one["seq"] for one in self._connection.get("followers")}
        if name in known:
            return int(known[name])
        body = {} if since is None else {"seq": since}
        made = self._connection.send("PUT", "followers", name, body=body, repeats=True)
        return int(made["seq"])

    @property
    def seq(self) -> int:
        """The last commit that was given: `RemoteStore.changes` goes on behind it, also in another process."""
        return self._seq

    def save(self) -> int:
        """Note durably that all commits are done that were given so far. Gives the last of them."""
        if self._name is None:
            raise InvalidArgumentError("only a follower with a name notes how far it has come")
        said = self._connection.send(
            "PUT", "followers", self._name, body={"seq": self._seq}, repeats=True
        )
        return int(said["seq"])

    def _ask(self, seconds: float) -> bool:
        """Ask for what comes next, if nothing is there; whether there is something then."""
        with self._asking:
            if self._ready:
                return True
            wait = f"{int(seconds * 1_000)}ms" if seconds > 0 else None
            said = self._connection.get("changes", since=self._asked_behind, wait=wait)
            self._ready.extend(map(_commit, said["commits"]))
            self._asked_behind = int(said["seq"])
            return bool(self._ready)

    def _fill(self, seconds: float) -> bool:
        if self._connection.server.closed:
            return False
        found = self._ask(seconds if self._follow else 0.0)
        return found or self._follow

    def _take(self) -> CommittedChanges | None:
        try:
            commit = self._ready.popleft()
        except IndexError:
            return None
        self._seq = commit.seq
        return commit

    def __repr__(self) -> str:
        return f"<RemoteChanges behind {self._seq}>"


def _commit(told: dict[str, Any]) -> CommittedChanges:
    changes = [_change(change) for change in told["changes"]]
    return CommittedChanges._of(told["seq"], time_ns(told["time"]), changes)


def _change(told: dict[str, Any]) -> Change:
    rows = None if told["rows"] is None else Rows._of(told["rows"])
    ends = told["range"]
    return Change._of(
        told["kind"],
        told["model"],
        told["name"],
        told["part"],
        told["partition"],
        rows,
        None if ends is None else (_end(ends[0]), _end(ends[1])),
    )


def _end(key: int | str | None) -> int | bytes | None:
    return bytes.fromhex(key) if isinstance(key, str) else key

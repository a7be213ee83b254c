"""Who reads a server's topic: one alone, who knows where it is, or a member of a group, of whom the server knows it."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any, Protocol
from uuid import uuid4

from timestrata._timestrata import Record
from timestrata.errors import (
    ConflictError,
    InvalidArgumentError,
    NotFoundError,
    OutOfRangeError,
)
from timestrata.remote.connection import Connection, bytes_of

__all__ = ["Alone", "Member", "Reader", "record_of"]

# Bytes of an answer at most, as the server has it.
_BYTES_MAX = 32 << 20


def record_of(told: Mapping[str, Any]) -> Record:
    """Give the record that an answer tells of."""
    return Record._of(
        (told["topic"], told["partition"], told["offset"]),
        told["timestamp"],
        bytes_of(told["key"]),
        bytes_of(told["value"]),
        [(name, bytes_of(value) or b"") for name, value in told["headers"]],
    )


class Reader(Protocol):
    """What a consumer reads by."""

    member: str

    def look(self, seconds: float, records_max: int, bytes_max: int) -> list[Record]:
        """Give records that come next, and wait for the first for so long."""

    def heartbeat(self) -> list[int]:
        """Say that it is alive. Gives the partitions that others wait for."""

    def assignment(self) -> list[int]:
        """Give the partitions that are read."""

    def position(self, partition: int) -> int | None:
        """Give the offset that is read next; None of a partition that isn't read."""

    def seek(self, partition: int, offset: int) -> None:
        """Go on at an offset."""

    def pause(self, partition: int, is_paused: bool) -> None:
        """Read no more of a partition, or again."""

    def assign(self, partitions: list[int]) -> None:
        """Read these partitions."""

    def committed(self, partition: int) -> int | None:
        """Give where the group goes on."""

    def commit(self, offsets: Mapping[int, int]) -> None:
        """Say durably how far was read."""

    def step(self, offsets: Mapping[int, int]) -> dict[str, Any]:
        """Give the step of a commit that says how far was read."""

    def leave(self, undone: Mapping[int, int]) -> None:
        """End; what comes from these offsets on was not done."""


class Alone:
    """Reads partitions on from where it is, which only it knows."""

    def __init__(self, connection: Connection, topic: str, reset: str) -> None:
        self._connection = connection
        self._topic = topic
        self._reset = reset
        self.member = f"alone-{uuid4()}"
        self._paused: set[int] = set()
        self._is_of_all = True
        self._next: dict[int, int] = {}
        # Where nobody has said yet where to begin.
        self._unsaid: set[int] = set()
        for one in self._get("offsets"):
            self._next[one["partition"]] = self._begin(one)
        if reset == "error":
            self._unsaid.update(self._next)

    def _get(self, *path: str, **parameters: Any) -> Any:
        return self._connection.get("topics", self._topic, *path, **parameters)

    def _begin(self, offsets: Mapping[str, Any]) -> int:
        return int(offsets["end" if self._reset == "latest" else "first"])

    def look(self, seconds: float, records_max: int, bytes_max: int) -> list[Record]:
        found = self._look_once(0.0, records_max, bytes_max)
        if found or seconds <= 0:
            return found
        if self._is_of_all:
            for one in self._get("offsets"):
                # One that was added meanwhile is read from its beginning.
                self._next.setdefault(one["partition"], one["first"])
        share = seconds / max(len(self._next) - len(self._paused), 1)
        return self._look_once(share, records_max, bytes_max)

    def _look_once(self, seconds: float, records_max: int, bytes_max: int) -> list[Record]:
        found: list[Record] = []
        for partition in sorted(self._next.keys() - self._paused):
            if partition in self._unsaid:
                raise OutOfRangeError(
                    f"topic {self._topic!r} partition {partition}: nobody has said where to begin, and reset "
                    "is 'error'",
                    hint="seek() first, or choose another reset",
                )
            if len(found) >= records_max:
                break
            said = self._ask(partition, 0.0 if found else seconds, records_max - len(found), bytes_max)
            found += map(record_of, said["records"])
            self._next[partition] = said["next"]
        return found

    def _ask(
        self, partition: int, seconds: float, records_max: int, bytes_max: int
    ) -> dict[str, Any]:
        asked: dict[str, Any] = {
            "partition": partition,
            "limit": records_max,
            "bytes": min(bytes_max, _BYTES_MAX),
            "wait": f"{int(seconds * 1_000)}ms" if seconds > 0 else None,
        }
        try:
            said: dict[str, Any] = self._get(
                "records", **asked, from_=self._next[partition]
            )
        except OutOfRangeError:
            if self._reset == "error":
                raise
            # What came next is gone: as where there never was a place to go on from.
            for one in self._get("offsets"):
                if one["partition"] == partition:
                    self._next[partition] = self._begin(one)
            said = self._get("records", **asked, from_=self._next[partition])
        return said

    def heartbeat(self) -> list[int]:
        return []

    def assignment(self) -> list[int]:
        return sorted(self._next)

    def position(self, partition: int) -> int | None:
        return self._next.get(partition)

    def seek(self, partition: int, offset: int) -> None:
        self._expect(partition)
        self._next[partition] = offset
        self._unsaid.discard(partition)

    def _expect(self, partition: int) -> None:
        if partition not in self._next:
            raise InvalidArgumentError(
                f"partition {partition} of topic {self._topic!r} is not read here",
                hint="assign() it first, or check the number",
            )

    def pause(self, partition: int, is_paused: bool) -> None:
        self._expect(partition)
        (self._paused.add if is_paused else self._paused.discard)(partition)

    def assign(self, partitions: list[int]) -> None:
        known = {one["partition"]: self._begin(one) for one in self._get("offsets")}
        for partition in partitions:
            if partition not in known:
                raise NotFoundError(f"topic {self._topic!r} has no partition {partition}")
        self._next = {
            partition: self._next.get(partition, known[partition]) for partition in partitions
        }
        self._paused.intersection_update(self._next)
        self._is_of_all = False

    def committed(self, partition: int) -> int | None:
        return None

    def commit(self, offsets: Mapping[int, int]) -> None:
        raise _without_a_group()

    def step(self, offsets: Mapping[int, int]) -> dict[str, Any]:
        raise _without_a_group()

    def leave(self, undone: Mapping[int, int]) -> None:
        pass


def _without_a_group() -> InvalidArgumentError:
    return InvalidArgumentError(
        "a consumer without a group commits nothing", hint="give it a group"
    )


class Member:
    """A member of a group. The server knows it by its name until it was not heard of for its session.

    An answer may be lost: the next poll says which one came last, and what a later one gave is given again. Where the
    server has forgotten it, because it began anew or the session was over, it joins again under its name, and goes on from what
    the group has committed.
    """

    def __init__(
        self, connection: Connection, topic: str, group: str, options: Mapping[str, Any]
    ) -> None:
        self._connection = connection
        self._topic = topic
        self._group = group
        self._path = ("topics", topic, "groups", group)
        # A name of its own, so that it can join again.
        self.member = str(options.get("member") or f"python-{uuid4()}")
        self._options = {**options, "member": self.member}
        self._is_committing = options.get("auto_commit") is not None
        self._join()

    def _join(self) -> None:
        said = self._connection.send("POST", *self._path, "members", body=self._options)
        self._seen = int(said["poll"])
        self._take(said["assignment"])

    def _take(self, assignment: list[dict[str, Any]]) -> None:
        self._next: dict[int, int | None] = {
            one["partition"]: one["next"] for one in assignment if one["topic"] == self._topic
        }

    def _ask(self, what: str, body: Any = None, **parameters: Any) -> Any:
        path = (*self._path, "members", self.member, what)
        return self._connection.send("POST", *path, body=body, repeats=True, **parameters)

    def look(self, seconds: float, records_max: int, bytes_max: int) -> list[Record]:
        wait = f"{int(seconds * 1_000)}ms" if seconds > 0 else None
        asked = {"limit": records_max, "bytes": min(bytes_max, _BYTES_MAX), "wait": wait}
        try:
            said = self._ask("poll", seen=self._seen, **asked)
        except NotFoundError:
            # Of a topic that is gone, this says so.
            self._join()
            said = self._ask("poll", seen=self._seen, **asked)
        self._seen = int(said["poll"])
        self._take(said["assignment"])
        return list(map(record_of, said["records"]))

    def heartbeat(self) -> list[int]:
        try:
            return list(self._ask("heartbeat")["wanted_back"])
        except NotFoundError as error:
            # The server has forgotten it: the next poll joins again.
            raise ConflictError(str(error), hint=error.hint) from error

    def assignment(self) -> list[int]:
        return sorted(self._next)

    def position(self, partition: int) -> int | None:
        return self._next.get(partition)

    def seek(self, partition: int, offset: int) -> None:
        said = self._ask("seek", {"partition": partition, "offset": offset})
        self._take(said["assignment"])

    def pause(self, partition: int, is_paused: bool) -> None:
        if is_paused:
            raise InvalidArgumentError(
                "a server's member of a group pauses no partition",
                hint="read the partition without a group, or poll later",
            )

    def assign(self, partitions: list[int]) -> None:
        raise InvalidArgumentError(
            "a server's member of a group reads what the group gives it",
            hint="read partitions of your choice without a group",
        )

    def committed(self, partition: int) -> int | None:
        for one in self._connection.get(*self._path)["offsets"]:
            if one["partition"] == partition:
                return int(one["committed"])
        return None

    def commit(self, offsets: Mapping[int, int]) -> None:
        self._ask("commit", {"offsets": _offsets_json(offsets)}, seen=self._seen)

    def step(self, offsets: Mapping[int, int]) -> dict[str, Any]:
        return {
            "topic": self._topic,
            "group": self._group,
            "member": self.member,
            "seen": self._seen,
            "offsets": _offsets_json(offsets),
        }

    def leave(self, undone: Mapping[int, int]) -> None:
        # Gone already is left too.
        with contextlib.suppress(NotFoundError):
            if self._is_committing:
                for partition, offset in undone.items():
                    # One that is another member's meanwhile has no place here.
                    with contextlib.suppress(ConflictError, InvalidArgumentError):
                        self.seek(partition, offset)
            self._connection.send("DELETE", *self._path, "members", self.member)


def _offsets_json(offsets: Mapping[int, int]) -> list[dict[str, int]]:
    return [{"partition": partition, "offset": offset} for partition, offset in offsets.items()]

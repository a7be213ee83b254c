"""How a server is asked: requests, and what JSON says of bytes, times and numbers."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone
from operator import index
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, cast

from timestrata._timestrata import Rows, _Server
from timestrata.errors import InvalidArgumentError, InvalidDataError, IoError, ReadOnlyError

if TYPE_CHECKING:
    from typing import SupportsIndex

    from timestrata._timestrata import Duration, TableTime

__all__ = ["Connection", "Remote"]

JSON = "application/json"
LINES = "application/x-ndjson"
TEXT = "text/plain"
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class Connection:
    """A server, and the moment of its store that is asked for; shared by all that was made of it."""

    def __init__(self, server: _Server, at: str | None = None) -> None:
        self.server = server
        self.at = at
        # What tables were asked for as, by name: a commit makes those that are missing so.
        self.made_with: dict[str, Mapping[str, Any]] = {}

    def get(self, *path: str, accept: str | None = None, **parameters: Any) -> Any:
        """Ask for what a read gives: its data, or its text where `accept` asks for that."""
        answer = self.server.ask("GET", list(path), self.reading(parameters), accept=accept)
        return answer.decode() if accept == TEXT else data_of(answer)

    def rows(self, *path: str, **parameters: Any) -> Rows:
        """Ask for rows, which come while they are read."""
        return self.server.rows("GET", list(path), self.reading(parameters))

    def sql(
        self,
        query: str,
        params: Sequence[Any] | Mapping[str, Any] | None = None,
        timeout: Duration | None = None,
    ) -> Rows:
        """Ask in SQL. Rows of what only reads come while they are read; all else is done now."""
        only_reads = _Server.is_query(query)
        if self.at is not None and not only_reads:
            self.expect_now()
        said: dict[str, Any] = {"query": query}
        if params is not None:
            said["params"] = params_of(params)
        if timeout is not None:
            said["timeout"] = duration_text("timeout", timeout)
        body = dumps(said)
        return self.server.rows("POST", ["sql"], self.reading({}), body=body, again=only_reads)

    def send(
        self,
        method: str,
        *path: str,
        body: Any = None,
        text: str | bytes | None = None,
        content_type: str = JSON,
        accept: str | None = None,
        repeats: bool = False,
        **parameters: Any,
    ) -> Any:
        """Ask for a change: with `body` as JSON, or `text` as it is. One that `repeats` may be sent twice."""
        self.expect_now()
        sent = text if body is None else dumps(body)
        answer = self.server.ask(
            method,
            list(path),
            parameters_of(parameters),
            body=sent,
            content_type=None if sent is None else content_type,
            accept=accept,
            repeats=repeats,
        )
        return answer.decode() if accept == TEXT else data_of(answer)

    def reading(self, parameters: Mapping[str, Any]) -> list[tuple[str, str]]:
        """Give the parameters of a request that reads, of the moment that is asked for."""
        return parameters_of({**parameters, "at": self.at})

    def expect_now(self) -> None:
        """Refuse to change what was."""
        if self.at is not None:
            raise ReadOnlyError(
                "the store as it was takes no writes", hint="write to the store that connect() gave"
            )


class Remote:
    """What all objects of a server have: a connection, and words for what a server doesn't do."""

    #: What the embedded class has and a server doesn't do, and what to do instead.
    MISSING: ClassVar[Mapping[str, str]] = {}

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def __getattr__(self, name: str) -> NoReturn:
        instead = self.MISSING.get(name)
        if instead is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        raise AttributeError(f"a server doesn't do {name!r}: {instead}")


def data_of(answer: bytes | str) -> Any:
    """Give the data of an answer in JSON."""
    try:
        said = json.loads(answer)
        return said["data"] if isinstance(answer, bytes) else said
    except (ValueError, KeyError, TypeError) as error:
        raise unlike(str(error)) from error


def unlike(why: str) -> IoError:
    """Give the error for an answer that no server of ours gives."""
    return IoError(
        f"the server doesn't answer as Timestrata does: {why}",
        hint="see what runs there, and that it isn't older",
    )


def dumps(value: Any) -> str:
    """Give what JSON calls a value; what it can't say is refused."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise InvalidDataError(
            f"a server takes what JSON can say: {error}",
            hint="give numbers, text, None, lists and dicts by text; or open the store's directory",
        ) from error


def parameters_of(parameters: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Give parameters as they stand behind a path; None is left out, and of a list each by itself."""
    found = []
    for name, value in parameters.items():
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is None:
                continue
            said = {True: "true", False: "false"}.get(one) if isinstance(one, bool) else None
            # Python has words of its own for some of them.
            found.append((name.rstrip("_"), str(one) if said is None else said))
    return found


def names_text(what: str, names: str | Sequence[str] | None) -> str | None:
    """Give names as a request has them, with commas between."""
    if names is None:
        return None
    each = [names] if isinstance(names, str) else list(names)
    for name in each:
        if "," in name:
            raise InvalidArgumentError(
                f"{what}: a request can't name {name!r}, which has a comma in it",
                hint="ask in SQL, where names stand in double quotes",
            )
    return ",".join(each) if each else None


def time_text(value: TableTime | None) -> str | None:
    """Give a time as a request has it: text as it is, whole numbers as digits, all else as RFC 3339."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, datetime):
        aware = value if value.tzinfo is not None else value.replace(tzinfo=timezone.utc)
        return aware.astimezone(timezone.utc).isoformat()
    if type(value).__name__ == "datetime64":
        return ns_text(_Server.time_ns(value))
    # Refuses what is no time, in the words of the embedded classes.
    _Server.time_in(value, "ns")
    return str(index(cast("SupportsIndex", value)))


def ns_text(time_ns: int | None) -> str | None:
    """Give nanoseconds since 1970 as RFC 3339; OverflowError outside of the years 1 to 9999."""
    if time_ns is None:
        return None
    seconds, rest = divmod(time_ns, 1_000_000_000)
    return f"{(_EPOCH + timedelta(seconds=seconds)).isoformat()[:19]}.{rest:09}Z"


def time_ns(text: str | None) -> int | None:
    """Give the nanoseconds since 1970 of a time in an answer."""
    return _Server.time_ns(text)


def duration_text(name: str, value: Duration) -> str:
    """Give a length of time as a request has it."""
    return f"{_Server.duration_ns(name, value)}ns"


def params_of(params: Sequence[Any] | Mapping[str, Any]) -> Any:
    """Give the parameters of a statement as JSON has them: times as text, which is compared with times."""
    if isinstance(params, str):
        raise TypeError("params must be a list or a dict of values, not 'str'")
    if isinstance(params, Mapping):
        return {name: _param(value) for name, value in params.items()}
    return [_param(value) for value in params]


def _param(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, datetime) or type(value).__name__ == "datetime64":
        return time_text(value)
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if hasattr(value, "to_pylist"):
        return [_param(one) for one in value.to_pylist()]
    is_series = hasattr(value, "dtype") and hasattr(value, "__iter__")
    if is_series or isinstance(value, (list, tuple, set, frozenset, range)):
        return [_param(one) for one in value]
    if hasattr(value, "__index__"):
        return value.__index__()
    raise InvalidDataError(
        f"a parameter of type {type(value).__name__!r} can't be sent to a server",
        hint="write it into the statement, bytes as X'00ff'",
    )


def bytes_json(value: bytes | None) -> Any:
    """Give bytes as JSON has them: text where they are UTF-8, else base64."""
    if value is None:
        return None
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(value).decode()}


def bytes_of(value: Any) -> bytes | None:
    """Give the bytes that JSON says."""
    if value is None:
        return None
    if isinstance(value, str):
        return value.encode()
    try:
        return base64.b64decode(value["base64"], validate=True)
    except (TypeError, KeyError, ValueError) as error:
        raise unlike(f"{str(value)[:60]} is no bytes") from error


def quoted(name: str) -> str:
    """Give a name as SQL has it."""
    return '"' + name.replace('"', '""') + '"'


def lines(objects: Sequence[Any]) -> str:
    """Give JSON objects, one a line."""
    return "".join(dumps(one) + "\n" for one in objects)

"""Tables of a server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from timestrata import awaiting
from timestrata._timestrata import _Server
from timestrata.errors import InvalidArgumentError, NotFoundError, ReadOnlyError
from timestrata.remote.connection import (
    Connection,
    Remote,
    data_of,
    names_text,
    ns_text,
    quoted,
    time_text,
)

if TYPE_CHECKING:
    from timestrata._timestrata import Rowlike, Rows, SupportsReadBytes, TableBound, TableTime

__all__ = ["RemoteTable"]

# Nanoseconds of the units that types of columns name.
_UNITS_NS = {"s": 10**9, "ms": 10**6, "µs": 10**3, "ns": 1}


def _plan_of(said: Mapping[str, Any]) -> dict[str, Any]:
    """Give what a server would make of a body, under the names that `Table.ingest` has for it."""
    columns = [
        {
            "name": column["name"],
            "type": column["data_type"],
            "new": column["is_new"],
            "widened": column["is_widened"],
            "note": column["note"],
        }
        for column in said["columns"]
    ]
    return {
        "format": said["format"],
        "delimiter": said["delimiter"],
        "columns": columns,
        "time": said["timestamp_column"],
        "refusal": said["refusal"],
    }


class RemoteTable(Remote):
    """A table of a server. Made by `RemoteStore.table`; its methods are those of `Table`.

    A method that a condition, `delete` or `latest` needs SQL for takes a token that may read the whole store, and to delete
    rows one that may do everything.
    """

    MISSING: ClassVar[Mapping[str, str]] = {
        "alter": "ask in SQL, as in store.sql(\"ALTER TABLE name ADD COLUMN note VARCHAR\")",
        "asof_join": "ask in SQL, as in store.sql(\"SELECT * FROM asof_join(one, other, 'time')\")",
        "compact": "the server compacts by itself",
        "compression": "it is said when the table is made, by store.table(name, compression=...)",
        "info": "see the store's directory, by timestrata.open",
        "series": "ask in SQL, with GROUP BY and the tags",
        "set_retention": "open the store's directory, while no server has it open",
        "__arrow_c_stream__": "give its rows, as in table.scan()",
    }

    def __init__(self, connection: Connection, name: str, made_with: Mapping[str, Any]) -> None:
        super().__init__(connection)
        self._name = name
        self._made_with = made_with

    @property
    def name(self) -> str:
        """Its name."""
        return self._name

    def _schema(self) -> dict[str, Any]:
        said: dict[str, Any] = self._connection.get("tables", self._name, "schema")
        return said

    @property
    def exists(self) -> bool:
        """Whether it has been made."""
        return self._name in self._connection.get("tables")

    @property
    def columns(self) -> list[str]:
        """Names of its columns, in order."""
        return [column["name"] for column in self._schema()["columns"]]

    @property
    def types(self) -> dict[str, str]:
        """The Arrow type of each column, as text."""
        return {column["name"]: column["data_type"] for column in self._schema()["columns"]}

    @property
    def time(self) -> str:
        """Name of its time column."""
        return str(self._schema()["timestamp_column"])

    @property
    def key(self) -> list[str]:
        """The columns of its upsert key."""
        return list(self._schema()["key"])

    @property
    def tags(self) -> list[str]:
        """The columns that say which series a row belongs to."""
        return list(self._schema()["tags"])

    def append(
        self,
        rows: Rowlike,
        *,
        sync: bool = False,
        on_mismatch: Literal["error", "widen"] = "error",
    ) -> int:
        """Add rows, as `Table.append` does: all of them in one commit, which has been synced.

        They are sent while they are read, so that a large stream is never held whole. A body has at most
        ``limits.body_bytes_max`` of the server. Times that are ints are in the table's unit, which is asked for; where the token
        may not read the table, in the unit that their size tells.
        """
        if isinstance(rows, (list, tuple)) and not rows:
            self._connection.expect_now()
            return 0
        return int(self._ingest(rows=rows, on_mismatch=on_mismatch)["rows_inserted"])

    def _time_type(self) -> tuple[str, str] | None:
        """Give the time column and its type; None before there is a table, or where nobody says."""
        try:
            said = self._schema()
        except (NotFoundError, ReadOnlyError):
            return None
        time = said["timestamp_column"]
        types = {column["name"]: column["data_type"] for column in said["columns"]}
        return time, types[time]

    async def append_async(
        self,
        rows: Rowlike,
        *,
        sync: bool = False,
        on_mismatch: Literal["error", "widen"] = "error",
    ) -> int:
        """`append` without holding up an event loop; a task that is cancelled waits for its end."""
        return await awaiting.write(self.append, rows, sync=sync, on_mismatch=on_mismatch)

    def ingest(
        self,
        source: str | PathLike[str] | SupportsReadBytes,
        format: Literal["csv", "jsonl", "arrow", "arrows", "parquet", "protobuf"] | None = None,
        *,
        delimiter: str | None = None,
        header: bool = True,
        quote: str | None = None,
        comment: str | None = None,
        skip_lines: int = 0,
        decimal: Literal[".", ","] | None = None,
        thousands: str | None = None,
        null_text: str | Sequence[str] | None = None,
        fill_short_rows: bool = False,
        encoding: str | None = None,
        sample_rows: int | Literal["all"] | None = None,
        time_unit: Literal["s", "ms", "us", "ns"] | None = None,
        time_format: str | None = None,
        time_of_load: bool = False,
        batch_rows: int | None = None,
        on_error: Literal["fail", "skip"] = "fail",
        on_mismatch: Literal["error", "widen"] = "error",
        dry_run: bool = False,
        sync: bool = True,
    ) -> dict[str, Any]:
        """Load the rows of a file, as `Table.ingest` does. It is sent as it is, and read by the server.

        What a file object has must be said by ``format``: a server is told before it comes.
        """
        asked: dict[str, Any] = {
            "delimiter": delimiter,
            "header": header,
            "quote": quote,
            "comment": comment,
            "skip_lines": skip_lines or None,
            "decimal": decimal,
            "thousands": thousands,
            "null_text": [null_text] if isinstance(null_text, str) else null_text,
            "fill_short_rows": fill_short_rows or None,
            "encoding": encoding,
            "sample_rows": sample_rows,
            "time_unit": time_unit,
            "time_format": time_format,
            "time_of_load": time_of_load or None,
            "batch_rows": batch_rows,
            "on_error": on_error,
            "on_mismatch": on_mismatch,
            "dry_run": dry_run or None,
        }
        if hasattr(source, "read"):
            said = self._ingest(file=source, kind=_Server.content_type(None, format), **asked)
        elif isinstance(source, (str, PathLike)):
            with open(source, "rb") as file:
                said = self._ingest(file=file, kind=_Server.content_type(source, format), **asked)
        else:
            given = type(source).__name__
            raise TypeError(f"source must be a path or an object with read(), not {given!r}")
        skipped = said["skipped"]
        left_out = {"skipped": skipped["count"], "errors": skipped["first"]}
        if dry_run:
            return {"rows": said["rows"], **left_out, **_plan_of(said)}
        return {"rows": said["rows_inserted"], **left_out, "notes": said["notes"]}

    async def ingest_async(
        self,
        source: str | PathLike[str] | SupportsReadBytes,
        format: Literal["csv", "jsonl", "arrow", "arrows", "parquet", "protobuf"] | None = None,
        *,
        delimiter: str | None = None,
        header: bool = True,
        quote: str | None = None,
        comment: str | None = None,
        skip_lines: int = 0,
        decimal: Literal[".", ","] | None = None,
        thousands: str | None = None,
        null_text: str | Sequence[str] | None = None,
        fill_short_rows: bool = False,
        encoding: str | None = None,
        sample_rows: int | Literal["all"] | None = None,
        time_unit: Literal["s", "ms", "us", "ns"] | None = None,
        time_format: str | None = None,
        time_of_load: bool = False,
        batch_rows: int | None = None,
        on_error: Literal["fail", "skip"] = "fail",
        on_mismatch: Literal["error", "widen"] = "error",
        dry_run: bool = False,
        sync: bool = True,
    ) -> dict[str, Any]:
        """`ingest` without holding up an event loop; a task that is cancelled waits for its end."""
        return await awaiting.write(
            self.ingest,
            source,
            format,
            delimiter=delimiter,
            header=header,
            quote=quote,
            comment=comment,
            skip_lines=skip_lines,
            decimal=decimal,
            thousands=thousands,
            null_text=null_text,
            fill_short_rows=fill_short_rows,
            encoding=encoding,
            sample_rows=sample_rows,
            time_unit=time_unit,
            time_format=time_format,
            time_of_load=time_of_load,
            batch_rows=batch_rows,
            on_error=on_error,
            on_mismatch=on_mismatch,
            dry_run=dry_run,
            sync=sync,
        )

    def _ingest(
        self,
        *,
        rows: Rowlike | None = None,
        file: Any = None,
        kind: str = "",
        **asked: Any,
    ) -> dict[str, Any]:
        self._connection.expect_now()
        for name in ("on_error", "on_mismatch"):
            known = {"on_error": ("fail", "skip"), "on_mismatch": ("error", "widen")}[name]
            if asked.get(name, known[0]) not in known:
                raise InvalidArgumentError(f"{name}={asked[name]!r}: it must be one of {known}")
        server, path = self._connection.server, ["tables", self._name, "ingest"]
        parameters = self._connection.reading({**self._made_with, **asked})
        if rows is not None:
            times = self._time_type()
            said = server.append(path, parameters, rows, times, self._made_with["time"])
        else:
            said = server.send(path, parameters, kind, file)
        found: dict[str, Any] = data_of(said)
        return found

    def scan(
        self,
        start: TableBound | None = None,
        end: TableBound | None = None,
        *,
        columns: Sequence[str] | None = None,
        where: str | None = None,
        params: Sequence[Any] | Mapping[str, Any] | None = None,
        limit: int | None = None,
        offset: int = 0,
        reverse: bool = False,
    ) -> Rows:
        """Read rows in time order, as `Table.scan` does. They come while they are read.

        A second reading asks again, and shows the table as it is then; of a store as it was (`RemoteStore.at`) it is the same.
        """
        try:
            first, behind = self._bound_text(start), self._bound_text(end)
        except OverflowError:
            # No text of a year has room for it, and a condition has.
            params = params or []
        if params is not None:
            return self._selected(start, end, columns, where, params, limit, offset, reverse)
        return self._connection.rows(
            "tables",
            self._name,
            "query",
            from_=first,
            to=behind,
            where=where,
            columns=names_text("columns", columns),
            limit="none" if limit is None else limit,
            offset=offset,
            order="desc" if reverse else "asc",
        )

    def _bound_text(self, bound: TableBound | None) -> str | None:
        """Give a bound as text. Whole numbers are in the unit of the time column, which a request doesn't know."""
        bound = _as_time(bound)
        text = time_text(bound)
        if text is None or isinstance(bound, str) or not text.lstrip("-").isdigit():
            return text
        _, kind = self._time_type() or ("", "")
        unit = kind.removeprefix("Timestamp(").partition(",")[0]
        if unit not in _UNITS_NS:
            raise OverflowError(f"{kind} has no text")
        return ns_text(int(text) * _UNITS_NS[unit])

    def _selected(
        self,
        start: TableBound | None,
        end: TableBound | None,
        columns: Sequence[str] | None,
        where: str | None,
        params: Sequence[Any] | Mapping[str, Any],
        limit: int | None,
        offset: int,
        reverse: bool,
    ) -> Rows:
        """The same in SQL, which alone takes parameters."""
        time = self.time
        shown = "*" if columns is None else ", ".join(map(quoted, columns))
        statement = f"SELECT {shown} FROM {quoted(self._name)} WHERE {_in(time, start, end)}"
        if where is not None:
            statement += f" AND ({where})"
        statement += f" ORDER BY {quoted(time)} {'DESC' if reverse else 'ASC'}"
        if limit is not None:
            statement += f" LIMIT {int(limit)}"
        if offset:
            statement += f" OFFSET {int(offset)}"
        return self._connection.sql(statement, params)

    def delete(
        self,
        start: TableBound | None = None,
        end: TableBound | None = None,
        *,
        where: str | None = None,
        params: Sequence[Any] | Mapping[str, Any] | None = None,
        sync: bool = False,
    ) -> int:
        """Delete rows, as `Table.delete` does. Gives how many there were.

        It is done in SQL, so the server must take SQL that writes, from a token that may do everything.
        """
        statement = f"DELETE FROM {quoted(self._name)} WHERE {_in(self.time, start, end)}"
        if where is not None:
            statement += f" AND ({where})"
        deleted = self._connection.sql(statement, params).to_pylist()
        return sum(count for row in deleted for count in row.values())

    async def delete_async(
        self,
        start: TableBound | None = None,
        end: TableBound | None = None,
        *,
        where: str | None = None,
        params: Sequence[Any] | Mapping[str, Any] | None = None,
        sync: bool = False,
    ) -> int:
        """`delete` without holding up an event loop; a task that is cancelled waits for its end."""
        return await awaiting.write(self.delete, start, end, where=where, params=params, sync=sync)

    def head(self, n: int = 5) -> Rows:
        """Give the first ``n`` rows."""
        return self.scan(limit=n)

    def tail(self, n: int = 5) -> Rows:
        """Give the last ``n`` rows, oldest first."""
        time, table = quoted(self.time), quoted(self._name)
        last = f"SELECT * FROM {table} ORDER BY {time} DESC LIMIT {int(n)}"
        return self._connection.sql(f"SELECT * FROM ({last}) ORDER BY {time}")

    def latest(
        self,
        by: str | Sequence[str],
        start: TableBound | None = None,
        end: TableBound | None = None,
    ) -> Rows:
        """Give the newest row of each combination of values in the columns ``by``, newest first."""
        time, columns = self.time, [by] if isinstance(by, str) else list(by)
        keys = ", ".join(map(quoted, columns))
        shown = ", ".join(map(quoted, self.columns))
        ranked = (
            f"SELECT *, row_number() OVER (PARTITION BY {keys} ORDER BY {quoted(time)} DESC) AS _rank "
            f"FROM {quoted(self._name)} WHERE {_in(time, start, end)}"
        )
        return self._connection.sql(
            f"SELECT {shown} FROM ({ranked}) WHERE _rank = 1 ORDER BY {quoted(time)} DESC"
        )

    def count(self, start: TableBound | None = None, end: TableBound | None = None) -> int:
        """Count the rows from ``start`` to before ``end``, exactly."""
        try:
            if start is None and end is None:
                return int(self._connection.get("tables", self._name, "count")["count"])
            rows = f"{quoted(self._name)} WHERE {_in(self.time, start, end)}"
            counted = self._connection.sql(f"SELECT count(*) AS n FROM {rows}")
        except NotFoundError:
            # It comes into being with its first rows.
            return 0
        return int(counted.to_pylist()[0]["n"])

    def row(self, key: object) -> dict[str, Any] | None:
        """Give the row with an upsert key, as a dict; None if there is none."""
        columns = self.key
        values = key if isinstance(key, tuple) else (key,)
        if not columns:
            raise InvalidArgumentError(f"table {self._name!r} has no upsert key")
        if len(columns) != len(values):
            raise InvalidArgumentError(
                f"the key of table {self._name!r} has {len(columns)} columns, not {len(values)}"
            )
        said = " AND ".join(
            f"{quoted(name)} = ${place}" for place, name in enumerate(columns, start=1)
        )
        found = self._connection.sql(
            f"SELECT * FROM {quoted(self._name)} WHERE {said}", list(values)
        ).to_pylist()
        return found[0] if found else None

    def min_time(self) -> datetime | int | None:
        """Give the time of the oldest row; None if there is none."""
        return self._bound("asc")

    def max_time(self) -> datetime | int | None:
        """Give the time of the newest row; None if there is none."""
        return self._bound("desc")

    def _bound(self, order: str) -> datetime | int | None:
        found = self.scan(limit=1, reverse=order == "desc", columns=[self.time]).to_pylist()
        time: datetime | int | None = next(iter(found[0].values())) if found else None
        return time

    def drop(self) -> None:
        """Remove the table and its rows, durably."""
        self._connection.send("DELETE", "tables", self._name)

    def __len__(self) -> int:
        return self.count()

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"<RemoteTable {self._name!r} of {self._connection.server.url}>"

    def _repr_html_(self) -> str:
        """Give the newest rows, as notebooks show them."""
        return self.tail(10)._repr_html_()


def _in(time: str, start: TableBound | None, end: TableBound | None) -> str:
    """Give the condition of a range of times. Whole numbers are in the column's own unit."""
    said = [_bounded(time, ">=", start), _bounded(time, "<", end)]
    return " AND ".join(filter(None, said)) or "true"


def _as_time(bound: TableBound | None) -> TableTime | None:
    """Give a bound as a time: a day begins at midnight UTC."""
    if isinstance(bound, date) and not isinstance(bound, datetime):
        return bound.isoformat()
    return bound


def _bounded(time: str, sign: str, bound: TableBound | None) -> str:
    bound = _as_time(bound)
    text = time_text(bound)
    if text is None:
        return ""
    if isinstance(bound, str):
        return f"{quoted(time)} {sign} '" + text.replace("'", "''") + "'"
    if text.lstrip("-").isdigit():
        # A whole number is a count of the column's own unit.
        return f"CAST({quoted(time)} AS BIGINT) {sign} {text}"
    return f"{quoted(time)} {sign} '{text}'"

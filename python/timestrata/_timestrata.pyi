# What the native module offers, for type checkers. A test compares it with the module.

from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from datetime import datetime as _datetime
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import (
    Any,
    Literal,
    NoReturn,
    Protocol,
    SupportsIndex,
    TypeAlias,
    TypedDict,
    final,
    overload,
)

from uuid import UUID

from typing_extensions import Buffer, Self

class SupportsNumpyTime(Protocol):
    """A `numpy.datetime64`: a scalar with a type of its own, which is no number."""

    @property
    def dtype(self) -> Any: ...
    @property
    def ndim(self) -> Literal[0]: ...
    def view(self, /) -> Any: ...

Timestamp: TypeAlias = SupportsIndex | datetime | SupportsNumpyTime
Size: TypeAlias = int | str
Duration: TypeAlias = str | float | timedelta
Codec: TypeAlias = Literal["cbor", "bytes", "json", "arrow", "pickle"]
Unit: TypeAlias = Literal["s", "ms", "us", "ns"]

class SupportsArrowSchema(Protocol):
    def __arrow_c_schema__(self) -> object: ...

class SupportsArrowArray(Protocol):
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...

class SupportsArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

class SupportsArray(Protocol):
    """A `numpy.ndarray`."""

    def __array__(self) -> Any: ...

class SupportsReadBytes(Protocol):
    def read(self, size: int, /) -> bytes: ...

# What tables take as a time, and as rows.
TableTime: TypeAlias = SupportsIndex | datetime | str | SupportsNumpyTime
TableBound: TypeAlias = TableTime | date
Rowlike: TypeAlias = (
    SupportsArrowStream | SupportsArrowArray | Mapping[str, Any] | Sequence[Mapping[str, Any]]
)

# What topics take as a record, and as its parts.
Payload: TypeAlias = bytes | bytearray | memoryview | str
Headers: TypeAlias = Mapping[str, Payload] | Sequence[tuple[str, Payload]]
Recordlike: TypeAlias = Record | Mapping[str, Any] | Payload

# What graphs take as an id, as several, as a block and as an edge.
BlockId: TypeAlias = bytes | bytearray | memoryview | str | UUID
EdgeDirection: TypeAlias = Literal["out", "in", "both"]
Kinds: TypeAlias = str | Iterable[str]
Durability: TypeAlias = Literal["written", "buffered", "synced"]
Blocklike: TypeAlias = Block | Mapping[str, Any] | Buffer | str
Edgelike: TypeAlias = Edge | Mapping[str, Any] | Sequence[Any]

# What logs take as a level, as an entry, and as the place to go on behind.
LogLevel: TypeAlias = Literal["trace", "debug", "info", "warn", "error", "fatal"]
LogClock: TypeAlias = Literal["timestamp", "source_time"]
LogEntrylike: TypeAlias = LogEntry | Mapping[str, Any] | str
LogPlace: TypeAlias = LogEntry | TableTime

__version__: str
FORMAT_VERSION: int

def open(
    path: str | PathLike[str] | None = None,
    *,
    mode: Literal["w", "r", "r+", "x"] = "w",
    durability: Literal["written", "buffered", "synced"] = "written",
    maintenance: Literal["background", "manual"] = "background",
    busy_policy: Literal["block", "raise", "flush"] = "block",
    memtable_bytes_max: Size | None = None,
    memtable_rows_max: int | None = None,
    memory_bytes_max: Size | None = None,
    wal_segment_bytes: Size | None = None,
    wal_bytes_max: Size | None = None,
    sync_interval: Duration | None = None,
    group_commit_delay: Duration | None = None,
    run_batch_rows: int | None = None,
    run_bytes_max: Size | None = None,
    cache_bytes_max: Size | None = None,
    level0_runs_max: int | None = None,
    compaction_bytes_per_second: Size | None = None,
    quarantine_bytes_max: Size | None = None,
    quarantine_age_max: Duration | None = None,
    history_min: Duration | None = None,
    history_bytes_max: Size | None = None,
    followed_bytes_max: Size | None = None,
    scrub_bytes_per_second: Size | None = None,
) -> Store: ...
def repair(
    path: str | PathLike[str],
    to: str | PathLike[str] | None = None,
    *,
    dry_run: bool = False,
) -> RepairReport: ...
def _run_command(words: list[str]) -> int: ...
def allocated_bytes() -> int | None: ...
def _allocator_bytes() -> tuple[int, int, int] | None: ...
def cbor_encode(value: Any, /) -> bytes: ...
def cbor_decode(data: Buffer, /) -> Any: ...
def _cbor_to_json(data: bytes, /) -> str: ...

@final
class _Asking:
    def __new__(cls, call: Callable[[], Any]) -> Self: ...
    def run(self) -> Any: ...
    def give_up(self) -> None: ...

@final
class _Server:
    @staticmethod
    def arrow_of(rows: Rowlike) -> tuple[bytes, int]: ...
    def __new__(
        cls,
        url: str,
        *,
        token: str | None = None,
        certificates: bytes | None = None,
        timeout: Duration | None = None,
    ) -> Self: ...
    @property
    def url(self) -> str: ...
    @property
    def closed(self) -> bool: ...
    def close(self) -> None: ...
    def ask(
        self,
        method: str,
        path: list[str],
        parameters: list[tuple[str, str]],
        *,
        body: bytes | str | None = None,
        content_type: str | None = None,
        accept: str | None = None,
        repeats: bool = False,
    ) -> bytes: ...
    def rows(
        self,
        method: str,
        path: list[str],
        parameters: list[tuple[str, str]],
        *,
        body: str | None = None,
        again: bool = True,
    ) -> Rows: ...
    def append(
        self,
        path: list[str],
        parameters: list[tuple[str, str]],
        rows: Rowlike,
        time: tuple[str, str] | None,
        wanted: str | None,
    ) -> str: ...
    def send(
        self,
        path: list[str],
        parameters: list[tuple[str, str]],
        content_type: str,
        source: SupportsReadBytes,
    ) -> str: ...
    def search(
        self,
        path: list[str],
        parameters: list[tuple[str, str]],
        filter: str,
        *,
        start: TableTime | None,
        end: TableTime | None,
        by: str | None,
        newest_first: bool,
        limit: int | None,
        after: LogPlace | None,
    ) -> LogEntries: ...
    def entries(
        self, path: list[str], parameters: list[tuple[str, str]]
    ) -> tuple[list[LogEntry], int | None]: ...
    @staticmethod
    def log_parameters(
        filter: str, start: TableTime | None, end: TableTime | None, by: str | None
    ) -> list[tuple[str, str]]: ...
    @staticmethod
    def log_statement(
        names: Sequence[str],
        clocks: Sequence[str],
        question: str,
        start: TableTime | None,
        end: TableTime | None,
        by: str | None,
    ) -> str: ...
    @staticmethod
    def log_level(level: str | int) -> LogLevel | None: ...
    @staticmethod
    def log_place(place: LogPlace) -> int: ...
    @staticmethod
    def content_type(path: str | PathLike[str] | None, format: str | None = None) -> str: ...
    @staticmethod
    def time_ns(value: TableTime | None) -> int | None: ...
    @staticmethod
    def time_in(value: Timestamp, unit: str) -> int: ...
    @staticmethod
    def duration_ns(name: str, value: Duration) -> int: ...
    @staticmethod
    def token_in(path: str | PathLike[str]) -> str: ...
    @staticmethod
    def is_query(statement: str) -> bool: ...

class StreamFigures(TypedDict):
    runs: int
    level0_runs: int
    run_rows: int
    run_bytes: int
    memtable_rows: int
    late_rows: int
    sealed_memtables: int
    sealed_rows: int
    memtable_bytes: int
    tombstones: int
    compaction_debt_bytes: int

class ColumnFigures(TypedDict):
    type: str
    bytes: int
    plain_bytes: int
    ratio: float
    encodings: list[str]

class MissingRows(TypedDict):
    stream: str
    key_min: str
    key_max: str
    rows: int
    path: str
    offset: int
    why: str

class ScrubFigures(TypedDict):
    rounds: int
    round_ended_ns: int | None
    round_bytes: int
    bytes: int
    found_damage: bool

class CacheFigures(TypedDict):
    hits: int
    misses: int
    bytes: int
    bytes_max: int
    hit_rate: float | None

class StoreFigures(TypedDict):
    last_seq: int
    synced_seq: int
    wal_bytes: int
    wal_segments: int
    memtable_bytes: int
    flushes: int
    compactions: int
    flush_bytes: int
    compaction_bytes: int
    background_error: str | None
    troubles: list[str]
    damaged: list[MissingRows]
    cache: CacheFigures
    scrub: ScrubFigures
    streams: dict[str, StreamFigures]

ChangeKind = Literal[
    "inserted", "deleted_keys", "deleted_range", "deleted_rows", "expired", "dropped"
]

@final
class Change:
    @staticmethod
    def _of(
        kind: str,
        model: str,
        name: str,
        part: str,
        partition: int | None,
        rows: Rows | None,
        range: tuple[int | bytes | None, int | bytes | None] | None,
    ) -> Change: ...
    @property
    def kind(self) -> ChangeKind: ...
    @property
    def model(self) -> Literal["table", "logs", "topic", "graph", "timelog", "stream"]: ...
    @property
    def name(self) -> str: ...
    @property
    def part(
        self,
    ) -> Literal["rows", "entries", "records", "state", "blocks", "edges", "versions"]: ...
    @property
    def partition(self) -> int | None: ...
    @property
    def rows(self) -> Rows | None: ...
    @property
    def range(self) -> tuple[int | bytes | None, int | bytes | None] | None: ...

@final
class CommittedChanges:
    @staticmethod
    def _of(seq: int, time_ns: int | None, changes: list[Change]) -> CommittedChanges: ...
    @property
    def seq(self) -> int: ...
    @property
    def time(self) -> datetime | None: ...
    @property
    def changes(self) -> list[Change]: ...

@final
class Changes:
    @property
    def seq(self) -> int: ...
    def save(self) -> int: ...
    def _fill(self, seconds: float) -> bool: ...
    def _take(self) -> CommittedChanges | None: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> CommittedChanges: ...
    def __aiter__(self) -> Self: ...
    def __anext__(self) -> Awaitable[CommittedChanges]: ...

class HistoryFigures(TypedDict):
    oldest_commit: int
    run_bytes: int
    log_bytes: int
    pinned_bytes: int

@final
class Store:
    def timelog(
        self,
        name: str,
        *,
        codec: Codec | None = None,
        unit: Literal["s", "ms", "us", "ns"] | None = None,
        schema: str | Mapping[str, Any] | SupportsArrowSchema | None = None,
        retention_age: float | None = None,
        retention_bytes: int | None = None,
        min_ts: Timestamp | None = None,
    ) -> Timelog: ...
    def timelogs(self) -> list[str]: ...
    def table(
        self,
        name: str,
        *,
        time: str | None = None,
        key: str | Sequence[str] | None = None,
        tags: str | Sequence[str] | None = None,
        schema: Mapping[str, Any] | SupportsArrowSchema | None = None,
        ids: bool = False,
        compression: str | None = None,
    ) -> Table: ...
    def tables(self) -> list[str]: ...
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
    ) -> Topic: ...
    def topics(self) -> list[str]: ...
    def groups(self) -> dict[str, GroupOfStore]: ...
    def graph(
        self, name: str, *, keep_versions: int | None = None, create: bool = True
    ) -> Graph: ...
    def graphs(self) -> list[str]: ...
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
    ) -> Logs: ...
    def log_names(self) -> list[str]: ...
    def log_stats(
        self,
        names: str | Sequence[str],
        question: str,
        *,
        start: TableTime | None = None,
        end: TableTime | None = None,
        by: LogClock | None = None,
    ) -> Rows: ...
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
        on_assigned: Callable[[list[tuple[str, int]]], object] | None = None,
        on_revoked: Callable[[list[tuple[str, int]]], object] | None = None,
        on_lost: Callable[[list[tuple[str, int]]], object] | None = None,
    ) -> Consumer: ...
    def sql(
        self,
        query: str,
        params: Sequence[Any] | Mapping[str, Any] | None = None,
        *,
        tables: dict[str, Any] | None = None,
        timeout: Duration | None = None,
    ) -> Rows: ...
    def sql_async(
        self,
        query: str,
        params: Sequence[Any] | Mapping[str, Any] | None = None,
        *,
        tables: dict[str, Any] | None = None,
        timeout: Duration | None = None,
    ) -> Coroutine[Any, Any, Rows]: ...
    def commit(
        self, *, durability: Literal["written", "buffered", "synced"] | None = None
    ) -> Commit: ...
    def queries(self) -> list[dict[str, Any]]: ...
    def cancel_query(self, id: int) -> bool: ...
    @property
    def streams(self) -> list[str]: ...
    def drop(self, name: str) -> None: ...
    def sync(self) -> int: ...
    def flush(self) -> None: ...
    def compact(self, name: str | None = None) -> None: ...
    def check(self) -> CheckReport: ...
    def purge(self, *names: str) -> PurgeReport: ...
    def backup(self, path: str | PathLike[str], *, with_damage: bool = False) -> BackupReport: ...
    def pin(self, name: str) -> int: ...
    def unpin(self, name: str) -> None: ...
    @overload
    def at(self, seq: int, /) -> Store: ...
    @overload
    def at(self, *, pin: str) -> Store: ...
    @overload
    def at(self, *, time: datetime | str) -> Store: ...
    def oldest_commit(self) -> int: ...
    def last_commit(self) -> int: ...
    def history(self) -> HistoryFigures: ...
    def changes(
        self, since: int | None = None, /, *, follow: bool = False, name: str | None = None
    ) -> Changes: ...
    def followers(self) -> dict[str, int]: ...
    def remove_follower(self, name: str) -> None: ...
    def pins(self) -> list[Pin]: ...
    def refresh(self) -> int: ...
    def stats(self) -> StoreFigures: ...
    @property
    def recovery(self) -> RecoveryReport: ...
    @property
    def path(self) -> Path | None: ...
    @property
    def mode(self) -> Literal["w", "r", "r+", "x"]: ...
    @property
    def closed(self) -> bool: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> Literal[False]: ...

@final
class Commit:
    def table(self, name: str) -> CommitTable: ...
    def topic(self, name: str) -> CommitTopic: ...
    def logs(self, name: str) -> CommitLogs: ...
    def graph(self, name: str) -> CommitGraph: ...
    def timelog(self, name: str) -> CommitTimelog: ...
    def consumed(self, consumer: Consumer) -> None: ...
    @property
    def seq(self) -> int | None: ...
    def topic_receipts(self, name: str) -> list[Receipt]: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool: ...
    def __aenter__(self) -> Coroutine[Any, Any, Self]: ...
    def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> Coroutine[Any, Any, bool]: ...

@final
class CommitTable:
    def append(
        self,
        rows: Rowlike,
        *,
        if_unchanged_since: int | None = None,
        on_mismatch: Literal["error", "widen"] = "error",
    ) -> None: ...
    def delete(self, start: TableBound | None = None, end: TableBound | None = None) -> None: ...

@final
class CommitTopic:
    def send(
        self,
        record: Recordlike,
        *,
        partition: int | None = None,
        expected_offset: int | None = None,
        producer: Producer | None = None,
    ) -> None: ...
    def send_batch(
        self,
        records: Iterable[Recordlike],
        *,
        partition: int | None = None,
        expected_offset: int | None = None,
        producer: Producer | None = None,
    ) -> None: ...

@final
class CommitLogs:
    def write(
        self,
        message: str,
        /,
        *,
        level: str | int | None = None,
        source_time: TableTime | None = None,
        labels: Mapping[str, str] | None = None,
        **fields: Any,
    ) -> None: ...
    def write_many(self, entries: Iterable[LogEntrylike]) -> None: ...

@final
class CommitGraph:
    def put(
        self,
        content: Buffer | str,
        *,
        id: BlockId | None = None,
        version: int | None = None,
        source_uri: str | None = None,
        metadata: Mapping[str, Any] | str | None = None,
        expected_version: int | None = None,
    ) -> bytes: ...
    def put_many(
        self, blocks: Iterable[Blocklike] | SupportsArrowStream | SupportsArrowArray
    ) -> None: ...
    def link(
        self,
        source: BlockId,
        kind: str,
        target: BlockId,
        *,
        weight: float | None = None,
        valid_from: TableTime | None = None,
        properties: Mapping[str, Any] | str | None = None,
    ) -> None: ...
    def link_many(
        self, edges: Iterable[Edgelike] | SupportsArrowStream | SupportsArrowArray
    ) -> None: ...
    def unlink(self, source: BlockId, kind: str, target: BlockId) -> None: ...
    def delete(self, id: BlockId, *, expected_version: int | None = None) -> None: ...

@final
class CommitTimelog:
    def append(self, time: Timestamp, value: Any) -> None: ...
    def extend(
        self,
        pairs_or_timestamps: Iterable[tuple[Timestamp, Any]] | Iterable[Timestamp],
        objects: Iterable[Any] | None = None,
    ) -> None: ...
    def delete(self, t1: Timestamp, t2: Timestamp | None = None) -> None: ...

@final
class Table:
    @property
    def name(self) -> str: ...
    @property
    def exists(self) -> bool: ...
    @property
    def columns(self) -> list[str]: ...
    @property
    def types(self) -> dict[str, str]: ...
    @property
    def time(self) -> str: ...
    @property
    def key(self) -> list[str]: ...
    @property
    def tags(self) -> list[str]: ...
    @property
    def compression(self) -> str: ...
    def append(
        self,
        rows: Rowlike,
        *,
        sync: bool = False,
        on_mismatch: Literal["error", "widen"] = "error",
    ) -> int: ...
    def append_async(
        self,
        rows: Rowlike,
        *,
        sync: bool = False,
        on_mismatch: Literal["error", "widen"] = "error",
    ) -> Coroutine[Any, Any, int]: ...
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
    ) -> dict[str, Any]: ...
    def ingest_async(
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
    ) -> Coroutine[Any, Any, dict[str, Any]]: ...
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
        skip_damaged: bool = False,
    ) -> Rows: ...
    def delete(
        self,
        start: TableBound | None = None,
        end: TableBound | None = None,
        *,
        where: str | None = None,
        params: Sequence[Any] | Mapping[str, Any] | None = None,
        sync: bool = False,
    ) -> int: ...
    def delete_async(
        self,
        start: TableBound | None = None,
        end: TableBound | None = None,
        *,
        where: str | None = None,
        params: Sequence[Any] | Mapping[str, Any] | None = None,
        sync: bool = False,
    ) -> Coroutine[Any, Any, int]: ...
    def asof_join(
        self,
        other: Table,
        on: str | None = None,
        by: str | Sequence[str] | None = None,
        tolerance: timedelta | str | int | None = None,
        *,
        right_on: str | None = None,
        direction: Literal["backward", "forward", "nearest"] = "backward",
        suffix: str = "_right",
        allow_exact: bool = True,
    ) -> Rows: ...
    def head(self, n: int = 5) -> Rows: ...
    def tail(self, n: int = 5) -> Rows: ...
    def latest(
        self,
        by: str | Sequence[str],
        start: TableBound | None = None,
        end: TableBound | None = None,
    ) -> Rows: ...
    def series(self, start: TableBound | None = None, end: TableBound | None = None) -> Rows: ...
    def info(self) -> dict[str, ColumnFigures]: ...
    def count(self, start: TableBound | None = None, end: TableBound | None = None) -> int: ...
    def row(self, key: object) -> dict[str, Any] | None: ...
    def min_time(self) -> datetime | int | None: ...
    def max_time(self) -> datetime | int | None: ...
    def alter(
        self,
        *,
        add: Mapping[str, Any] | SupportsArrowSchema | None = None,
        widen: Mapping[str, Any] | SupportsArrowSchema | None = None,
    ) -> bool: ...
    def set_retention(self, *, age: float | None = None, bytes: int | None = None) -> None: ...
    def compact(self) -> None: ...
    def drop(self) -> None: ...
    def _repr_html_(self) -> str | None: ...
    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class Rows:
    @staticmethod
    def _of(rows: Rowlike) -> Rows: ...
    def _read(self) -> Rows: ...
    @property
    def columns(self) -> list[str]: ...
    @property
    def missing(self) -> list[MissingRows]: ...
    def to_arrow(self) -> Any: ...
    def to_pandas(self) -> Any: ...
    def to_polars(self) -> Any: ...
    def to_numpy(self) -> dict[str, Any]: ...
    def to_pylist(self) -> list[dict[str, Any]]: ...
    def count(self) -> int: ...
    def _repr_html_(self) -> str: ...
    def __iter__(self) -> RowsIter: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class RowsIter:
    def __iter__(self) -> Self: ...
    def __next__(self) -> dict[str, Any]: ...

class Timelog:
    def __init__(
        self,
        *,
        path: str | PathLike[str] | None = None,
        name: str = ...,
        codec: Codec | None = ...,
        schema: str | Mapping[str, Any] | SupportsArrowSchema | None = ...,
        durability: Literal["written", "buffered", "synced"] = ...,
        mode: Literal["w", "r", "r+"] = ...,
        retention_age: float | None = ...,
        retention_bytes: int | None = ...,
        time_unit: Unit = ...,
        maintenance: Literal["background", "disabled", "manual"] = ...,
        busy_policy: Literal["raise", "silent", "flush", "block"] = ...,
        min_ts: Timestamp | None = ...,
        mostly_ordered_default: bool = ...,
        memtable_max_bytes: int = ...,
        target_page_bytes: int = ...,
        sealed_max_runs: int = ...,
        ooo_budget_bytes: int = ...,
        sealed_wait_ms: int = ...,
        drain_batch_limit: int = ...,
        maintenance_wakeup_ms: int = ...,
        max_delta_segments: int = ...,
        window_size: int = ...,
        window_origin: int = ...,
        delete_debt_threshold: float = ...,
        compaction: dict[str, int] | None = ...,
        adaptive: dict[str, int | float] | None = ...,
        compaction_target_bytes: int = ...,
        max_compaction_inputs: int = ...,
        max_compaction_windows: int = ...,
        adaptive_target_records: int = ...,
        adaptive_min_window: int = ...,
        adaptive_max_window: int = ...,
        adaptive_hysteresis_pct: int = ...,
        adaptive_window_quantum: int = ...,
        adaptive_alpha: float = ...,
        adaptive_warmup_flushes: int = ...,
        adaptive_stale_flushes: int = ...,
        adaptive_failure_backoff_threshold: int = ...,
        adaptive_failure_backoff_pct: int = ...,
    ) -> None: ...
    @classmethod
    def for_streaming(cls, **overrides: Any) -> Self: ...
    @classmethod
    def for_bulk_ingest(cls, **overrides: Any) -> Self: ...
    @classmethod
    def for_low_latency(cls, **overrides: Any) -> Self: ...
    def close(self) -> None: ...
    def reopen(self, **keywords: Any) -> None: ...
    def configure(self, **keywords: Any) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> Literal[False]: ...
    @overload
    def append(
        self, obj_or_ts: Any, *, ts: Timestamp | None = None, sync: bool = False
    ) -> None: ...
    @overload
    def append(
        self,
        obj_or_ts: Timestamp,
        obj_or_none: Any,
        *,
        ts: Timestamp | None = None,
        sync: bool = False,
    ) -> None: ...
    @overload
    def append_async(
        self, obj_or_ts: Any, *, ts: Timestamp | None = None, sync: bool = False
    ) -> Coroutine[Any, Any, None]: ...
    @overload
    def append_async(
        self,
        obj_or_ts: Timestamp,
        obj_or_none: Any,
        *,
        ts: Timestamp | None = None,
        sync: bool = False,
    ) -> Coroutine[Any, Any, None]: ...
    @overload
    def extend(
        self,
        pairs_or_timestamps: Iterable[tuple[Timestamp, Any]]
        | SupportsArrowStream
        | SupportsArrowArray,
        *,
        mostly_ordered: bool | None = None,
        insert_on_error: bool | None = None,
        atomic: bool | None = None,
        sync: bool = False,
    ) -> None: ...
    @overload
    def extend(
        self,
        pairs_or_timestamps: Iterable[Timestamp],
        objects: Iterable[Any],
        *,
        mostly_ordered: bool | None = None,
        insert_on_error: bool | None = None,
        atomic: bool | None = None,
        sync: bool = False,
    ) -> None: ...
    @overload
    def extend_async(
        self,
        pairs_or_timestamps: Iterable[tuple[Timestamp, Any]]
        | SupportsArrowStream
        | SupportsArrowArray,
        *,
        mostly_ordered: bool | None = None,
        insert_on_error: bool | None = None,
        atomic: bool | None = None,
        sync: bool = False,
    ) -> Coroutine[Any, Any, None]: ...
    @overload
    def extend_async(
        self,
        pairs_or_timestamps: Iterable[Timestamp],
        objects: Iterable[Any],
        *,
        mostly_ordered: bool | None = None,
        insert_on_error: bool | None = None,
        atomic: bool | None = None,
        sync: bool = False,
    ) -> Coroutine[Any, Any, None]: ...
    def bulk_append(
        self, timestamps: Any, objects: Sequence[Any] | Buffer | SupportsArray, *, mostly_ordered: bool | None = None
    ) -> None: ...
    def at(self, ts: Timestamp) -> list[Any]: ...
    @overload
    def __getitem__(self, key: slice, /) -> TimelogIter: ...
    @overload
    def __getitem__(self, key: Timestamp, /) -> list[Any]: ...
    def __setitem__(self, key: Timestamp, value: Any, /) -> None: ...
    def __delitem__(self, key: Timestamp | slice, /) -> None: ...
    def delete(self, t1: Timestamp, t2: Timestamp | None = None) -> None: ...
    def delete_async(self, t1: Timestamp, t2: Timestamp | None = None) -> Coroutine[Any, Any, None]: ...
    def cutoff(self, ts: Timestamp) -> None: ...
    def delete_range(self, t1: Timestamp, t2: Timestamp, /) -> None: ...
    def delete_before(self, t: Timestamp, /) -> None: ...
    def range(self, t1: Timestamp, t2: Timestamp, /) -> TimelogIter: ...
    def since(self, t: Timestamp, /) -> TimelogIter: ...
    def until(self, t: Timestamp, /) -> TimelogIter: ...
    def all(self) -> TimelogIter: ...
    def equal(self, t: Timestamp, /) -> TimelogIter: ...
    def point(self, t: Timestamp, /) -> TimelogIter: ...
    def first(self, n: int = 1, /) -> list[tuple[int, Any]]: ...
    def last(self, n: int = 1, /) -> list[tuple[int, Any]]: ...
    def tail(
        self,
        since: Timestamp | None = None,
        *,
        after: str | None = None,
        late: bool = False,
        name: str | None = None,
        interval: float = 0.05,
    ) -> TimelogTail: ...
    def alter(self, *, add: Mapping[str, Any] | SupportsArrowSchema) -> bool: ...
    def __iter__(self) -> TimelogIter: ...
    def __reversed__(self) -> TimelogIter: ...
    def __len__(self) -> int: ...
    def __bool__(self) -> bool: ...
    def __contains__(self, ts: Timestamp, /) -> bool: ...
    def min_ts(self) -> int | None: ...
    def max_ts(self) -> int | None: ...
    def next_ts(self, t: Timestamp, /) -> int | None: ...
    def prev_ts(self, t: Timestamp, /) -> int | None: ...
    def views(
        self,
        t1: Timestamp | None = None,
        t2: Timestamp | None = None,
        *,
        kind: Literal["segment", "logical"] = "segment",
    ) -> PageSpanIter: ...
    def page_spans(
        self, t1: Timestamp, t2: Timestamp, kind: Literal["segment", "logical"] = "segment"
    ) -> PageSpanIter: ...
    def to_dict(
        self, t1: Timestamp | None = None, t2: Timestamp | None = None
    ) -> dict[int, Any]: ...
    def to_numpy(
        self, t1: Timestamp | None = None, t2: Timestamp | None = None, *, dtype: Any = None
    ) -> tuple[Any, Any]: ...
    def to_arrow(
        self,
        t1: Timestamp | None = None,
        t2: Timestamp | None = None,
        *,
        values: Literal["json", "cbor"] | None = None,
    ) -> Any: ...
    def to_pandas(
        self,
        t1: Timestamp | None = None,
        t2: Timestamp | None = None,
        *,
        values: Literal["objects", "json", "cbor"] | None = None,
    ) -> Any: ...
    def to_polars(
        self,
        t1: Timestamp | None = None,
        t2: Timestamp | None = None,
        *,
        values: Literal["objects", "json", "cbor"] | None = None,
    ) -> Any: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def _repr_html_(self) -> str: ...
    def flush(self) -> None: ...
    def compact(self) -> None: ...
    def maint_step(self) -> bool: ...
    def start_maintenance(self) -> None: ...
    def stop_maintenance(self) -> None: ...
    def validate(self) -> None: ...
    def sync(self) -> None: ...
    def set_retention(self, *, age: float | None = None, bytes: int | None = None) -> None: ...
    def describe(self) -> dict[str, Any]: ...
    def stats(self) -> dict[str, dict[str, Any]]: ...
    @property
    def name(self) -> str | None: ...
    @property
    def codec(self) -> Codec | None: ...
    @property
    def unit(self) -> Unit: ...
    @property
    def time_unit(self) -> Unit: ...
    @property
    def maintenance_mode(self) -> Literal["background", "disabled"]: ...
    @property
    def busy_policy(self) -> Literal["raise", "silent", "flush"]: ...
    @property
    def busy_events(self) -> int: ...
    @property
    def extend_skipped(self) -> int: ...
    @property
    def min_ts_floor(self) -> int | None: ...
    @property
    def retired_queue_len(self) -> int: ...
    @property
    def alloc_failures(self) -> int: ...
    @property
    def closed(self) -> bool: ...

class _DropInTimelog(Timelog):
    def append(self, obj_or_ts: Any, obj_or_none: Any = None, *, ts: SupportsIndex | None = None) -> None: ...  # type: ignore[override]
    def extend(  # type: ignore[override]
        self,
        ts_or_iterable: Iterable[Any],
        objects: Iterable[Any] | None = None,
        *,
        mostly_ordered: bool | None = None,
        insert_on_error: bool | None = None,
    ) -> None: ...
    def bulk_append(
        self, timestamps: Any, objects: Sequence[Any] | Buffer | SupportsArray, *, mostly_ordered: bool | None = None
    ) -> None: ...
    def __reversed__(self) -> NoReturn: ...
    def _min_ts_floor(self) -> int | None: ...
    def _set_min_ts_floor(self, min_ts: SupportsIndex | None, /) -> None: ...

@final
class TimelogIter(Iterator[tuple[int, Any]]):
    def __iter__(self) -> Self: ...
    def __next__(self) -> tuple[int, Any]: ...
    def __len__(self) -> int: ...
    def next_batch(self, n: int, /) -> list[tuple[int, Any]]: ...
    def view(self) -> PageSpanIter: ...
    def close(self) -> None: ...
    @property
    def closed(self) -> bool: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> Literal[False]: ...

@final
class TimelogTail:
    @property
    def cursor(self) -> str | None: ...
    def save(self) -> None: ...
    def _fill(self, seconds: float) -> bool: ...
    def _take(self) -> tuple[int, Any] | None: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> tuple[int, Any]: ...
    def __aiter__(self) -> Self: ...
    def __anext__(self) -> Awaitable[tuple[int, Any]]: ...

@final
class PageSpanIter(Iterator[PageSpan]):
    def __iter__(self) -> Self: ...
    def __next__(self) -> PageSpan: ...
    def close(self) -> None: ...
    @property
    def closed(self) -> bool: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> Literal[False]: ...

@final
class PageSpan:
    def __len__(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    @property
    def timestamps(self) -> memoryview: ...
    @property
    def start_ts(self) -> int: ...
    @property
    def end_ts(self) -> int: ...
    @property
    def last_ts(self) -> int: ...
    def copy_timestamps(self) -> list[int]: ...
    def objects(self) -> PageSpanObjectsView: ...
    def close(self) -> None: ...
    @property
    def closed(self) -> bool: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> Literal[False]: ...

@final
class PageSpanObjectsView:
    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> Any: ...
    def __iter__(self) -> Iterator[Any]: ...
    def copy(self) -> list[Any]: ...
    @property
    def closed(self) -> bool: ...

@final
class PurgeReport:
    @property
    def seq(self) -> int: ...
    @property
    def files(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def still_read(self) -> list[Path]: ...

@final
class BackupReport:
    @property
    def files(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def seq(self) -> int: ...
    @property
    def damaged(self) -> list[MissingRows]: ...

@final
class CheckReport:
    @property
    def files(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def rows(self) -> int: ...
    @property
    def memory_rows(self) -> int: ...
    @property
    def wal_commits(self) -> int: ...
    @property
    def is_sound(self) -> bool: ...
    @property
    def findings(self) -> list[Finding]: ...
    def __bool__(self) -> bool: ...

class RepairedStream(TypedDict):
    name: str
    runs: int
    rows: int
    commits_from_log: int

class FileLeftOut(TypedDict):
    path: str
    why: str

@final
class RepairReport:
    @property
    def to(self) -> str | None: ...
    @property
    def lost_nothing(self) -> bool: ...
    @property
    def manifest_lost(self) -> str | None: ...
    @property
    def streams(self) -> list[RepairedStream]: ...
    @property
    def pins(self) -> list[str]: ...
    @property
    def missing(self) -> list[MissingRows]: ...
    @property
    def lost(self) -> list[str]: ...
    @property
    def left_out(self) -> list[FileLeftOut]: ...
    @property
    def doubts(self) -> list[str]: ...
    def __str__(self) -> str: ...

@final
class Finding:
    @property
    def path(self) -> str: ...
    @property
    def offset(self) -> int | None: ...
    @property
    def message(self) -> str: ...
    @property
    def is_damage(self) -> bool: ...

class GroupOfStore(TypedDict):
    offsets: dict[tuple[str, int], int]
    members: dict[str, list[tuple[str, int]]]

class Retained(TypedDict):
    expired: int
    superseded: int
    groups: int

class ExportedTiles(TypedDict):
    size: int
    tiles: int
    gone: int

@final
class Record:
    def __new__(
        cls,
        value: Payload | None = None,
        *,
        key: Payload | None = None,
        headers: Headers | None = None,
        timestamp: TableTime | None = None,
    ) -> Self: ...
    @staticmethod
    def _of(
        place: tuple[str, int, int],
        timestamp: int | None,
        key: bytes | None,
        value: bytes | None,
        headers: list[tuple[str, bytes]],
    ) -> Record: ...
    @staticmethod
    def _given(
        record: Recordlike,
    ) -> tuple[
        bytes | None, bytes | None, list[tuple[str, bytes]], int | None, int | None
    ]: ...
    @property
    def topic(self) -> str | None: ...
    @property
    def partition(self) -> int | None: ...
    @property
    def offset(self) -> int | None: ...
    @property
    def timestamp(self) -> int | None: ...
    @property
    def key(self) -> bytes | None: ...
    @property
    def value(self) -> bytes | None: ...
    @property
    def headers(self) -> list[tuple[str, bytes]]: ...
    def to_dict(self) -> dict[str, Any]: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Receipt:
    @staticmethod
    def _of(topic: str, partition: int, offset: int, timestamp: int) -> Receipt: ...
    @property
    def topic(self) -> str: ...
    @property
    def partition(self) -> int: ...
    @property
    def offset(self) -> int: ...
    @property
    def timestamp(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Topic:
    @property
    def name(self) -> str: ...
    @property
    def partitions(self) -> int: ...
    def describe(self) -> dict[str, Any]: ...
    def producer(
        self,
        *,
        producer_id: str | None = None,
        durability: Literal["synced", "written"] = "synced",
    ) -> Producer: ...
    def send(self, record: Recordlike, *, partition: int | None = None) -> Receipt: ...
    def send_async(self, record: Recordlike, *, partition: int | None = None) -> Coroutine[Any, Any, Receipt]: ...
    def send_batch(
        self, records: Iterable[Recordlike], *, partition: int | None = None
    ) -> list[Receipt]: ...
    def send_batch_async(
        self, records: Iterable[Recordlike], *, partition: int | None = None
    ) -> Coroutine[Any, Any, list[Receipt]]: ...
    def consumer(
        self,
        group: str | None = None,
        *,
        member: str | None = None,
        reset: Literal["earliest", "latest", "error"] = "earliest",
        strategy: Literal["sticky", "range", "round_robin"] = "sticky",
        session: float = 30.0,
        poll_interval_max: float = 300.0,
        auto_commit: float | None = None,
        idle_timeout: float | None = None,
        on_assigned: Callable[[list[tuple[str, int]]], object] | None = None,
        on_revoked: Callable[[list[tuple[str, int]]], object] | None = None,
        on_lost: Callable[[list[tuple[str, int]]], object] | None = None,
    ) -> Consumer: ...
    def offsets(self, partition: int = 0) -> range: ...
    def offset_at_time(self, time: TableTime, partition: int = 0) -> int | None: ...
    def get(self, offset: int, partition: int = 0) -> Record | None: ...
    def scan(
        self,
        start: int | None = None,
        end: int | None = None,
        *,
        partition: int = 0,
        limit: int | None = None,
    ) -> Rows: ...
    def root(self, partition: int = 0, size: int | None = None) -> tuple[int, bytes]: ...
    def inclusion_proof(self, offset: int, size: int, partition: int = 0) -> list[bytes]: ...
    def consistency_proof(self, old: int, new: int, partition: int = 0) -> list[bytes]: ...
    def entry(self, offset: int, partition: int = 0) -> bytes: ...
    def checkpoint(self, key: SigningKey, partition: int = 0) -> str: ...
    def checkpoint_all(self, key: SigningKey) -> list[str]: ...
    def cosign(
        self,
        url: str,
        vkey: str | list[str],
        key: SigningKey | None = None,
        partition: int | None = None,
    ) -> dict[int, list[str]]: ...
    def log_vkey(self, key: SigningKey, partition: int = 0) -> str: ...
    def last_checkpoint(self, partition: int = 0) -> str | None: ...
    def prove(self, offset: int, partition: int = 0) -> Proof: ...
    def export_tiles(self, path: str | PathLike[str], partition: int = 0) -> ExportedTiles: ...
    def groups(self) -> dict[str, dict[int, int]]: ...
    def members(self, group: str) -> dict[str, list[tuple[str, int]]]: ...
    def reset_group(self, group: str, offset: int | TableTime, partition: int = 0) -> int: ...
    def delete_group(self, group: str) -> int: ...
    def set_partitions(self, partitions: int) -> None: ...
    def set_retention(
        self,
        *,
        age: float | None = ...,
        bytes: int | None = ...,
        records: int | None = ...,
        compact: bool = ...,
        groups_age: float | None = ...,
    ) -> None: ...
    def retain(self) -> Retained: ...
    def audit(self, partition: int = 0) -> int: ...
    def drop(self) -> None: ...

@final
class Producer:
    def send(
        self,
        record: Recordlike,
        *,
        partition: int | None = None,
        durability: Literal["synced", "written"] | None = None,
        expected_offset: int | None = None,
        sequence: int | None = None,
    ) -> Receipt: ...
    def send_async(
        self,
        record: Recordlike,
        *,
        partition: int | None = None,
        durability: Literal["synced", "written"] | None = None,
        expected_offset: int | None = None,
        sequence: int | None = None,
    ) -> Coroutine[Any, Any, Receipt]: ...
    def send_batch(
        self,
        records: Iterable[Recordlike],
        *,
        partition: int | None = None,
        durability: Literal["synced", "written"] | None = None,
        expected_offset: int | None = None,
        sequence: int | Mapping[int, int] | None = None,
        also: Sequence[tuple[Table, Rowlike]] | None = None,
    ) -> list[Receipt]: ...
    def send_batch_async(
        self,
        records: Iterable[Recordlike],
        *,
        partition: int | None = None,
        durability: Literal["synced", "written"] | None = None,
        expected_offset: int | None = None,
        sequence: int | Mapping[int, int] | None = None,
        also: Sequence[tuple[Table, Rowlike]] | None = None,
    ) -> Coroutine[Any, Any, list[Receipt]]: ...
    def next_sequence(self, partition: int = 0) -> int: ...

@final
class Consumer:
    def subscribe(self, topics: Sequence[str]) -> None: ...
    def assign(self, partitions: Sequence[tuple[str, int] | int]) -> None: ...
    @property
    def assignment(self) -> list[tuple[str, int]]: ...
    @property
    def member(self) -> str: ...
    @property
    def idle_timeout(self) -> float | None: ...
    def poll(
        self,
        timeout: float | None = 0.0,
        *,
        max_records: int = 500,
        max_bytes: int = 52_428_800,
    ) -> list[Record]: ...
    def heartbeat(self) -> list[tuple[str, int]]: ...
    def seek(self, offset: int, partition: int = 0, *, topic: str | None = None) -> None: ...
    def seek_to_time(
        self, time: TableTime, partition: int = 0, *, topic: str | None = None
    ) -> int: ...
    def skip(self, partition: int = 0, *, topic: str | None = None) -> int: ...
    def position(self, partition: int = 0, *, topic: str | None = None) -> int | None: ...
    def lag(self, partition: int = 0, *, topic: str | None = None) -> int: ...
    def pause(self, partition: int = 0, *, topic: str | None = None) -> None: ...
    def resume(self, partition: int = 0, *, topic: str | None = None) -> None: ...
    def committed(self, partition: int = 0, *, topic: str | None = None) -> int | None: ...
    def commit(
        self,
        record: Record | None = None,
        *,
        also: Sequence[tuple[Table | Topic | Logs | Graph | Timelog, Any]] | None = None,
    ) -> None: ...
    def close(self) -> None: ...
    def _fill(self, seconds: float) -> bool: ...
    def _take(self) -> Record | None: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> Record: ...
    def __aiter__(self) -> Self: ...
    def __anext__(self) -> Awaitable[Record]: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> Literal[False]: ...

@final
class Proof:
    def __new__(cls, text: str | bytes | Proof) -> Self: ...
    @property
    def offset(self) -> int: ...
    @property
    def origin(self) -> str: ...
    @property
    def checkpoint(self) -> str: ...
    def check(self, record: Record | Mapping[str, Any], vkey: str) -> None: ...
    def __str__(self) -> str: ...

@final
class SigningKey:
    @staticmethod
    def generate(path: str | PathLike[str], name: str) -> SigningKey: ...
    @staticmethod
    def open(path: str | PathLike[str]) -> SigningKey: ...
    @property
    def name(self) -> str: ...
    @property
    def vkey(self) -> str: ...
    @property
    def path(self) -> Path: ...

def verify(
    proof: Proof | str | bytes, record: Record | Mapping[str, Any], vkey: str
) -> bool: ...
def verify_checkpoints(old: str, new: str, proof: Sequence[bytes], vkey: str) -> bool: ...
def verify_consistency(
    old: int, old_root: bytes, new: int, new_root: bytes, proof: Sequence[bytes]
) -> bool: ...

@final
class Pin:
    @property
    def name(self) -> str: ...
    @property
    def seq(self) -> int: ...
    @property
    def created_ns(self) -> int: ...

@final
class RecoveryReport:
    @property
    def created(self) -> bool: ...
    @property
    def clean(self) -> bool: ...
    @property
    def last_seq(self) -> int: ...
    @property
    def commits_replayed(self) -> int: ...
    @property
    def bytes_replayed(self) -> int: ...
    @property
    def torn_tail(self) -> tuple[str, int] | None: ...
    @property
    def orphans_quarantined(self) -> list[str]: ...
    @property
    def orphans_removed(self) -> list[str]: ...
    @property
    def damaged_runs(self) -> list[str]: ...
    @property
    def manifest_mended(self) -> str | None: ...
    @property
    def strays(self) -> list[str]: ...
    @property
    def seconds(self) -> float: ...

@final
class Block:
    @staticmethod
    def _of(
        id: BlockId,
        version: int,
        source_uri: str | None,
        metadata: str | None,
        content: bytes | str,
    ) -> Block: ...
    @property
    def id(self) -> bytes: ...
    @property
    def version(self) -> int: ...
    @property
    def source_uri(self) -> str | None: ...
    @property
    def metadata(self) -> dict[str, Any] | None: ...
    @property
    def is_text(self) -> bool: ...
    @property
    def content(self) -> bytes | str: ...
    def view(self) -> memoryview: ...
    def __len__(self) -> int: ...
    def __bool__(self) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Edge:
    @staticmethod
    def _of(
        source: BlockId,
        kind: str,
        target: BlockId,
        weight: float | None,
        valid_from: int | None,
        properties: str | None,
    ) -> Edge: ...
    @property
    def source(self) -> bytes: ...
    @property
    def kind(self) -> str: ...
    @property
    def target(self) -> bytes: ...
    @property
    def weight(self) -> float | None: ...
    @property
    def valid_from(self) -> int | None: ...
    @property
    def properties(self) -> dict[str, Any] | None: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

class GraphView:
    @property
    def name(self) -> str: ...
    def get(self, id: BlockId) -> Block | None: ...
    def get_many(self, ids: Iterable[BlockId]) -> list[Block | None]: ...
    def contains(self, id: BlockId) -> bool: ...
    def __contains__(self, id: BlockId, /) -> bool: ...
    def versions(self, id: BlockId) -> list[Block]: ...
    def find(
        self,
        source_uri: str | None = None,
        metadata: Mapping[str, Any] | str | None = None,
        limit: int | None = None,
    ) -> list[Block]: ...
    def __len__(self) -> int: ...
    def __bool__(self) -> bool: ...
    def edge_count(self) -> int: ...
    def edges(
        self, id: BlockId, direction: EdgeDirection = "out", kinds: Kinds | None = None
    ) -> list[Edge]: ...
    def walk(
        self,
        start: BlockId | Iterable[BlockId],
        *,
        direction: EdgeDirection = "out",
        kinds: Kinds | None = None,
        depth: int | None = None,
        limit: int | None = None,
        order: Literal["bfs", "dfs"] = "bfs",
        filter: Callable[[bytes], object] | None = None,
        as_of: TableTime | None = None,
    ) -> Walk: ...
    def shortest_path(
        self,
        source: BlockId,
        target: BlockId,
        *,
        direction: EdgeDirection = "out",
        kinds: Kinds | None = None,
        depth: int | None = None,
        weighted: bool = False,
        as_of: TableTime | None = None,
    ) -> Route | None: ...
    def reachable(
        self,
        source: BlockId,
        target: BlockId,
        *,
        direction: EdgeDirection = "out",
        kinds: Kinds | None = None,
        depth: int | None = None,
        as_of: TableTime | None = None,
    ) -> bool: ...
    @overload
    def neighbors(  # type: ignore[overload-overlap]  # Text is a sequence of texts.
        self,
        ids: BlockId,
        direction: EdgeDirection = "out",
        kinds: Kinds | None = None,
        *,
        as_of: TableTime | None = None,
    ) -> list[tuple[bytes, str]]: ...
    @overload
    def neighbors(
        self,
        ids: Sequence[BlockId],
        direction: EdgeDirection = "out",
        kinds: Kinds | None = None,
        *,
        as_of: TableTime | None = None,
    ) -> list[list[tuple[bytes, str]]]: ...
    def degree(
        self,
        id: BlockId,
        direction: EdgeDirection = "out",
        kinds: Kinds | None = None,
        *,
        as_of: TableTime | None = None,
    ) -> int: ...
    def components(self, kinds: Kinds | None = None) -> dict[bytes, int]: ...
    def pagerank(self, damping: float = 0.85, kinds: Kinds | None = None) -> dict[bytes, float]: ...
    def subgraph(self, ids: Iterable[BlockId]) -> tuple[Rows, Rows]: ...
    def to_arrow(self) -> tuple[Rows, Rows]: ...
    def to_networkx(self) -> Any: ...
    def to_rustworkx(self) -> Any: ...

@final
class Graph(GraphView):
    @property
    def keep_versions(self) -> int: ...
    def put(
        self,
        content: Buffer | str,
        *,
        id: BlockId | None = None,
        version: int | None = None,
        source_uri: str | None = None,
        metadata: Mapping[str, Any] | str | None = None,
        durability: Durability | None = None,
    ) -> bytes: ...
    def put_async(
        self,
        content: Buffer | str,
        *,
        id: BlockId | None = None,
        version: int | None = None,
        source_uri: str | None = None,
        metadata: Mapping[str, Any] | str | None = None,
        durability: Durability | None = None,
    ) -> Coroutine[Any, Any, bytes]: ...
    def put_many(
        self,
        blocks: Iterable[Blocklike] | SupportsArrowStream | SupportsArrowArray,
        durability: Durability | None = None,
    ) -> list[bytes]: ...
    def put_many_async(
        self,
        blocks: Iterable[Blocklike] | SupportsArrowStream | SupportsArrowArray,
        durability: Durability | None = None,
    ) -> Coroutine[Any, Any, list[bytes]]: ...
    def delete(self, id: BlockId, *, durability: Durability | None = None) -> None: ...
    def delete_async(self, id: BlockId, *, durability: Durability | None = None) -> Coroutine[Any, Any, None]: ...
    def delete_many(
        self, ids: Iterable[BlockId], *, durability: Durability | None = None
    ) -> None: ...
    def link(
        self,
        source: BlockId,
        kind: str,
        target: BlockId,
        *,
        weight: float | None = None,
        valid_from: TableTime | None = None,
        properties: Mapping[str, Any] | str | None = None,
        durability: Durability | None = None,
    ) -> None: ...
    def link_async(
        self,
        source: BlockId,
        kind: str,
        target: BlockId,
        *,
        weight: float | None = None,
        valid_from: TableTime | None = None,
        properties: Mapping[str, Any] | str | None = None,
        durability: Durability | None = None,
    ) -> Coroutine[Any, Any, None]: ...
    def link_many(
        self,
        edges: Iterable[Edgelike] | SupportsArrowStream | SupportsArrowArray,
        durability: Durability | None = None,
    ) -> None: ...
    def link_many_async(
        self,
        edges: Iterable[Edgelike] | SupportsArrowStream | SupportsArrowArray,
        durability: Durability | None = None,
    ) -> Coroutine[Any, Any, None]: ...
    def change(
        self,
        *,
        put: Iterable[Blocklike] | SupportsArrowStream | SupportsArrowArray | None = None,
        link: Iterable[Edgelike] | SupportsArrowStream | SupportsArrowArray | None = None,
        delete: Iterable[BlockId] | None = None,
        unlink: Iterable[Edgelike] | SupportsArrowStream | SupportsArrowArray | None = None,
        durability: Durability | None = None,
    ) -> list[bytes]: ...
    def unlink(
        self,
        source: BlockId,
        kind: str,
        target: BlockId,
        *,
        durability: Durability | None = None,
    ) -> None: ...
    def unlink_all(
        self,
        source: BlockId | None = None,
        target: BlockId | None = None,
        kind: str | None = None,
        *,
        durability: Durability | None = None,
    ) -> None: ...
    def view(self) -> GraphView: ...
    def at(self, pin: str) -> GraphView: ...
    def set_cache_bytes_max(self, bytes: int) -> None: ...
    def drop(self) -> None: ...

@final
class Route:
    @staticmethod
    def _of(ids: list[bytes], kinds: list[str], cost: float) -> Route: ...
    @property
    def ids(self) -> list[bytes]: ...
    @property
    def kinds(self) -> list[str]: ...
    @property
    def cost(self) -> float: ...
    def __len__(self) -> int: ...
    def __bool__(self) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Walk:
    @staticmethod
    def _of(
        blocks: list[tuple[bytes, int, int | None, str | None]], is_cut: bool
    ) -> Walk: ...
    @property
    def ids(self) -> list[bytes]: ...
    @property
    def depths(self) -> list[int]: ...
    @property
    def parents(self) -> list[bytes | None]: ...
    @property
    def kinds(self) -> list[str | None]: ...
    @property
    def is_cut(self) -> bool: ...
    def to_arrow(self) -> Any: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[tuple[bytes, int]]: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

class LogFigures(TypedDict):
    name: str
    message_bytes_max: int
    columns_max: int
    columns: list[str]
    retention_age: float | None
    retention_bytes: int | None
    clock: LogClock
    compression: str

class LogEntryParts(TypedDict):
    timestamp: int
    source_time: int | None
    level: LogLevel | None
    message: str
    labels: dict[str, str]
    fields: dict[str, Any]

@final
class Logs:
    @property
    def name(self) -> str: ...
    @property
    def columns(self) -> list[str]: ...
    @property
    def message_bytes_max(self) -> int: ...
    @property
    def labels(self) -> dict[str, str]: ...
    def describe(self) -> LogFigures: ...
    def with_labels(self, labels: Mapping[str, str]) -> Logs: ...
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
    ) -> int: ...
    def write_async(
        self,
        message: str,
        /,
        *,
        level: str | int | None = None,
        source_time: TableTime | None = None,
        labels: Mapping[str, str] | None = None,
        sync: bool = False,
        **fields: Any,
    ) -> Coroutine[Any, Any, int]: ...
    def write_many(self, entries: Iterable[LogEntrylike], sync: bool = False) -> range: ...
    def write_many_async(self, entries: Iterable[LogEntrylike], sync: bool = False) -> Coroutine[Any, Any, range]: ...
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
    ) -> LogEntries: ...
    def count(
        self,
        filter: str = "",
        *,
        start: TableTime | None = None,
        end: TableTime | None = None,
        by: LogClock | None = None,
    ) -> int: ...
    def histogram(
        self,
        filter: str = "",
        *,
        start: TableTime | None = None,
        end: TableTime | None = None,
        by: LogClock | None = None,
        step: Duration | None = None,
    ) -> list[LogBucket]: ...
    def facets(
        self,
        filter: str = "",
        *,
        start: TableTime | None = None,
        end: TableTime | None = None,
        by: LogClock | None = None,
        fields: str | Sequence[str] | None = None,
        values: int = 10,
    ) -> list[LogFacet]: ...
    def stats(
        self,
        question: str,
        *,
        start: TableTime | None = None,
        end: TableTime | None = None,
        by: LogClock | None = None,
    ) -> Rows: ...
    def context(
        self, timestamp: LogPlace, before: int = 5, after: int = 5
    ) -> list[LogEntry]: ...
    def tail(self, filter: str = "", *, after: LogPlace | None = None) -> LogTail: ...
    def set_retention(self, *, age: float | None = None, bytes: int | None = None) -> None: ...
    def flush(self) -> None: ...
    def compact(self) -> None: ...
    def drop(self) -> None: ...
    def __len__(self) -> int: ...
    def __bool__(self) -> bool: ...

@final
class LogEntry:
    @property
    def timestamp(self) -> int: ...
    @property
    def source_time(self) -> int | None: ...
    @property
    def datetime(self) -> _datetime: ...
    @property
    def source_datetime(self) -> _datetime | None: ...
    @property
    def level(self) -> LogLevel | None: ...
    @property
    def message(self) -> str: ...
    @property
    def labels(self) -> dict[str, str]: ...
    @property
    def fields(self) -> dict[str, Any]: ...
    @property
    def position(self) -> str: ...
    def to_dict(self) -> LogEntryParts: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class LogEntries:
    @property
    def position(self) -> str | None: ...
    def to_arrow(self) -> Any: ...
    def to_pandas(self) -> Any: ...
    def to_polars(self) -> Any: ...
    def __iter__(self) -> LogEntriesIter: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class LogEntriesIter:
    def __iter__(self) -> Self: ...
    def __next__(self) -> LogEntry: ...

@final
class LogTail:
    @property
    def position(self) -> str: ...
    def _fill(self, seconds: float) -> bool: ...
    def _take(self) -> LogEntry | None: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> LogEntry: ...
    def __aiter__(self) -> Self: ...
    def __anext__(self) -> Awaitable[LogEntry]: ...

@final
class LogBucket:
    @staticmethod
    def _of(start: int, end: int, count: int, levels: dict[str, int]) -> LogBucket: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def datetime(self) -> _datetime: ...
    @property
    def count(self) -> int: ...
    @property
    def levels(self) -> dict[LogLevel, int]: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class LogFacet:
    @staticmethod
    def _of(field: str, count: int, values: list[tuple[str, int]], others: int) -> LogFacet: ...
    @property
    def field(self) -> str: ...
    @property
    def count(self) -> int: ...
    @property
    def values(self) -> list[tuple[str, int]]: ...
    @property
    def others(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

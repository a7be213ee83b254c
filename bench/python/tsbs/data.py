"""The rows of the Time Series Benchmark Suite's use case `cpu-only`, made from a fixed seed by its rule.

A row a host every few seconds, in order of time and then of hosts. Each field is a random walk with steps of
N(0, 1) that is clamped to 0..100; what is written of it is the whole number below, as a float.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.python.common.files import made

START = datetime(2016, 1, 1, tzinfo=UTC)
TIME = pa.timestamp("us", tz="UTC")
BATCH_ROWS = 200_000
# Of the file by series: small ones, so that a query of one series can leave out most.
GROUP_ROWS = 100_000
NAMES = ("user", "system", "idle", "nice", "iowait", "irq", "softirq", "steal", "guest", "guest_nice")
FIELDS = tuple(f"usage_{name}" for name in NAMES)
ZONES = {
    "us-east-1": "abce", "us-west-1": "ab", "us-west-2": "abc", "eu-west-1": "abc", "eu-central-1": "ab",
    "ap-southeast-1": "ab", "ap-southeast-2": "ab", "ap-northeast-1": "ac", "sa-east-1": "abc",
}  # fmt: skip
# What a host draws each of its tags from, but for its name and the two of its place.
DRAWN: dict[str, tuple[str, ...]] = {
    "rack": tuple(str(number) for number in range(100)),
    "os": ("Ubuntu16.10", "Ubuntu16.04LTS", "Ubuntu15.10"),
    "arch": ("x64", "x86"),
    "team": ("SF", "NYC", "LON", "CHI"),
    "service": tuple(str(number) for number in range(20)),
    "service_version": ("0", "1"),
    "service_environment": ("production", "staging", "test"),
}
TAGS = ("hostname", "region", "datacenter", *DRAWN)


@dataclass(frozen=True)
class Shape:
    """How many rows of which columns."""

    hosts: int
    steps: int
    step_s: int = 10
    fields: tuple[str, ...] = FIELDS
    tags: tuple[str, ...] = TAGS

    @property
    def rows(self) -> int:
        return self.hosts * self.steps

    @property
    def end(self) -> datetime:
        """The time before which all rows are."""
        return START + timedelta(seconds=self.steps * self.step_s)

    @property
    def schema(self) -> pa.Schema:
        """Of the rows as they are appended: their texts are plain."""
        texts = [(name, pa.string()) for name in self.tags]
        return pa.schema([("time", TIME), *texts, *((name, pa.float64()) for name in self.fields)])

    def few(self) -> Shape:
        """The same for a quick run."""
        return replace(self, hosts=max(self.hosts // 40, 10), steps=max(self.steps // 20, 100))


DAY_OF_400 = Shape(hosts=400, steps=24 * 360)
HOURS_OF_4000 = Shape(hosts=4_000, steps=3 * 360)
# A row a series every two minutes: an hour of one is 30 rows of 100.
SERIES = Shape(hosts=100_000, steps=100, step_s=120, fields=FIELDS[:1], tags=TAGS[:1])


def hostname(number: int) -> str:
    return f"host_{number}"


def _tags(shape: Shape) -> dict[str, list[str]]:
    """Of each tag the values of all hosts."""
    rng = np.random.default_rng([2016, shape.hosts])
    regions = list(ZONES)
    of_hosts = [regions[at] for at in rng.integers(0, len(regions), shape.hosts)]
    shares = rng.random(shape.hosts)
    places = [
        f"{region}{ZONES[region][int(share * len(ZONES[region]))]}"
        for region, share in zip(of_hosts, shares, strict=True)
    ]
    found = {
        "hostname": [hostname(number) for number in range(shape.hosts)],
        "region": of_hosts,
        "datacenter": places,
    }
    for name, values in DRAWN.items():
        found[name] = [values[at] for at in rng.integers(0, len(values), shape.hosts)]
    return {name: found[name] for name in shape.tags}


def batches(shape: Shape) -> Iterator[pa.RecordBatch]:
    """All rows, whole steps a batch."""
    rng = np.random.default_rng([123, shape.hosts])
    tags = [pa.array(values).dictionary_encode() for values in _tags(shape).values()]
    state = rng.random((len(shape.fields), shape.hosts)) * 100
    steps_a_batch = max(BATCH_ROWS // shape.hosts, 1)
    epoch_us = int(START.timestamp()) * 1_000_000
    for first in range(0, shape.steps, steps_a_batch):
        steps = min(steps_a_batch, shape.steps - first)
        walked = np.empty((len(shape.fields), steps, shape.hosts))
        for step in range(steps):
            np.clip(state + rng.standard_normal(state.shape), 0, 100, out=state)
            np.floor(state, out=walked[:, step])
        times = epoch_us + np.arange(first, first + steps, dtype=np.int64) * shape.step_s * 1_000_000
        columns = [pa.array(np.repeat(times, shape.hosts), TIME)]
        for tag in tags:
            places = np.tile(tag.indices.to_numpy(), steps)
            columns.append(pa.DictionaryArray.from_arrays(places, tag.dictionary).cast(pa.string()))
        columns += [pa.array(field.reshape(-1)) for field in walked]
        yield pa.record_batch(columns, schema=shape.schema)


class Files:
    """Files of rows in a folder, each made when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def rows(self, shape: Shape) -> pa.Table:
        """All rows, out of a file that is mapped and so takes no memory of its own."""

        def write(begun: Path) -> None:
            with pa.ipc.new_file(begun, shape.schema) as writer:
                for batch in batches(shape):
                    writer.write_batch(batch)

        path = made(self.folder / f"cpu-{shape.hosts}x{shape.steps}.arrow", write)
        return pa.ipc.open_file(pa.memory_map(str(path))).read_all()

    def parquet(self, shape: Shape) -> Path:
        """In the order of the table, each column encoded in the way that suits it."""
        return made(
            self.folder / f"cpu-{shape.hosts}x{shape.steps}.parquet",
            lambda begun: _write_parquet(self.rows(shape), begun),
        )

    def by_series(self, shape: Shape) -> Path:
        """Sorted by series and then by time, which is the best for reads of one series."""

        def write(begun: Path) -> None:
            table = self.rows(shape)
            # Of each host all steps: the order of hosts' names, so that statistics tell them apart.
            hosts = np.argsort([hostname(number) for number in range(shape.hosts)])
            places = np.arange(shape.rows).reshape(shape.steps, shape.hosts)[:, hosts].T.reshape(-1)
            _write_parquet(table.take(pa.array(places)), begun, row_group_size=GROUP_ROWS)

        return made(self.folder / f"series-{shape.hosts}x{shape.steps}.parquet", write)


def _write_parquet(table: pa.Table, path: Path, **options: Any) -> None:
    """Tags and fields, which have few values, as dictionaries; times by their differences."""
    pq.write_table(
        table,
        path,
        compression="zstd",
        compression_level=3,
        use_dictionary=[name for name in table.column_names if name != "time"],
        column_encoding={"time": "DELTA_BINARY_PACKED"},
        write_page_index=True,
        **options,
    )

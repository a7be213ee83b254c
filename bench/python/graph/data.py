"""The graphs that all sides get: made from a fixed seed, or the real one."""

from __future__ import annotations

import csv
import gzip
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa

from bench.python.graph.library import REAL_FILE

KINDS = ("calls", "contains", "imports", "references")


@dataclass(frozen=True)
class Shape:
    """A graph, before anybody has it: nodes are numbers from 0, edges are three columns."""

    name: str
    nodes: int
    sources: np.ndarray
    kinds: np.ndarray
    targets: np.ndarray

    @property
    def edges(self) -> int:
        return len(self.sources)

    @property
    def title(self) -> str:
        return f"{self.name} graph of {self.edges} edges"

    def ids(self) -> list[bytes]:
        """An id for each node, spread as a hash is."""
        numbers = np.random.default_rng(31).integers(0, 256, (self.nodes, 16), np.uint8).tobytes()
        return [numbers[at : at + 16] for at in range(0, len(numbers), 16)]

    @cached_property
    def arrow(self) -> pa.Table:
        """Source, kind and target of each edge, as our graphs take them."""
        ids = pa.array(self.ids(), pa.binary(16))
        kinds = pa.DictionaryArray.from_arrays(pa.array(self.kinds, pa.int8()), pa.array(KINDS))
        columns = [ids.take(pa.array(self.sources)), kinds.cast(pa.string())]
        columns.append(ids.take(pa.array(self.targets)))
        return pa.table(columns, names=["source", "kind", "target"])

    @cached_property
    def numbers(self) -> pa.Table:
        """The same with numbers for nodes and kinds, as kuzu takes them."""
        columns = [pa.array(column) for column in (self.sources, self.targets, self.kinds)]
        return pa.table(columns, names=["from", "to", "kind"])

    @cached_property
    def rows(self) -> list[tuple[int, int, int]]:
        """The same as SQLite takes them."""
        columns = (self.sources, self.kinds, self.targets)
        return list(zip(*(column.tolist() for column in columns), strict=True))

    def busiest(self) -> int:
        """The node with most edges: from it most of a graph is reached."""
        return int(np.bincount(self.sources, minlength=self.nodes).argmax())


def once(name: str, nodes: int, sources: np.ndarray, kinds: np.ndarray, targets: np.ndarray) -> Shape:
    """Each edge once, in the order in which they come first."""
    keys = (sources.astype(np.int64) * nodes + targets) * len(KINDS) + kinds
    firsts = np.sort(np.unique(keys, return_index=True)[1])
    return Shape(name, nodes, sources[firsts], kinds[firsts], targets[firsts])


def uniform(nodes: int, edges: int) -> Shape:
    """Edges between nodes that are drawn evenly."""
    rng = np.random.default_rng(37)
    ends = rng.integers(0, nodes, (2, edges))
    return once("uniform", nodes, ends[0], rng.integers(0, len(KINDS), edges), ends[1])


def power_law(nodes: int, edges: int) -> Shape:
    """Edges to nodes of which few get most: one in ten nodes has more than half of them."""
    rng = np.random.default_rng(41)
    targets = (rng.random(edges) ** 4 * nodes).astype(np.int64)
    kinds = rng.integers(0, len(KINDS), edges)
    return once("power law", nodes, rng.integers(0, nodes, edges), kinds, targets)


def standard_library(folder: Path) -> Shape:
    """The standard library of a Python, as a code graph."""
    places: dict[str, int] = {}
    columns: tuple[list[int], list[int], list[int]] = ([], [], [])
    with gzip.open(folder / REAL_FILE, "rt", encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            kind = KINDS.index(row["kind"]) if row["kind"] in KINDS else len(KINDS) - 1
            ends = [places.setdefault(row[end], len(places)) for end in ("src", "dst")]
            for column, value in zip(columns, (ends[0], kind, ends[1]), strict=True):
                column.append(value)
    sources, kinds, targets = (np.array(column) for column in columns)
    return once("standard library", len(places), sources, kinds, targets)

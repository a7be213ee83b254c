"""Graphs beside dictionaries of Python, which hold the same blocks and edges in memory alone."""

from __future__ import annotations

import random
import sys
from collections import defaultdict, deque
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import timestrata

from bench.python.check.measure import Class, Measure, Pair, Place, Work, emptied, measure
from bench.python.graph.data import KINDS, Shape, power_law

NODES, EDGES = 10_000, 30_000
BLOCKS, CONTENT_BYTES, HOPS = 5_000, 200, 2_000
PYTHON = f"Python {sys.version_info.major}.{sys.version_info.minor}"
Adjacency = dict[bytes, list[tuple[bytes, str]]]


@measure("graph put", Class.WRITE)
def put(place: Place) -> Iterator[Pair]:
    """Blocks in one call, beside a dictionary of them by their hash."""
    choose, path = random.Random(3), place.new()
    contents = [choose.randbytes(CONTENT_BYTES) for _ in range(BLOCKS)]

    def ours(store: timestrata.Store) -> None:
        store.graph("graph").put_many(contents)

    def floor() -> dict[bytes, bytes]:
        return {sha256(content).digest(): content for content in contents}

    work = Work(ours, lambda: emptied(path))
    yield Pair(work, Work(floor), f"a dict, {PYTHON}", True)


def _adjacency(shape: Shape) -> Adjacency:
    ids, found = shape.ids(), defaultdict(list)
    for source, kind, target in shape.rows:
        found[ids[source]].append((ids[target], KINDS[kind]))
    return dict(found)


@measure("graph link", Class.WRITE)
def link(place: Place) -> Iterator[Pair]:
    """Edges in one call, beside lists of them by their source."""
    shape, path = power_law(NODES, EDGES), place.new()
    edges = shape.arrow
    assert shape.rows

    def ours(store: timestrata.Store) -> None:
        store.graph("graph").link_many(edges)

    work = Work(ours, lambda: emptied(path))
    yield Pair(work, Work(lambda: _adjacency(shape)), f"lists, {PYTHON}", True)


def _filled(place: Place) -> Iterator[tuple[timestrata.Graph, Adjacency, Shape]]:
    """A graph whose edges are in memory, and the same as lists."""
    shape = power_law(NODES, EDGES)
    with timestrata.open(place.new()) as store:
        graph = store.graph("graph")
        graph.link_many(shape.arrow)
        store.compact()
        # Edges come into memory with the first walk.
        graph.walk(shape.ids()[shape.busiest()])
        yield graph, _adjacency(shape), shape


@measure("graph hop", Class.PROCESSOR)
def hop(place: Place) -> Iterator[Pair]:
    """All edges out of blocks that are drawn, one call each."""
    choose = random.Random(43)
    graph, plain, shape = place.common(_filled)
    ids = shape.ids()
    chosen = [ids[choose.randrange(shape.nodes)] for _ in range(HOPS)]
    yield Pair(
        Work(lambda: [graph.neighbors(each) for each in chosen]),
        Work(lambda: [list(plain.get(each, ())) for each in chosen]),
        f"a dict of lists, {PYTHON}",
        answer=lambda hops: [sorted(each) for each in hops],
    )


@measure("graph walk", Class.PROCESSOR)
def walk(place: Place) -> Iterator[Pair]:
    """All blocks that can be reached from the one with most edges, breadth first."""
    graph, plain, shape = place.common(_filled)
    start = shape.ids()[shape.busiest()]

    def floor() -> int:
        depths, queue = {start: 0}, deque([start])
        while queue:
            at = queue.popleft()
            for target, _ in plain.get(at, ()):
                if target not in depths:
                    depths[target] = depths[at] + 1
                    queue.append(target)
        return len(depths)

    ours = Work(lambda: len(graph.walk(start).ids))
    yield Pair(ours, Work(floor), f"deque and dict, {PYTHON}")


@measure("graph get", Class.READ)
def get(place: Place) -> Iterator[Pair]:
    """Blocks that are drawn, one call each, beside a dictionary that has a copy made of each."""
    choose = random.Random(47)
    contents = [choose.randbytes(CONTENT_BYTES) for _ in range(BLOCKS)]
    with timestrata.open(place.new()) as store:
        graph = store.graph("graph")
        ids = graph.put_many(contents)
        store.flush()
        plain: dict[Any, bytes] = dict(zip(ids, contents, strict=True))
        chosen = [ids[choose.randrange(BLOCKS)] for _ in range(HOPS)]

        def ours() -> list[Any]:
            return [block.content for each in chosen if (block := graph.get(each))]

        def floor() -> list[bytes]:
            return [bytes(bytearray(plain[each])) for each in chosen]

        yield Pair(Work(ours), Work(floor), f"a dict, {PYTHON}")


MEASURES: tuple[Measure, ...] = (put, link, hop, walk, get)

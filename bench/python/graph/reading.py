"""One hop, three hops, and all that can be reached."""

from __future__ import annotations

import random
import sqlite3
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import kuzu
import networkx as nx
import rustworkx as rx
import timestrata

from bench.python.common.race import OURS, agree, turns
from bench.python.common.report import Measure
from bench.python.common.run import Run
from bench.python.common.sample import median, quiet, timed
from bench.python.graph import sides
from bench.python.graph.data import Shape

SHORT_WALKS, WHOLE_WALKS = 200, 5
THREE_HOPS = (
    "WITH RECURSIVE reached(node, depth) AS (VALUES(?, 0) UNION "
    "SELECT edges.target, depth + 1 FROM reached JOIN edges ON edges.source = reached.node "
    "WHERE depth < 3) SELECT count(DISTINCT node) FROM reached"
)
ALL_HOPS = (
    "WITH RECURSIVE reached(node) AS (VALUES(?) UNION "
    "SELECT edges.target FROM reached JOIN edges ON edges.source = reached.node) "
    "SELECT count(*) FROM reached"
)
# A path of kuzu's ends at a node whose distance is the shortest; the start itself is none of them.
KUZU_HOPS = (
    "MATCH (a:block)-[e:edge* SHORTEST 1..{depth}]->(b:block) "
    "WHERE a.id = $id RETURN count(DISTINCT b.id)"
)
# Its own upper bound of a path's length.
KUZU_DEPTH_MAX = 30


@dataclass
class Graphs:
    """One graph, as each side has it."""

    shape: Shape
    ids: list[bytes]
    ours: timestrata.GraphView
    sql: sqlite3.Connection
    kuzu: kuzu.Connection
    rustworkx: rx.PyDiGraph
    networkx: nx.DiGraph


def graphs(run: Run, shape: Shape) -> Graphs:
    path = run.dir / shape.name
    sides.store(path / "store", shape)
    sides.sqlite(path / "sqlite", shape)
    sides.in_kuzu(path / "kuzu", shape)
    ours = timestrata.open(path / "store").graph("graph")
    # Others have all of it in memory too; the first walk is the load group's.
    ours.walk(shape.ids()[shape.busiest()])
    ours.pagerank()
    return Graphs(
        shape,
        shape.ids(),
        ours,
        sqlite3.connect(path / "sqlite"),
        sides.kuzu_connection(path / "kuzu"),
        sides.in_rustworkx(shape),
        sides.in_networkx(shape),
    )


def scalar(connection: kuzu.Connection, query: str, node: int) -> int:
    return int(connection.execute(query, {"id": node}).get_next()[0])


def hops_of_rustworkx(graph: rx.PyDiGraph, start: int, depth: int) -> int:
    """As its users write it: it has no walk that ends at a depth."""
    seen, front = {start}, [start]
    for _ in range(depth):
        after = []
        for node in front:
            for other in graph.successor_indices(node):
                if other not in seen:
                    seen.add(other)
                    after.append(other)
        front = after
    return len(seen)


def whole_of_networkx(graph: nx.DiGraph, start: int) -> int:
    seen, queue = {start}, deque([start])
    while queue:
        for other in graph.adj[queue.popleft()]:
            if other not in seen:
                seen.add(other)
                queue.append(other)
    return len(seen)


def race(
    run: Run,
    name: str,
    works: dict[str, Callable[[int], Any]],
    nodes: list[int],
    aims: dict[str, float],
    note: str,
) -> None:
    """Microseconds of single calls, each node on all sides in turn; what they count must agree."""
    taken: dict[str, list[float]] = {side: [] for side in works}
    for work in works.values():
        work(nodes[0])
    with quiet():
        for turn, node in enumerate(nodes):
            answers = {}
            for side in turns(list(works), turn % len(works) + 1)[-1]:
                seconds, answers[side] = timed(works[side], node)
                taken[side].append(seconds * 1e6)
            agree(answers)
    for side in works:
        if side != OURS:
            ours, other = median(taken[OURS]), median(taken[side])
            text = f"{note}; median of {len(nodes)}"
            run.report(Measure(f"{name} [{side}]", "us", ours, side, other, aims.get(side), text))


def of_shape(run: Run, shape: Shape) -> None:
    on = graphs(run, shape)
    choose = random.Random(43)
    count = 20 if run.quick else SHORT_WALKS
    nodes = [choose.randrange(shape.nodes) for _ in range(count)]
    one_hop(run, on, nodes)
    three_hops(run, on, nodes)
    whole(run, on)


def one_hop(run: Run, on: Graphs, nodes: list[int]) -> None:
    query = "MATCH (a:block)-[e:edge]->(b:block) WHERE a.id = $id RETURN count(e)"
    select = "SELECT target FROM edges WHERE source = ?"
    works = {
        OURS: lambda node: len(on.ours.neighbors(on.ids[node])),
        "SQLite": lambda node: len(on.sql.execute(select, (node,)).fetchall()),
        "kuzu": lambda node: scalar(on.kuzu, query, node),
        "rustworkx": lambda node: len(list(on.rustworkx.out_edges(node))),
    }
    aims = dict.fromkeys(works, 1.0)
    race(run, f"1 hop, {on.shape.title}", works, nodes, aims, "all edges out of a node, with kinds")
    # Who keeps one edge from a node to another has fewer where there are several kinds.
    targets = {
        OURS: lambda node: len(on.ours.walk(on.ids[node], depth=1).ids),
        "networkx": lambda node: len({node, *on.networkx.successors(node)}),
    }
    name = f"1 hop, blocks alone, {on.shape.title}"
    race(run, name, targets, nodes, {"networkx": 1.0}, "a node and those behind its edges")


def three_hops(run: Run, on: Graphs, nodes: list[int]) -> None:
    query = KUZU_HOPS.format(depth=3)
    works = {
        OURS: lambda node: len(on.ours.walk(on.ids[node], depth=3)),
        "SQLite": lambda node: on.sql.execute(THREE_HOPS, (node,)).fetchone()[0],
        "kuzu": lambda node: 1 + scalar(on.kuzu, query, node),
        "rustworkx": lambda node: hops_of_rustworkx(on.rustworkx, node, 3),
        "networkx": lambda node: len(
            dict(nx.single_source_shortest_path_length(on.networkx, node, cutoff=3))
        ),
    }
    aims = dict.fromkeys(works, 1.0)
    race(run, f"3 hops, {on.shape.title}", works, nodes, aims, "all nodes at most 3 edges away")


def whole(run: Run, on: Graphs) -> None:
    start = on.shape.busiest()
    nodes = [start] * (2 if run.quick else WHOLE_WALKS)
    works = {
        OURS: lambda node: len(on.ours.walk(on.ids[node])),
        "SQLite": lambda node: on.sql.execute(ALL_HOPS, (node,)).fetchone()[0],
        "kuzu": lambda node: 1 + scalar(on.kuzu, KUZU_HOPS.format(depth=KUZU_DEPTH_MAX), node),
        "rustworkx, descendants": lambda node: 1 + len(rx.descendants(on.rustworkx, node)),
        "rustworkx, loop": lambda node: hops_of_rustworkx(on.rustworkx, node, on.shape.nodes),
        "networkx": lambda node: whole_of_networkx(on.networkx, node),
    }
    aims = dict.fromkeys(works, 1.0)
    note = f"all nodes that can be reached from node {start}; ours with depths and ids"
    race(run, f"whole walk, {on.shape.title}", works, nodes, aims, note)

"""What graphs are held against, each as its own documents tell to use it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import kuzu
import networkx as nx
import pyarrow as pa
import rustworkx as rx
import timestrata

from bench.python.common.files import fresh
from bench.python.graph.data import Shape


def store(path: Path, shape: Shape) -> int:
    """All edges in a durable graph of ours; gives how many there are."""
    with timestrata.open(fresh(path)) as opened:
        graph = opened.graph("graph")
        graph.link_many(shape.arrow, durability="synced")
        return graph.edge_count()


def sqlite(path: Path, shape: Shape) -> int:
    """The same in a table of SQLite, by source and by target, in one synced transaction."""
    with sqlite3.connect(fresh(path)) as connection:
        connection.executescript(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -262144;"
            "CREATE TABLE edges (source INTEGER, kind INTEGER, target INTEGER, "
            "PRIMARY KEY (source, kind, target)) WITHOUT ROWID;"
        )
        connection.execute("BEGIN")
        connection.executemany("INSERT INTO edges VALUES (?, ?, ?)", shape.rows)
        connection.execute("CREATE INDEX incoming ON edges (target, kind, source)")
        connection.commit()
        return int(connection.execute("SELECT count(*) FROM edges").fetchone()[0])


def kuzu_connection(path: Path) -> kuzu.Connection:
    """One thread, as the aims say."""
    return kuzu.Connection(kuzu.Database(str(path), max_num_threads=1), num_threads=1)


def in_kuzu(path: Path, shape: Shape) -> int:
    """The same in a database of kuzu, by its COPY."""
    connection = kuzu_connection(fresh(path))
    connection.execute("CREATE NODE TABLE block(id INT64, PRIMARY KEY (id))")
    connection.execute("CREATE REL TABLE edge(FROM block TO block, kind INT64)")
    nodes = pa.table({"id": pa.array(range(shape.nodes), pa.int64())})
    edges = shape.numbers
    connection.execute("COPY block FROM nodes")
    connection.execute("COPY edge FROM edges")
    count = connection.execute("MATCH ()-[e:edge]->() RETURN count(e)").get_next()[0]
    del nodes, edges
    connection.close()
    return int(count)


def in_rustworkx(shape: Shape) -> rx.PyDiGraph:
    graph = rx.PyDiGraph()
    graph.add_nodes_from(range(shape.nodes))
    triples = zip(shape.sources.tolist(), shape.targets.tolist(), shape.kinds.tolist(), strict=True)
    graph.add_edges_from(list(triples))
    return graph


def in_networkx(shape: Shape) -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_nodes_from(range(shape.nodes))
    graph.add_edges_from(zip(shape.sources.tolist(), shape.targets.tolist(), strict=True))
    return graph

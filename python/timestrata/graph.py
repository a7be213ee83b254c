"""What graphs have in Python itself: the way out to libraries of graphs."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from timestrata._timestrata import GraphView

__all__ = ["to_networkx", "to_rustworkx"]


def _library(name: str, method: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        message = f"{method} needs {name}, which is not installed: pip install {name}"
        raise ModuleNotFoundError(message, name=name) from error


def _nodes_and_edges(
    graph: GraphView,
) -> tuple[dict[bytes, dict[str, Any]], Iterator[tuple[bytes, bytes, dict[str, Any]]]]:
    """Give the blocks by id, with what is said about them, and the edges of the same moment."""
    blocks, edges = graph.to_arrow()
    said = {}
    for row in blocks:
        metadata = row["metadata"]
        said[row["id"]] = {
            "version": row["version"],
            "source_uri": row["source_uri"],
            "metadata": None if metadata is None else json.loads(metadata),
        }

    def each() -> Iterator[tuple[bytes, bytes, dict[str, Any]]]:
        for row in edges:
            properties = row["properties"]
            yield row["source"], row["target"], {
                "kind": row["kind"],
                "weight": row["weight"],
                "valid_from": row["valid_from"],
                "properties": None if properties is None else json.loads(properties),
            }

    return said, each()


def to_networkx(graph: GraphView) -> Any:
    """Give a graph as a ``networkx.MultiDiGraph``; see `GraphView.to_networkx`."""
    networkx = _library("networkx", "to_networkx()")
    blocks, edges = _nodes_and_edges(graph)
    made = networkx.MultiDiGraph(name=graph.name)
    made.add_nodes_from(blocks.items())
    for source, target, said in edges:
        kind = said.pop("kind")
        if said["weight"] is None:
            # What is missing weighs 1 to networkx too; None would not.
            del said["weight"]
        made.add_edge(source, target, key=kind, **said)
    return made


def to_rustworkx(graph: GraphView) -> Any:
    """Give a graph as a ``rustworkx.PyDiGraph``; see `GraphView.to_rustworkx`."""
    rustworkx = _library("rustworkx", "to_rustworkx()")
    blocks, edges = _nodes_and_edges(graph)
    made = rustworkx.PyDiGraph(attrs={"name": graph.name})
    places: dict[bytes, int] = dict(zip(blocks, made.add_nodes_from(list(blocks)), strict=True))

    def place(id: bytes) -> int:
        # A block that an edge names need not exist.
        if id not in places:
            places[id] = made.add_node(id)
        return places[id]

    made.add_edges_from([(place(source), place(target), said) for source, target, said in edges])
    return made

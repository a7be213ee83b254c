"""A graph of a steady size: blocks put again and deleted, edges linked and taken away, walks along them."""

from __future__ import annotations

from typing import Literal

import timestrata
from bench.python.soak.loads.load import Load, Shared

IDS = 800
EDGES = 2_400
KINDS = ("calls", "imports", "owns")
Edge = tuple[int, str, int]


class GraphLoad(Load):
    model = "graph"
    rate = 40.0

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self.blocks: dict[int, str] = {}
        self.out: dict[int, set[tuple[str, int]]] = {}
        self.back: dict[int, set[tuple[str, int]]] = {}
        # All edges, in an order from which one is drawn at once.
        self.edges: list[Edge] = []
        self.places: dict[Edge, int] = {}
        self.choices = [
            (self.put, 0.18), (self.link, 0.2), (self.unlink, 0.1), (self.delete, 0.02), (self.change, 0.1),
            (self.get, 0.1), (self.neighbors, 0.12), (self.walk, 0.1), (self.edges_of, 0.05), (self.count, 0.03),
        ]  # fmt: skip
        self.attach(shared.store)

    def attach(self, store: timestrata.Store) -> None:
        self.graph = store.graph("code", keep_versions=2)

    def _id(self) -> int:
        return self.rng.randrange(IDS)

    def _edge(self) -> Edge:
        return self._id(), self.rng.choice(KINDS), self._id()

    def _durability(self) -> Literal["synced", "written"]:
        return "synced" if self.rng.random() < 0.05 else "written"

    def _name(self, kind: str, durability: str) -> str:
        return f"{kind} synced" if durability == "synced" else kind

    def _add(self, edge: Edge) -> None:
        source, kind, target = edge
        if edge not in self.places:
            self.places[edge] = len(self.edges)
            self.edges.append(edge)
            self.out.setdefault(source, set()).add((kind, target))
            self.back.setdefault(target, set()).add((kind, source))

    def _remove(self, edge: Edge) -> None:
        source, kind, target = edge
        place = self.places.pop(edge)
        last = self.edges.pop()
        if last != edge:
            self.edges[place] = last
            self.places[last] = place
        self.out[source].discard((kind, target))
        self.back[target].discard((kind, source))

    def put(self) -> None:
        block, content, durability = self._id(), self.text(300), self._durability()
        name = self._name("put", durability)
        self.timed(name, self.graph.put, content, id=id_of(block), durability=durability)
        self.blocks[block] = content

    def link(self) -> None:
        if len(self.edges) >= EDGES:
            return self.unlink()
        edge, durability = self._edge(), self._durability()
        source, kind, target = edge
        name = self._name("link", durability)
        self.timed(name, self.graph.link, id_of(source), kind, id_of(target), durability=durability)
        self._add(edge)

    def unlink(self) -> None:
        if not self.edges:
            return
        source, kind, target = edge = self.rng.choice(self.edges)
        self.timed("unlink", self.graph.unlink, id_of(source), kind, id_of(target))
        self._remove(edge)

    def delete(self) -> None:
        """A block goes with all its edges, those that lead to it included."""
        block = self._id()
        if block not in self.blocks:
            return
        self.timed("delete", self.graph.delete, id_of(block))
        del self.blocks[block]
        for kind, target in list(self.out.get(block, ())):
            self._remove((block, kind, target))
        for kind, source in list(self.back.get(block, ())):
            self._remove((source, kind, block))

    def change(self) -> None:
        """Several blocks and edges in one commit."""
        puts = {self._id(): self.text(100) for _ in range(5)}
        links = [self._edge() for _ in range(8)] if len(self.edges) < EDGES else []
        gone = {} if links else dict.fromkeys(self.rng.sample(self.edges, 8))
        self.timed(
            "change", self.graph.change,
            put=[{"id": id_of(block), "content": content} for block, content in puts.items()],
            link=[(id_of(source), kind, id_of(target)) for source, kind, target in links] or None,
            unlink=[(id_of(source), kind, id_of(target)) for source, kind, target in gone] or None,
        )  # fmt: skip
        self.blocks.update(puts)
        for edge in links:
            self._add(edge)
        for edge in gone:
            self._remove(edge)

    def get(self) -> None:
        block = self._id()
        found = self.timed("get", self.graph.get, id_of(block))
        self.expect(
            f"block {block}", None if found is None else found.content, self.blocks.get(block)
        )

    def neighbors(self) -> None:
        block = self._id()
        direction: Literal["out", "in"] = self.rng.choice(("out", "in"))
        found = self.timed("neighbors", self.graph.neighbors, id_of(block), direction)
        wanted = (self.out if direction == "out" else self.back).get(block, set())
        self.expect(
            f"neighbours {direction} of {block}",
            {(kind, number_of(id)) for id, kind in found},
            wanted,
        )

    def walk(self) -> None:
        start = self._id()
        found = self.timed("walk", lambda: self.graph.walk(id_of(start), depth=3).ids)
        seen = front = {start}
        for _ in range(3):
            front = {target for block in front for _, target in self.out.get(block, ())} - seen
            seen = seen | front
        self.expect(f"blocks within three edges of {start}", {number_of(id) for id in found}, seen)
        self.expect(f"blocks that a walk from {start} gives twice", len(found), len(seen))

    def edges_of(self) -> None:
        block = self._id()
        found = self.timed("edges", self.graph.edges, id_of(block), "in")
        edges = {(edge.kind, number_of(edge.source)) for edge in found}
        self.expect(f"edges to {block}", edges, self.back.get(block, set()))

    def count(self) -> None:
        self.expect("edges", self.timed("edge count", self.graph.edge_count), len(self.edges))
        self.expect("blocks", self.timed("len", len, self.graph), len(self.blocks))

    def verify(self) -> None:
        view = self.graph.view()
        ids = range(IDS)
        found = view.get_many([id_of(block) for block in ids])
        contents = {
            block: each.content for block, each in zip(ids, found, strict=True) if each is not None
        }
        self.expect("all blocks", contents, self.blocks)
        edges = {
            (block, edge.kind, number_of(edge.target))
            for block in ids
            for edge in view.edges(id_of(block))
        }
        self.expect("all edges", edges, set(self.edges))


def id_of(number: int) -> bytes:
    return number.to_bytes(16, "big")


def number_of(id: bytes) -> int:
    return int.from_bytes(id, "big")

"""A graph: blocks put again and deleted, edges linked and taken away, both at once."""

from __future__ import annotations

from typing import Any, Literal

import timestrata
from lab.lanes.lane import Lane, Step

IDS = 24
KINDS = ("calls", "imports")
EdgeKey = tuple[bytes, str, bytes]


class GraphLane(Lane):
    model = "graph"

    def __init__(self, seed: str, number: int) -> None:
        super().__init__(seed, number)
        self.blocks: dict[bytes, str] = {}
        self.edges: dict[EdgeKey, float] = {}
        self.ids = [bytes([number]) * 8 + at.to_bytes(8, "big") for at in range(IDS)]

    def attach(self, store: timestrata.Store) -> None:
        self.writes = store.mode != "r"
        exists = self.writes or "code" in store.graphs()
        self.graph = store.graph("code", create=self.writes) if exists else None

    def _edge(self) -> EdgeKey:
        return (self.rng.choice(self.ids), self.rng.choice(KINDS), self.rng.choice(self.ids))

    def _next(self) -> Step:
        kind = self.rng.random()
        synced = self.sync()
        if kind < 0.1 and self.blocks:
            block = self.rng.choice(sorted(self.blocks))
            del self.blocks[block]
            self.edges = {key: at for key, at in self.edges.items() if block not in (key[0], key[2])}
            return Step("delete", {"id": block}, synced)
        if kind < 0.25 and self.edges:
            edge = self.rng.choice(sorted(self.edges))
            del self.edges[edge]
            return Step("unlink", {"edge": edge}, synced)
        puts, links = {}, {}
        if kind < 0.65:
            for _ in range(self.rng.choice((1, 1, 4))):
                puts[self.rng.choice(self.ids)] = self.text()
        if kind > 0.5:
            for _ in range(self.rng.choice((1, 1, 5))):
                links[self._edge()] = float(self.drawn)
        self.blocks.update(puts)
        self.edges.update(links)
        return Step("change", {"puts": puts, "links": links}, synced)

    def _delete(self, step: Step) -> None:
        self.graph.delete(step.arguments["id"], durability=_durability(step))

    def _unlink(self, step: Step) -> None:
        self.graph.unlink(*step.arguments["edge"], durability=_durability(step))

    def _change(self, step: Step) -> None:
        puts = [{"id": at, "content": text} for at, text in step.arguments["puts"].items()]
        links = [(*edge, weight) for edge, weight in step.arguments["links"].items()]
        if not links and len(puts) == 1:
            self.graph.put(puts[0]["content"], id=puts[0]["id"], durability=_durability(step))
        elif not puts:
            self.graph.link_many(links, durability=_durability(step))
        else:
            self.graph.change(put=puts, link=links or None, durability=_durability(step))

    def expected(self) -> Any:
        return (self.blocks, self.edges)

    def found(self) -> Any:
        if self.graph is None:
            return ({}, {})
        # One view, so that blocks and edges are of one moment.
        view = self.graph.view() if self.writes else self.graph
        blocks = {block.id: block.content for block in view.get_many(self.ids) if block}
        there, back = {}, {}
        for node in self.ids:
            for edge in view.edges(node, "out"):
                there[edge.source, edge.kind, edge.target] = edge.weight
            for edge in view.edges(node, "in"):
                back[edge.source, edge.kind, edge.target] = edge.weight
        if there != back:
            raise AssertionError(f"{self.name}: edges by source {there} and by target {back} differ")
        return (blocks, there)

    def inspect(self) -> None:
        if self.graph is None:
            return
        blocks, edges = self.found()
        view = self.graph.view() if self.writes else self.graph
        for node in self.ids[:4]:
            targets = sorted((edge[2], edge[1]) for edge in edges if edge[0] == node)
            if sorted(view.neighbors(node)) != targets:
                raise AssertionError(f"{self.name}: neighbours of {node.hex()} differ from its edges")
            if (node in view) != (node in blocks):
                raise AssertionError(f"{self.name}: a block is there by one way and not by the other")


def _durability(step: Step) -> Literal["synced", "written"]:
    return "synced" if step.synced else "written"

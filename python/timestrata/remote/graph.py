"""Graphs of a server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast, overload
from uuid import UUID

from timestrata import awaiting
from timestrata._timestrata import Block, Edge, Route, Walk, _Server
from timestrata.errors import InvalidArgumentError, NotFoundError
from timestrata.remote.connection import LINES, Connection, Remote, dumps, ns_text
from timestrata.remote.graph_lines import (
    ITEMS_MAX,
    block_line,
    block_of,
    each_of,
    edge_key,
    edge_line,
    edge_of,
    expect_whole,
    id_text,
    kinds_text,
    object_text,
)

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from timestrata._timestrata import (
        BlockId,
        Blocklike,
        Durability,
        EdgeDirection,
        Edgelike,
        Kinds,
        SupportsArrowArray,
        SupportsArrowStream,
        TableTime,
    )

__all__ = ["RemoteGraph"]


class RemoteGraph(Remote):
    """A graph of a server. Made by `RemoteStore.graph`; its methods are those of `Graph`."""

    MISSING: ClassVar[Mapping[str, str]] = {
        "at": "ask the store as it was: store.at(pin=...).graph(name)",
        "components": "open the store's directory, by timestrata.open(path, mode='r')",
        "keep_versions": "it is said when the graph is made, by store.graph(name, keep_versions=...)",
        "pagerank": "open the store's directory, by timestrata.open(path, mode='r')",
        "set_cache_bytes_max": "the cache is the server's",
        "subgraph": "ask in SQL, over the graph's blocks and \"NAME/edges\"",
        "to_arrow": "ask in SQL, over the graph's blocks and \"NAME/edges\"",
        "to_networkx": "open the store's directory, by timestrata.open(path, mode='r')",
        "to_rustworkx": "open the store's directory, by timestrata.open(path, mode='r')",
        "view": "ask the store as it was: store.at(...).graph(name)",
    }

    def __init__(self, connection: Connection, name: str) -> None:
        super().__init__(connection)
        self._name = name

    @property
    def name(self) -> str:
        """Its name."""
        return self._name

    def _get(self, *path: str, **parameters: Any) -> Any:
        return self._connection.get("graphs", self._name, *path, **parameters)

    def _of_block(self, id: BlockId, what: str, **parameters: Any) -> Any:
        return self._get("blocks", id_text(id), what, **parameters)

    # Writing

    def put(
        self,
        content: Buffer | str,
        *,
        id: BlockId | None = None,
        version: int | None = None,
        source_uri: str | None = None,
        metadata: Mapping[str, Any] | str | None = None,
        durability: Durability | None = None,
    ) -> bytes:
        """Put a block, as `Graph.put` does. Gives its id."""
        block = {
            "id": id,
            "content": content,
            "version": version,
            "source_uri": source_uri,
            "metadata": metadata,
        }
        return self.put_many([block])[0]

    async def put_async(
        self,
        content: Buffer | str,
        *,
        id: BlockId | None = None,
        version: int | None = None,
        source_uri: str | None = None,
        metadata: Mapping[str, Any] | str | None = None,
        durability: Durability | None = None,
    ) -> bytes:
        """`put` without holding up an event loop; a task that is cancelled waits for its end."""
        return await awaiting.write(
            self.put,
            content,
            id=id,
            version=version,
            source_uri=source_uri,
            metadata=metadata,
            durability=durability,
        )

    def put_many(
        self,
        blocks: Iterable[Blocklike] | SupportsArrowStream | SupportsArrowArray,
        durability: Durability | None = None,
    ) -> list[bytes]:
        """Put blocks, all in one commit or none, as `Graph.put_many` does. Gives their ids, in order."""
        return self.change(put=blocks)

    async def put_many_async(
        self,
        blocks: Iterable[Blocklike] | SupportsArrowStream | SupportsArrowArray,
        durability: Durability | None = None,
    ) -> list[bytes]:
        """`put_many` without holding up an event loop; a task that is cancelled waits for its end."""
        return await awaiting.write(self.put_many, blocks, durability)

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
    ) -> None:
        """Link two blocks, or link them anew, as `Graph.link` does."""
        edge = {
            "source": source,
            "kind": kind,
            "target": target,
            "weight": weight,
            "valid_from": valid_from,
            "properties": properties,
        }
        self.change(link=[edge])

    async def link_async(
        self,
        source: BlockId,
        kind: str,
        target: BlockId,
        *,
        weight: float | None = None,
        valid_from: TableTime | None = None,
        properties: Mapping[str, Any] | str | None = None,
        durability: Durability | None = None,
    ) -> None:
        """`link` without holding up an event loop; a task that is cancelled waits for its end."""
        await awaiting.write(
            self.link,
            source,
            kind,
            target,
            weight=weight,
            valid_from=valid_from,
            properties=properties,
            durability=durability,
        )

    def link_many(
        self,
        edges: Iterable[Edgelike] | SupportsArrowStream | SupportsArrowArray,
        durability: Durability | None = None,
    ) -> None:
        """Link blocks, all in one commit or none, as `Graph.link_many` does."""
        self.change(link=edges)

    async def link_many_async(
        self,
        edges: Iterable[Edgelike] | SupportsArrowStream | SupportsArrowArray,
        durability: Durability | None = None,
    ) -> None:
        """`link_many` without holding up an event loop; a task that is cancelled waits for its end."""
        await awaiting.write(self.link_many, edges, durability)

    def delete(self, id: BlockId, *, durability: Durability | None = None) -> None:
        """Delete a block and all of its edges."""
        self.change(delete=[id])

    async def delete_async(self, id: BlockId, *, durability: Durability | None = None) -> None:
        """`delete` without holding up an event loop; a task that is cancelled waits for its end."""
        await awaiting.write(self.delete, id, durability=durability)

    def delete_many(
        self, ids: Iterable[BlockId], *, durability: Durability | None = None
    ) -> None:
        """Delete blocks with all of their edges, in one commit."""
        self.change(delete=ids)

    def unlink(
        self,
        source: BlockId,
        kind: str,
        target: BlockId,
        *,
        durability: Durability | None = None,
    ) -> None:
        """Remove an edge."""
        self.change(unlink=[(source, kind, target)])

    def unlink_all(
        self,
        source: BlockId | None = None,
        target: BlockId | None = None,
        kind: str | None = None,
        *,
        durability: Durability | None = None,
    ) -> None:
        """Remove all edges from a block, to a block, or of a kind."""
        if sum(one is not None for one in (source, target, kind)) != 1:
            raise InvalidArgumentError("unlink_all() takes one of a source, a target and a kind")
        self._connection.send(
            "DELETE",
            "graphs",
            self._name,
            "edges",
            source=None if source is None else id_text(source),
            target=None if target is None else id_text(target),
            kind=kind,
        )

    def change(
        self,
        *,
        put: Iterable[Blocklike] | SupportsArrowStream | SupportsArrowArray | None = None,
        link: Iterable[Edgelike] | SupportsArrowStream | SupportsArrowArray | None = None,
        delete: Iterable[BlockId] | None = None,
        unlink: Iterable[Edgelike] | SupportsArrowStream | SupportsArrowArray | None = None,
        durability: Durability | None = None,
    ) -> list[bytes]:
        """Make changes of any kind, all in one commit or none, as `Graph.change` does. Gives the ids of blocks that were put."""
        blocks = [block_line(block) for block in each_of(put)]
        said = [dumps({"delete": id_text(id)}) for id in delete or ()]
        said += [dumps({"unlink": edge_key(edge)}) for edge in each_of(unlink)]
        said += [line for _, line in blocks]
        said += [edge_line(edge) for edge in each_of(link)]
        if said:
            self._connection.send(
                "POST",
                "graphs",
                self._name,
                "changes",
                text="".join(line + "\n" for line in said),
                content_type=LINES,
            )
        return [id for id, _ in blocks]

    # Reading

    def get(self, id: BlockId) -> Block | None:
        """Give a block; None if there is none."""
        try:
            return block_of(self._get("blocks", id_text(id)))
        except NotFoundError:
            self._expect()
            return None

    def _expect(self) -> None:
        """Say that the graph isn't there, if it isn't."""
        self._get()

    def get_many(self, ids: Iterable[BlockId]) -> list[Block | None]:
        """Give blocks, in the order of their ids; None for one that isn't there. One request each."""
        return [self.get(id) for id in ids]

    def contains(self, id: BlockId) -> bool:
        """Whether there is a block of this id."""
        return self.get(id) is not None

    def __contains__(self, id: BlockId, /) -> bool:
        return self.contains(id)

    def versions(self, id: BlockId) -> list[Block]:
        """Give the versions of a block that are kept, the latest first."""
        try:
            return [block_of(told) for told in self._of_block(id, "versions")]
        except NotFoundError:
            self._expect()
            return []

    def find(
        self,
        source_uri: str | None = None,
        metadata: Mapping[str, Any] | str | None = None,
        limit: int | None = None,
    ) -> list[Block]:
        """Find blocks by where they came from, and what is said about them. Their content is asked for one by one."""
        found = self._get(
            "blocks",
            source_uri=source_uri,
            metadata=object_text(metadata),
            limit=ITEMS_MAX if limit is None else limit,
        )
        blocks = [self.get(told["block"]) for told in found]
        return [block for block in blocks if block is not None]

    def __len__(self) -> int:
        return int(self._get("count")["blocks"])

    def __bool__(self) -> bool:
        return True

    def edge_count(self) -> int:
        """Count the edges."""
        return int(self._get("count")["edges"])

    def edges(
        self, id: BlockId, direction: EdgeDirection = "out", kinds: Kinds | None = None
    ) -> list[Edge]:
        """Give the edges of a block."""
        said = self._of_block(
            id, "edges", direction=direction, kinds=kinds_text(kinds), limit=ITEMS_MAX
        )
        expect_whole(said)
        return [edge_of(told) for told in said["edges"]]

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
    def neighbors(
        self,
        ids: BlockId | Sequence[BlockId],
        direction: EdgeDirection = "out",
        kinds: Kinds | None = None,
        *,
        as_of: TableTime | None = None,
    ) -> list[tuple[bytes, str]] | list[list[tuple[bytes, str]]]:
        """Give the blocks one edge away, with the kinds of the edges; of several blocks one list each."""
        if isinstance(ids, (str, bytes, bytearray, memoryview, UUID)):
            return self._neighbors(ids, direction, kinds, as_of)
        return [self._neighbors(id, direction, kinds, as_of) for id in cast(Sequence[Any], ids)]

    def _neighbors(
        self, id: BlockId, direction: str, kinds: Kinds | None, as_of: TableTime | None
    ) -> list[tuple[bytes, str]]:
        said = self._of_block(
            id,
            "neighbors",
            direction=direction,
            kinds=kinds_text(kinds),
            as_of=ns_text(_Server.time_ns(as_of)),
            limit=ITEMS_MAX,
        )
        expect_whole(said)
        return [(bytes.fromhex(told["block"]), told["kind"]) for told in said["neighbors"]]

    def degree(
        self,
        id: BlockId,
        direction: EdgeDirection = "out",
        kinds: Kinds | None = None,
        *,
        as_of: TableTime | None = None,
    ) -> int:
        """Count the edges of a block."""
        said = self._of_block(
            id, "degree", direction=direction, kinds=kinds_text(kinds), as_of=ns_text(_Server.time_ns(as_of))
        )
        return int(said["degree"])

    def walk(
        self,
        start: BlockId | Iterable[BlockId],
        *,
        direction: EdgeDirection = "out",
        kinds: Kinds | None = None,
        depth: int | None = None,
        limit: int | None = None,
        order: Literal["bfs", "dfs"] = "bfs",
        as_of: TableTime | None = None,
    ) -> Walk:
        """Walk along edges from one block, as `Graph.walk` does. Without ``limit`` a million blocks are given at most."""
        if not isinstance(start, (str, bytes, bytearray, memoryview, UUID)):
            starts = list(start)
            if len(starts) != 1:
                raise InvalidArgumentError(
                    "a server walks from one block", hint="walk from each of them"
                )
            [start] = starts
        said = self._of_block(
            start,
            "walk",
            direction=direction,
            kinds=kinds_text(kinds),
            depth=depth,
            limit=ITEMS_MAX if limit is None else limit,
            order=order,
            as_of=ns_text(_Server.time_ns(as_of)),
        )
        places: dict[str, int] = {}
        blocks: list[tuple[bytes, int, int | None, str | None]] = []
        for told in said["blocks"]:
            parent = None if told["parent"] is None else places[told["parent"]]
            places.setdefault(told["block"], len(blocks))
            blocks.append((bytes.fromhex(told["block"]), told["depth"], parent, told["kind"]))
        return Walk._of(blocks, said["is_cut"])

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
    ) -> Route | None:
        """Find a way with the fewest edges, or whose edges weigh least; None if there is none."""
        said = self._get(
            "path",
            source=id_text(source),
            target=id_text(target),
            direction=direction,
            kinds=kinds_text(kinds),
            depth=depth,
            weighted=weighted,
            as_of=ns_text(_Server.time_ns(as_of)),
        )
        path = said["path"]
        if path is None:
            return None
        return Route._of(list(map(bytes.fromhex, path["blocks"])), path["kinds"], path["cost"])

    def reachable(
        self,
        source: BlockId,
        target: BlockId,
        *,
        direction: EdgeDirection = "out",
        kinds: Kinds | None = None,
        depth: int | None = None,
        as_of: TableTime | None = None,
    ) -> bool:
        """Whether there is a way from one block to another."""
        found = self.shortest_path(
            source, target, direction=direction, kinds=kinds, depth=depth, as_of=as_of
        )
        return found is not None

    def drop(self) -> None:
        """Remove the graph, durably."""
        self._connection.send("DELETE", "graphs", self._name)

    def __repr__(self) -> str:
        return f"<RemoteGraph {self._name!r} of {self._connection.server.url}>"

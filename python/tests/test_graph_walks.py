"""Walks over graphs: what they come to, held against a simple model; the ways in and out."""

import importlib
import json
import random
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest

import timestrata

A, B, C, D, E = (bytes([n]) * 16 for n in b"abcde")
Key = tuple[bytes, str, bytes]
Direction = Literal["out", "in", "both"]
DIRECTIONS: tuple[Direction, ...] = ("out", "in", "both")


@pytest.fixture
def graph(store: timestrata.Store) -> timestrata.Graph:
    graph = store.graph("g")
    graph.link_many([(A, "x", B), (B, "x", C), (C, "x", A), (A, "y", D), (D, "y", D)])
    return graph


def test_a_walk_tells_how_it_came_to_each_block(graph: timestrata.Graph) -> None:
    walk = graph.walk(A, kinds="x")
    assert walk.ids == [A, B, C]
    assert walk.depths == [0, 1, 2]
    assert walk.parents == [None, A, B]
    assert walk.kinds == [None, "x", "x"]
    assert not walk.is_cut
    assert list(walk) == [(A, 0), (B, 1), (C, 2)]
    assert len(walk) == 3
    assert repr(walk) == "<Walk of 3 blocks>"
    assert set(graph.walk(A).ids) == {A, B, C, D}
    assert graph.walk(B, direction="in").ids == [B, A, C]
    assert set(graph.walk(D, direction="both").ids) == {A, B, C, D}
    assert graph.walk(A, order="dfs", kinds=["x"]).ids == [A, B, C]
    assert graph.walk([D, A, D]).depths[:2] == [0, 0]
    assert graph.walk(A.hex()).ids == graph.walk(bytearray(A)).ids == graph.walk([A.hex()]).ids
    # A block without edges is where it begins, whether it exists or not.
    assert graph.walk(E).ids == [E]
    assert graph.walk([]).ids == []


def test_a_walk_is_bounded_and_says_so(graph: timestrata.Graph) -> None:
    near = graph.walk(A, kinds="x", depth=1)
    assert (near.ids, near.is_cut) == ([A, B], True)
    assert repr(near) == "<Walk of 2 blocks, cut>"
    few = graph.walk(A, kinds="x", limit=1)
    assert (few.ids, few.is_cut) == ([A], True)
    assert not graph.walk(A, kinds="x", depth=2, limit=3).is_cut
    for wrong in ({"depth": -1}, {"limit": -1}):
        with pytest.raises(OverflowError):
            graph.walk(A, **wrong)  # type: ignore[arg-type]


def test_a_filter_says_through_which_blocks_a_walk_goes(graph: timestrata.Graph) -> None:
    asked: list[bytes] = []

    def takes(id: bytes) -> object:
        asked.append(id)
        # It may ask the graph itself.
        return graph.degree(id, "in") and id != C

    assert graph.walk(A, kinds="x", filter=takes).ids == [A, B]
    assert asked == [B, C]

    class Odd(Exception):
        pass

    calls = 0

    def fails(id: bytes) -> bool:
        nonlocal calls
        calls += 1
        raise Odd(id.hex())

    with pytest.raises(Odd):
        graph.walk(A, filter=fails)
    assert calls == 1
    with pytest.raises(KeyboardInterrupt):
        graph.walk(A, filter=lambda id: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(TypeError, match="not callable"):
        graph.walk(A, filter=1)  # type: ignore[arg-type]
    assert set(graph.walk(A).ids) == {A, B, C, D}


def test_words_and_ids_that_make_no_sense_are_refused(graph: timestrata.Graph) -> None:
    calls: list[Callable[[Any], object]] = [
        lambda word: graph.walk(A, direction=word),
        lambda word: graph.edges(A, word),
        lambda word: graph.neighbors(A, word),
        lambda word: graph.degree(A, word),
        lambda word: graph.shortest_path(A, B, direction=word),
        lambda word: graph.reachable(A, B, direction=word),
    ]
    for call in calls:
        with pytest.raises(timestrata.InvalidArgumentError, match="direction 'up': must be 'out'"):
            call("up")
    with pytest.raises(timestrata.InvalidArgumentError, match="order 'random': must be 'bfs'"):
        graph.walk(A, order="random")  # type: ignore[arg-type]
    for start, error in ((b"short", ValueError), ([A, "x"], ValueError), (1, TypeError)):
        with pytest.raises(error):
            graph.walk(start)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        graph.walk(A, kinds=1)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        graph.walk(A, kinds=["x", 1])  # type: ignore[list-item]
    with pytest.raises(timestrata.InvalidArgumentError, match="damping"):
        graph.pagerank(damping=2)


def test_ways_are_of_the_fewest_edges_or_the_least_weight(store: timestrata.Store) -> None:
    graph = store.graph("g")
    graph.link_many([
        (A, "road", B, 1), (B, "road", C, 1.5), (A, "ferry", C, 9), (C, "road", D), (E, "road", A, 0),
    ])
    direct = graph.shortest_path(A, C)
    assert direct is not None
    assert (direct.ids, direct.kinds, direct.cost, len(direct)) == ([A, C], ["ferry"], 1.0, 1)
    light = graph.shortest_path(A, D, weighted=True)
    assert light is not None
    assert (light.ids, light.kinds) == ([A, B, C, D], ["road"] * 3)
    assert light.cost == 3.5
    assert repr(light) == "<Route of 3 edges, cost=3.5>"
    assert light == graph.shortest_path(A, D, weighted=True)
    assert graph.shortest_path(A, D, kinds=["road"], depth=2) is None
    assert graph.shortest_path(A, E) is None
    back = graph.shortest_path(D, E, direction="in")
    assert back is not None
    assert back.ids == [D, C, A, E]
    assert graph.reachable(A, D)
    assert not graph.reachable(D, A)
    assert graph.reachable(D, A, direction="both")
    assert not graph.reachable(A, D, depth=1)
    assert graph.reachable(bytes(16), bytes(16))
    graph.link(D, "road", A, weight=-1)
    with pytest.raises(timestrata.InvalidDataError):
        graph.shortest_path(A, E, weighted=True)


def test_edges_count_from_when_they_are_valid(store: timestrata.Store) -> None:
    graph = store.graph("g")
    graph.link(A, "x", B, valid_from="2024-01-01")
    graph.link(B, "x", C, valid_from="2025-01-01")
    graph.link(A, "x", D)
    assert set(graph.walk(A).ids) == {A, B, C, D}
    assert set(graph.walk(A, as_of="2024-06-01").ids) == {A, B, D}
    assert graph.walk(A, as_of=0).ids == [A, D]
    assert set(graph.walk(A, as_of=1_735_689_600_000_000_000).ids) == {A, B, C, D}
    assert not graph.reachable(A, C, as_of="2024-06-01")
    assert graph.shortest_path(A, C, as_of="2024-12-31T23:59:59Z", weighted=True) is None
    assert graph.neighbors(A, as_of="2023-01-01") == [(D, "x")]
    assert graph.degree(A, as_of="2023-01-01") == 1
    with pytest.raises(timestrata.InvalidArgumentError, match="no time"):
        graph.walk(A, as_of="yesterday")


def test_neighbors_of_one_and_of_several(graph: timestrata.Graph) -> None:
    assert graph.neighbors(A) == [(B, "x"), (D, "y")]
    assert graph.neighbors([A, E, D.hex()]) == [[(B, "x"), (D, "y")], [], [(D, "y")]]
    assert graph.neighbors(A, "in") == [(C, "x")]
    assert graph.neighbors(A, kinds="y") == [(D, "y")]
    assert graph.neighbors([]) == []
    assert [graph.degree(D, direction) for direction in DIRECTIONS] == [1, 2, 3]
    assert graph.degree(D, "in", "x") == graph.degree(E, "both") == 0


def test_a_walk_and_a_graph_go_out_as_arrow(graph: timestrata.Graph) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    table = graph.walk(A, kinds="x").to_arrow()
    assert table.to_pylist() == [
        {"id": A, "depth": 0, "parent": None, "kind": None},
        {"id": B, "depth": 1, "parent": A, "kind": "x"},
        {"id": C, "depth": 2, "parent": B, "kind": "x"},
    ]
    walk = graph.walk(A, kinds="x")
    assert pyarrow.table(walk) == table
    assert pyarrow.schema(walk) == table.schema
    graph.put("a", id=A, source_uri="a.py", metadata={"n": 1})
    graph.put(b"d", id=D)
    blocks, edges = graph.to_arrow()
    graph.put("later", id=E)
    graph.unlink_all(source=A)
    assert pyarrow.table(blocks).to_pylist() == blocks.to_pylist() == [
        {"id": A, "version": 1, "source_uri": "a.py", "metadata": '{"n":1}', "is_text": True,
         "content": b"a"},
        {"id": D, "version": 1, "source_uri": None, "metadata": None, "is_text": False,
         "content": b"d"},
    ]
    assert edges.to_arrow().num_rows == 5
    some, between = graph.subgraph([D, C, D, E])
    assert [row["id"] for row in some] == [D, E]
    assert [(row["source"], row["kind"], row["target"]) for row in between] == [(D, "y", D)]
    none, nothing = graph.subgraph([])
    assert (none.count(), nothing.count()) == (0, 0)
    assert none.columns == blocks.columns


def test_a_graph_comes_in_as_arrow(store: timestrata.Store, tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    graph = store.graph("g")
    ids = graph.put_many(pyarrow.table({
        "id": pyarrow.array([A, None, C], pyarrow.binary(16)),
        "version": pyarrow.array([3, None, 1], pyarrow.int64()),
        "content": ["a", "ü", "c"],
        "source_uri": pyarrow.array(["a.py", None, "c.py"]).dictionary_encode(),
        "metadata": ['{"n": 1}', None, None],
    }))
    assert [ids[0], ids[2]] == [A, C]
    found = [block for block in graph.get_many(ids) if block]
    assert [block.content for block in found] == ["a", "ü", "c"]
    assert [block.version for block in found] == [3, 1, 1]
    assert [block.metadata for block in found] == [{"n": 1}, None, None]
    edges = tmp_path / "edges.csv"
    edges.write_text(
        "source,kind,target,weight,valid_from\n"
        f"{A.hex()},x,{B.hex()},2,2024-05-01T12:00:00Z\n{B.hex()},y,{C.hex()},,\n"
    )
    csv = pytest.importorskip("pyarrow.csv")
    # Digits alone could be a number.
    text = {"source": pyarrow.string(), "target": pyarrow.string()}
    graph.link_many(csv.read_csv(edges, convert_options=csv.ConvertOptions(column_types=text)))
    graph.link_many(pyarrow.RecordBatch.from_pylist([
        {"source": C, "kind": "x", "target": D, "properties": '{"p": 1}', "valid_from": 7},
    ]))
    assert graph.walk(A).ids == [A, B, C, D]
    first, last = graph.edges(A)[0], graph.edges(C)[0]
    assert (first.weight, first.valid_from) == (2.0, 1_714_564_800_000_000_000)
    assert (graph.edges(B)[0].weight, graph.edges(B)[0].valid_from) == (None, None)
    assert (last.properties, last.valid_from) == ({"p": 1}, 7)
    # What went out comes in, whole or row by row.
    for way in (lambda rows: rows, list, lambda rows: rows.to_pandas(), lambda rows: rows.to_polars()):
        copy = store.graph(f"copy-{time.monotonic_ns()}")
        blocks, links = graph.to_arrow()
        copy.put_many(way(blocks))
        copy.link_many(way(links))
        assert copy.find() == graph.find()
        for id in (A, B, C, D):
            assert copy.edges(id) == graph.edges(id)


def test_arrow_that_holds_no_graph_is_refused(store: timestrata.Store) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    graph = store.graph("g")
    for columns, what in [
        ({"id": [A]}, "blocks need a column 'content'"),
        ({"content": ["a"], "colour": [1]}, "blocks have no column 'colour'"),
        ({"content": ["a", None]}, "'content' takes no nulls"),
        ({"content": ["a", "b"], "id": [A, b"short"]}, "'id', row 1 .*16 bytes, not 5"),
        ({"content": ["a"], "version": [-1]}, "version"),
        ({"content": ["a"], "metadata": [1]}, "metadata"),
        ({"content": [1]}, "content"),
        ({"content": ["a"], "metadata": ["[]"]}, "JSON object"),
    ]:
        with pytest.raises(ValueError, match=what):
            graph.put_many(pyarrow.table(columns))
    good = {"source": [A], "kind": ["x"], "target": [B]}
    for columns, what in [
        ({"source": [A], "kind": ["x"]}, "edges need a column 'target'"),
        (good | {"colour": [1]}, "edges have no column 'colour'"),
        (good | {"kind": pyarrow.array([None], pyarrow.string())}, "'kind', row 0"),
        (good | {"source": pyarrow.array([None], pyarrow.binary(16))}, "'source', row 0"),
        (good | {"source": ["zz"]}, "32 hexadecimal digits"),
        (good | {"source": [1.5]}, "bytes or text of hexadecimal digits, not Float64"),
        (good | {"weight": ["heavy"]}, "weight"),
        (good | {"valid_from": ["soon"]}, "valid_from"),
    ]:
        with pytest.raises(ValueError, match=what):
            graph.link_many(pyarrow.table(columns))
    assert len(graph) == graph.edge_count() == 0


def test_networkx_gets_the_whole_graph(graph: timestrata.Graph) -> None:
    networkx = pytest.importorskip("networkx")
    graph.put("a", id=A, source_uri="a.py", metadata={"n": 1})
    graph.put("alone", id=E)
    graph.link(A, "z", B, weight=2, valid_from=0, properties={"p": 1})
    made = graph.to_networkx()
    assert isinstance(made, networkx.MultiDiGraph)
    assert made.name == "g"
    assert set(made.nodes) == {A, B, C, D, E}
    assert made.nodes[A] == {"version": 1, "source_uri": "a.py", "metadata": {"n": 1}}
    assert made.nodes[B] == {}
    assert made.number_of_edges() == graph.edge_count() == 6
    assert made.edges[A, B, "z"]["weight"] == 2
    assert made.edges[A, B, "z"]["properties"] == {"p": 1}
    assert "weight" not in made.edges[A, B, "x"]
    assert networkx.shortest_path(made, A, C) == [A, B, C]
    parts = {frozenset(part) for part in networkx.weakly_connected_components(made)}
    assert parts == {frozenset({A, B, C, D}), frozenset({E})}
    copy = graph.view().to_networkx()
    assert networkx.utils.graphs_equal(copy, made)


def test_rustworkx_gets_the_whole_graph(graph: timestrata.Graph) -> None:
    rustworkx = pytest.importorskip("rustworkx")
    made = graph.to_rustworkx()
    ranks = rustworkx.pagerank(made, tol=1e-9)
    ranks = {made[place]: ranks[place] for place in made.node_indices()}
    assert graph.pagerank() == pytest.approx(ranks, abs=1e-4)
    graph.put("alone", id=E)
    made = graph.to_rustworkx()
    assert isinstance(made, rustworkx.PyDiGraph)
    nodes = made.nodes()
    assert set(nodes) == {A, B, C, D, E}
    edges = {(nodes[one], said["kind"], nodes[other]) for one, other, said in made.weighted_edge_list()}
    assert edges == {(A, "x", B), (B, "x", C), (C, "x", A), (A, "y", D), (D, "y", D)}
    assert len(rustworkx.weakly_connected_components(made)) == 2


def test_a_library_that_is_missing_is_named(
    graph: timestrata.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(name: str, *rest: object) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(importlib, "import_module", refuse)
    for name, call in (("networkx", graph.to_networkx), ("rustworkx", graph.to_rustworkx)):
        with pytest.raises(ImportError, match=f"needs {name}, which is not installed"):
            call()


def others(edges: set[Key], id: bytes, direction: Direction, kinds: set[str]) -> set[bytes]:
    out = {target for source, kind, target in edges if source == id and kind in kinds}
    back = {source for source, kind, target in edges if target == id and kind in kinds}
    return {"out": out, "in": back, "both": out | back}[direction]


def depths(edges: set[Key], start: bytes, direction: Direction, kinds: set[str]) -> dict[bytes, int]:
    found, waiting = {start: 0}, deque([start])
    while waiting:
        one = waiting.popleft()
        for other in others(edges, one, direction, kinds) - found.keys():
            found[other] = found[one] + 1
            waiting.append(other)
    return found


def hold_against(graph: timestrata.GraphView, blocks: dict[bytes, str], edges: set[Key]) -> None:
    ids = [bytes([n]) * 16 for n in range(24)]
    assert len(graph) == len(blocks)
    assert graph.edge_count() == len(edges)
    assert [one and one.content for one in graph.get_many(ids)] == [blocks.get(id) for id in ids]
    for id in ids:
        out = {(edge.source, edge.kind, edge.target) for edge in graph.edges(id)}
        assert out == {edge for edge in edges if edge[0] == id}
        assert graph.degree(id, "in") == sum(target == id for _, _, target in edges)
        for direction in DIRECTIONS:
            for kinds in ({"x", "y", "z"}, {"x"}):
                walk = graph.walk(id, direction=direction, kinds=kinds)
                expected = depths(edges, id, direction, kinds)
                assert dict(walk) == expected
                assert walk.depths == sorted(walk.depths)
                assert set(graph.walk(id, direction=direction, kinds=kinds, order="dfs").ids) == set(
                    expected
                )
        reach = depths(edges, id, "out", {"x", "y", "z"})
        for other in ids[::5]:
            route = graph.shortest_path(id, other)
            assert (route and len(route)) == reach.get(other)
            assert graph.reachable(id, other) == (other in reach)
    parts = graph.components()
    named = {end for source, _, target in edges for end in (source, target)}
    assert set(parts) == named
    for id in named:
        together = depths(edges, id, "both", {"x", "y", "z"})
        assert {other for other in named if parts[other] == parts[id]} == set(together)
    ranks = graph.pagerank()
    assert set(ranks) == named
    assert sum(ranks.values()) == pytest.approx(1 if named else 0)


def test_a_random_graph_is_what_a_simple_model_says(tmp_path: Path) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    blocks: dict[bytes, str] = {}
    edges: set[Key] = set()
    ids = [bytes([n]) * 16 for n in range(24)]
    for round in range(4):
        with timestrata.open(tmp_path / "s") as store:
            graph = store.graph("g")
            for step in range(60):
                one, other, kind = chance.choice(ids), chance.choice(ids), chance.choice("xyz")
                match chance.randrange(12):
                    case 0:
                        graph.delete(one)
                        blocks.pop(one, None)
                        edges = {edge for edge in edges if one not in (edge[0], edge[2])}
                    case 1:
                        graph.unlink(one, kind, other)
                        edges.discard((one, kind, other))
                    case 2 if step % 20 == 0:
                        graph.unlink_all(kind=kind)
                        edges = {edge for edge in edges if edge[1] != kind}
                    case 3 | 4:
                        blocks[one] = json.dumps([round, step])
                        assert graph.put(blocks[one], id=one) == one
                    case 5:
                        store.flush()
                    case _:
                        graph.link(one, kind, other)
                        edges.add((one, kind, other))
            hold_against(graph, blocks, edges)
            store.pin(f"round-{round}")
            kept = (dict(blocks), set(edges))
            graph.link_many([(id, "w", ids[0]) for id in ids])
            graph.unlink_all(kind="w")
            hold_against(graph.at(f"round-{round}"), *kept)

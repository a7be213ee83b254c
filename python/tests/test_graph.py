"""Graphs: blocks with versions, edges, what is refused, what is there after reopening."""

import hashlib
import subprocess
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import pytest

import timestrata

A, B, C, D = (bytes([n]) * 16 for n in b"abcd")


@pytest.fixture
def graph(store: timestrata.Store) -> timestrata.Graph:
    return store.graph("g")


def read(graph: timestrata.GraphView, id: bytes) -> timestrata.Block:
    block = graph.get(id)
    assert block is not None
    return block


def keys(edges: list[timestrata.Edge]) -> list[tuple[bytes, str, bytes]]:
    return [(edge.source, edge.kind, edge.target) for edge in edges]


def test_a_block_comes_back_with_all_its_parts(graph: timestrata.Graph) -> None:
    metadata = {"lines": 2, "tags": ["ü", None], "deep": {"x": 1.5}}
    id = graph.put("def f(): 'ü'", source_uri="f.py", metadata=metadata)
    assert id == hashlib.sha256("def f(): 'ü'".encode()).digest()[:16]
    block = read(graph, id)
    assert (block.id, block.version, block.source_uri) == (id, 1, "f.py")
    assert (block.content, block.metadata, block.is_text) == ("def f(): 'ü'", metadata, True)
    assert len(block) == 13
    assert repr(block) == f'<Block {id.hex()} version=1 text of 13 bytes from "f.py">'
    other = read(graph, graph.put(b"\xff\x00", id=A, version=9))
    assert (other.content, other.is_text, other.version) == (b"\xff\x00", False, 9)
    assert (other.source_uri, other.metadata) == (None, None)
    assert block == graph.get(id) != other
    assert hash(block) == hash(graph.get(id))
    assert block != "block"
    with pytest.raises(AttributeError):
        block.version = 2  # type: ignore[misc]


def test_an_id_is_bytes_digits_or_a_uuid(graph: timestrata.Graph) -> None:
    unique = uuid.UUID(bytes=A)
    ids: list[Any] = [A, A.hex(), A.hex().upper(), unique, bytearray(A), memoryview(A)]
    for n, id in enumerate(ids, 1):
        assert graph.put(str(n), id=id) == A
        assert id in graph
        assert read(graph, id).version == n
    for wrong in (b"", b"short", A + b"x"):
        with pytest.raises(timestrata.InvalidArgumentError, match=f"16 bytes, not {len(wrong)}"):
            graph.get(wrong)
    for text in ("", "abc", "g" * 32, str(unique)):
        with pytest.raises(ValueError, match="32 hexadecimal digits"):
            graph.get(text)
    for other in (None, 1, 1.5, [A]):
        with pytest.raises(TypeError, match="16 bytes, a str of 32"):
            graph.get(other)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a list of ids is needed, not 'bytes'"):
        graph.get_many(A)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="not 5"):
        graph.get_many([A, b"short"])


def test_content_is_bytes_like_or_text(graph: timestrata.Graph) -> None:
    for content in (b"view", bytearray(b"view"), memoryview(b"view"), memoryview(b"v_i_e_w")[::2]):
        assert read(graph, graph.put(content)).content == b"view"
    assert read(graph, graph.put("")).content == ""
    assert read(graph, graph.put(b"", id=A)).view().tobytes() == b""
    with pytest.raises(TypeError, match="bytes-like or str, not 'int'"):
        graph.put(1)  # type: ignore[arg-type]


def test_metadata_is_a_json_object(graph: timestrata.Graph) -> None:
    assert read(graph, graph.put("a", metadata='{"a": [1]}')).metadata == {"a": [1]}
    assert read(graph, graph.put("b", metadata={})).metadata == {}
    for text in ("[1]", "1", "null", "{", ""):
        with pytest.raises(timestrata.InvalidArgumentError, match="JSON object"):
            graph.put("c", metadata=text)
    for wrong in ([1], 1, b"{}"):
        with pytest.raises(TypeError, match="metadata must be a mapping"):
            graph.put("c", metadata=wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="not JSON compliant"):
        graph.put("c", metadata={"x": float("nan")})
    with pytest.raises(TypeError, match="not JSON serializable"):
        graph.put("c", metadata={"x": object()})
    assert len(graph) == 2


def test_versions_rise_and_as_many_are_kept_as_was_said(store: timestrata.Store) -> None:
    graph = store.graph("g", keep_versions=3)
    for n in range(1, 6):
        graph.put(str(n), id=A)
    assert [(block.version, block.content) for block in graph.versions(A)] == [
        (5, "5"), (4, "4"), (3, "3"),
    ]
    graph.put("nine", id=A, version=9)
    graph.put("still nine", id=A, version=9)
    assert [block.content for block in graph.versions(A)] == ["still nine", "5", "4"]
    with pytest.raises(timestrata.ConflictError, match="has version 9; version 8 is older"):
        graph.put("eight", id=A, version=8)
    assert read(graph, A).content == "still nine"
    assert graph.versions(B) == []
    graph.delete(A)
    assert graph.versions(A) == []
    assert read(graph, graph.put("again", id=A)).version == 1


def test_many_blocks_are_put_in_one_commit(graph: timestrata.Graph) -> None:
    before = graph.put("before", metadata={"n": 0})
    block = read(graph, before)
    ids = graph.put_many([
        {"id": A, "content": "a", "version": 3, "source_uri": "a.py", "metadata": {"n": 1}},
        {"id": None, "content": b"b", "version": None, "metadata": None},
        block,
        "c",
        b"d",
    ])
    texts: list[bytes] = [b"b", b"before", b"c", b"d"]
    assert ids == [A, *(hashlib.sha256(text).digest()[:16] for text in texts)]
    assert [one and one.content for one in graph.get_many([*ids, D])] == [
        "a", b"b", "before", "c", b"d", None,
    ]
    # A block that was read keeps its version.
    assert graph.get(before) == block
    assert graph.put_many([]) == []
    refused: list[tuple[Any, type[Exception], str]] = [
        ({"id": B}, ValueError, '"content", which it needs'),
        ({"content": "x", "colour": 1}, ValueError, 'no part "colour"'),
        ({"content": 1}, TypeError, "bytes-like or str"),
        (7, TypeError, "bytes-like or str, not 'int'"),
        ({"content": "x", "metadata": "[]"}, ValueError, "JSON object"),
        ({"content": "x", "version": -1}, OverflowError, "out of range"),
    ]
    for wrong, error, what in refused:
        with pytest.raises(error, match=what):
            graph.put_many([{"id": B, "content": "fine"}, wrong])
    assert B not in graph
    with pytest.raises(timestrata.InvalidArgumentError, match="durability 'later'"):
        graph.put("x", durability="later")  # type: ignore[arg-type]


def test_content_is_viewed_without_a_copy(tmp_path: Path) -> None:
    numpy = pytest.importorskip("numpy")

    def address(view: memoryview) -> int:
        return int(numpy.frombuffer(view, "u1").ctypes.data)

    with timestrata.open(tmp_path / "s") as store:
        graph = store.graph("g")
        content = bytes(range(256)) * 4_000
        id = graph.put(content)
        for _ in range(2):
            block = read(graph, id)
            view = block.view()
            assert (view.readonly, view.nbytes, view.format) == (True, len(content), "B")
            assert view == content
            assert address(view) == address(block.view())
            store.flush()
        assert address(read(graph, id).view()) == address(read(graph, id).view())
    # What was viewed may be kept.
    assert view == content
    with pytest.raises(TypeError):
        view[0] = 1


def test_blocks_are_found_by_where_they_came_from_and_what_is_said(graph: timestrata.Graph) -> None:
    for n in range(6):
        graph.put(
            str(n), id=bytes([n]) * 16, source_uri=f"{n % 2}.py",
            metadata={"n": n, "third": n % 3 == 0, "in": {"deep": [n]}},
        )
    graph.put("bare", id=bytes([9]) * 16)

    def found(**conditions: Any) -> list[str | bytes]:
        return [block.content for block in graph.find(**conditions)]

    assert found() == ["0", "1", "2", "3", "4", "5", "bare"]
    assert found(source_uri="1.py") == ["1", "3", "5"]
    assert found(metadata={"third": True}) == ["0", "3"]
    assert found(source_uri="1.py", metadata={"third": True, "n": 3}) == ["3"]
    assert found(metadata={"in": {"deep": [4]}}) == found(metadata='{"n": 4}') == ["4"]
    assert found(metadata={"n": None}) == found(source_uri="2.py") == []
    assert found(limit=2) == ["0", "1"]
    assert found(limit=0) == []
    with pytest.raises(timestrata.InvalidArgumentError, match="JSON object"):
        graph.find(metadata="[1]")
    with pytest.raises(OverflowError):
        graph.find(limit=-1)


def test_edges_have_what_was_said_of_them(graph: timestrata.Graph) -> None:
    time = datetime(2024, 5, 1, 12, tzinfo=UTC)
    graph.link(A, "calls", B, weight=2, valid_from=time, properties={"line": 7})
    graph.link_many([
        (A, "calls", C),
        (A.hex(), "imports", B, 0.5),
        [B, "calls", A, None, "2024-05-01T12:00:00.000000001Z"],
        (B, "calls", C, None, None, '{"line": 8}'),
        {"source": C, "kind": "contains", "target": C, "weight": None, "properties": {}},
        graph.edges(A)[0],
    ])
    assert keys(graph.edges(A)) == [(A, "calls", B), (A, "calls", C), (A, "imports", B)]
    first = graph.edges(A)[0]
    assert (first.weight, first.properties) == (2.0, {"line": 7})
    assert first.valid_from == 1_714_564_800_000_000_000
    assert [edge.weight for edge in graph.edges(A)] == [2.0, None, 0.5]
    assert graph.edges(B)[0].valid_from == 1_714_564_800_000_000_001
    assert graph.edges(B)[1].properties == {"line": 8}
    assert graph.edges(C)[0].properties == {}
    assert graph.edge_count() == 6
    assert keys(graph.edges(B, "in")) == [(A, "calls", B), (A, "imports", B)]
    assert keys(graph.edges(A, "both", kinds="calls")) == [
        (A, "calls", B), (A, "calls", C), (B, "calls", A),
    ]
    assert keys(graph.edges(C, "both")) == [
        (C, "contains", C), (A, "calls", C), (B, "calls", C),
    ]
    assert graph.edges(A, kinds=["imports", "unheard"]) == [graph.edges(A)[2]]
    # No kinds are not the same as all.
    assert graph.edges(A, kinds=[]) == graph.walk(A, kinds=[]).ids[1:] == []
    # One of a source, kind and target.
    graph.link(A, "calls", B, weight=3)
    assert graph.edge_count() == 6
    second = graph.edges(A)[0]
    assert (second.weight, second.valid_from, second.properties) == (3.0, None, None)
    assert second != first
    assert second == graph.edges(B, "in")[0]
    assert hash(second) == hash(first)
    assert repr(second) == f"<Edge {A.hex()} -calls-> {B.hex()} weight=3>"
    # Blocks need not exist.
    assert len(graph) == 0


def test_what_is_no_edge_is_refused_and_nothing_is_linked(graph: timestrata.Graph) -> None:
    refused: list[tuple[Any, type[Exception], str]] = [
        ((A, "calls"), ValueError, "3 to 6 parts"),
        ((A, "calls", B, 1, None, None, None), ValueError, "3 to 6 parts .* not 7"),
        ((A, 1, B), TypeError, "kind of an edge is a str, not 'int'"),
        ((A, "", B), ValueError, "1 to 255 bytes"),
        ((A, "x" * 256, B), ValueError, "not of 256"),
        ((b"a", "calls", B), ValueError, "16 bytes, not 1"),
        ((A, "calls", B, "heavy"), TypeError, "real number"),
        ((A, "calls", B, float("nan")), ValueError, "finite"),
        ((A, "calls", B, 1, 1.5), TypeError, "timestamp must be int"),
        ((A, "calls", B, 1, 1, [1]), TypeError, "properties must be a mapping"),
        ((A, "calls", B, 1, 1, "[1]"), ValueError, "JSON object"),
        ({"source": A, "kind": "calls"}, TypeError, "not 'NoneType'"),
        ({"source": A, "kind": "calls", "target": B, "colour": 1}, ValueError, 'part "colour"'),
        (7, TypeError, "a mapping or an Edge, not 'int'"),
    ]
    for wrong, error, what in refused:
        with pytest.raises(error, match=what):
            graph.link_many([(A, "calls", C), wrong])
    assert graph.edge_count() == 0
    graph.link_many([])


def test_edges_are_taken_away_one_by_one_and_together(graph: timestrata.Graph) -> None:
    def fill() -> None:
        graph.link_many([(A, "x", B), (A, "y", B), (A, "x", C), (B, "x", C), (C, "y", A)])

    fill()
    graph.unlink(A, "x", B)
    graph.unlink(A, "x", B)
    graph.unlink(D, "x", B)
    assert graph.edge_count() == 4
    assert keys(graph.edges(A)) == [(A, "x", C), (A, "y", B)]
    fill()
    graph.unlink_all(source=A)
    assert keys(graph.edges(A, "both")) == [(C, "y", A)]
    fill()
    graph.unlink_all(target=C)
    assert graph.edges(C, "in") == []
    fill()
    graph.unlink_all(kind="x")
    assert graph.edge_count() == 2
    several: list[dict[str, Any]] = [{}, {"source": A, "target": B}, {"source": A, "kind": "x"}]
    for wrong in several:
        with pytest.raises(timestrata.InvalidArgumentError, match="exactly one of"):
            graph.unlink_all(**wrong)


def test_a_block_that_is_deleted_takes_its_edges_with_it(graph: timestrata.Graph) -> None:
    graph.put_many([{"id": id, "content": b""} for id in (A, B, C, D)])
    graph.link_many([(A, "x", B), (B, "x", C), (C, "x", A), (D, "x", D)])
    graph.delete(B)
    assert B not in graph
    assert not graph.contains(B)
    assert len(graph) == 3
    assert graph.walk(A).ids == [A]
    assert graph.edge_count() == 2
    graph.put("again", id=B)
    assert graph.edges(B, "both") == []
    graph.delete_many([B, D, D])
    graph.delete(B)
    assert len(graph) == 2
    assert graph.edge_count() == 1


def test_blocks_and_edges_are_changed_in_one_commit(store: timestrata.Store) -> None:
    graph = store.graph("g")
    graph.change(put=[{"id": A, "content": "a"}, {"id": B, "content": "b"}], link=[(A, "calls", B)])
    before = graph.view()
    put = graph.change(
        delete=[A],
        unlink=[(B, "calls", C)],
        put=[{"id": C, "content": "c"}, "alone"],
        link=[(B, "calls", C), (C, "calls", D)],
        durability="synced",
    )
    assert put == [C, hashlib.sha256(b"alone").digest()[:16]]
    # What goes, goes first: an edge that is named in both is there.
    assert keys(graph.edges(B)) == [(B, "calls", C)]
    assert (A in graph, len(graph), graph.edge_count()) == (False, 3, 2)
    assert (A in before, len(before), before.edge_count()) == (True, 2, 1)
    assert graph.change() == []
    # All or none: the last edge can't be.
    with pytest.raises(timestrata.InvalidArgumentError, match="1 to 255 bytes"):
        graph.change(delete=[B], put=["more"], link=[(B, "calls", C), (B, "", C)])
    assert (B in graph, len(graph), graph.edge_count()) == (True, 3, 2)
    with pytest.raises(TypeError):
        graph.change(["a"])  # type: ignore[misc]


def test_edges_take_no_more_memory_than_they_may(graph: timestrata.Graph) -> None:
    graph.link_many([(A, "calls", B), (B, "calls", C)])
    graph.set_cache_bytes_max(1)
    assert graph.walk(A).ids == [A, B, C]
    with pytest.raises(timestrata.TooLargeError, match="more memory than they may"):
        graph.pagerank()
    graph.set_cache_bytes_max(1 << 30)
    assert set(graph.pagerank()) == {A, B, C}


def test_a_graph_is_as_it_was_at_a_view_and_at_a_pin(store: timestrata.Store) -> None:
    graph = store.graph("g")
    graph.put("first", id=A)
    graph.link(A, "x", B)
    store.pin("monday")
    view = graph.view()
    graph.put("second", id=A)
    graph.link_many([(A, "x", C), (B, "x", D)])
    graph.unlink(A, "x", B)
    for before in (view, graph.at("monday")):
        assert read(before, A).content == "first"
        assert before.walk(A).ids == [A, B]
        assert before.edge_count() == 1
        assert before.name == "g"
        assert repr(before).startswith('<GraphView "g" at commit ')
        assert not hasattr(before, "put")
        assert not isinstance(before, timestrata.Graph)
    assert read(graph, A).content == "second"
    assert graph.walk(A).ids == [A, C]
    assert isinstance(graph, timestrata.GraphView)
    with pytest.raises(timestrata.NotFoundError):
        graph.at("tuesday")


def test_graphs_are_made_opened_and_dropped(store: timestrata.Store) -> None:
    graph = store.graph("g", keep_versions=2)
    assert (graph.name, graph.keep_versions) == ("g", 2)
    assert repr(graph) == '<Graph "g" keep_versions=2>'
    assert store.graphs() == ["g"]
    graph.put("text", id=A)
    assert A in store.graph("g")
    assert store.graph("g", create=False).keep_versions == 2
    with pytest.raises(timestrata.AlreadyExistsError):
        store.graph("g", keep_versions=3)
    with pytest.raises(timestrata.InvalidArgumentError, match="keep_versions is 0"):
        store.graph("h", keep_versions=0)
    with pytest.raises(timestrata.NotFoundError, match="no graph 'h'"):
        store.graph("h", create=False)
    for name in ("", "a/b", "__hidden", "."):
        with pytest.raises(timestrata.InvalidArgumentError):
            store.graph(name)
    store.timelog("log").append(1, 1)
    with pytest.raises(timestrata.InvalidArgumentError, match="'log' is not a graph"):
        store.graph("log")
    graph.drop()
    assert store.graphs() == []
    assert len(store.graph("g")) == 0


def test_a_graph_is_there_after_reopening(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with timestrata.open(path) as store:
        graph = store.graph("g", keep_versions=2)
        graph.put("first", id=A, metadata={"n": 1})
        graph.put_many([{"id": A, "content": "second"}, {"id": B, "content": b"b"}], "synced")
        graph.link(A, "x", B, weight=1.5, properties={"p": 1}, durability="synced")
        graph.link_many([(B, "x", C), (B, "y", C)], durability="written")
        graph.unlink(B, "y", C, durability="buffered")
    modes: tuple[Literal["w", "r"], ...] = ("w", "r")
    for mode in modes:
        with timestrata.open(path, mode=mode) as store:
            graph = store.graph("g")
            assert [block.content for block in graph.versions(A)] == ["second", "first"]
            assert graph.walk(A).ids == [A, B, C]
            assert (graph.edges(A)[0].weight, graph.edges(A)[0].properties) == (1.5, {"p": 1})
            assert graph.edge_count() == 2
            assert store.check()
            if mode == "r":
                with pytest.raises(timestrata.ReadOnlyError):
                    graph.put("x")
                with pytest.raises(timestrata.NotFoundError):
                    store.graph("other")


def test_a_closed_store_is_told(tmp_path: Path) -> None:
    store = timestrata.open(tmp_path / "s")
    graph = store.graph("g")
    graph.put("a", id=A)
    block, view = read(graph, A), graph.view()
    blocks, _ = graph.to_arrow()
    store.close()
    for call in (
        lambda: graph.put("x"), lambda: graph.link(A, "x", B), lambda: graph.get(A),
        lambda: A in graph, lambda: len(graph), lambda: graph.walk(A), graph.view, graph.drop,
        lambda: view.get(A), lambda: graph.at("p"), graph.pagerank, graph.to_arrow,
        lambda: graph.delete(A), lambda: store.graph("g"), store.graphs,
    ):
        with pytest.raises(timestrata.ClosedError):
            call()
    assert block.content == "a"
    assert blocks.columns[0] == "id"


def test_a_child_process_gets_nothing_of_the_parents_graph(
    child: Callable[..., subprocess.Popen[str]], path: Path
) -> None:
    program = """
        import os, sys, timestrata
        store = timestrata.open(sys.argv[1])
        graph = store.graph("g")
        id = graph.put("text")
        view = graph.view()
        process = os.fork()
        if process == 0:
            for one in (graph, view):
                try:
                    one.get(id)
                except timestrata.ForkedError:
                    print("refused", flush=True)
            os._exit(0)
        os.waitpid(process, 0)
        print(graph.get(id).content, view.get(id).content)
    """
    output, errors = child(program, path).communicate(timeout=60)
    assert output.split() == ["refused", "refused", "text", "text"], errors


def test_threads_write_and_read_at_once(graph: timestrata.Graph) -> None:
    def write(worker: int) -> None:
        for n in range(50):
            id = bytes([worker, n]) * 8
            graph.put(f"{worker} {n}", id=id)
            graph.link(A, "x", id)
            assert graph.reachable(A, id)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    assert len(graph) == graph.edge_count() == 200
    assert len(graph.walk(A)) == 201


def pairs() -> Iterator[bytes]:
    yield A
    yield B


def test_ids_come_from_anything_that_gives_them(graph: timestrata.Graph) -> None:
    graph.put("a", id=A)
    assert [block is None for block in graph.get_many(pairs())] == [False, True]
    assert [block is None for block in graph.get_many({A: 1})] == [False]

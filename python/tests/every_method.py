"""A program: threads that call every method of every public class at once, on shared objects of one store.

    python every_method.py --seed N [--rounds R]

What there is to call is read from the stubs, with what it takes, so a new method is called too, and one whose
arguments nobody knows how to make ends the program with what is missing. Each call gives a value or one of the
package's own errors; a panic, another error or a call that doesn't come back is told, with the stacks of all
threads.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import collections
import contextlib
import datetime as dt
import faulthandler
import io
import inspect
import os
import random
import sys
import tempfile
import threading
import uuid
import warnings
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import timestrata

THREADS = 8
# A round in which nothing ends for so long hangs, however busy the machine is.
HANG_SECONDS = float(os.environ.get("HANG_SECONDS", 120))
# What a call may end with besides a value: the package's errors, and Python's own for a wrong argument or
# for an iterator's end.
DOCUMENTED = (
    timestrata.TimestrataError, TypeError, ValueError, OverflowError, StopIteration, StopAsyncIteration,
    IndexError, KeyError, BufferError, TimeoutError, asyncio.TimeoutError,
)
# What ends the store or its objects for all others: seldom, or nothing else would be tried.
ENDS = {"close", "drop", "__exit__", "_close_all"}
# Calls that wait until something comes, which may be never: only as coroutines, with a limit.
WAITS = {("LogTail", "__next__"), ("TimelogTail", "__next__"), ("Consumer", "__next__"), ("Changes", "__next__")}
# Made by the interpreter itself, or of no class; and the whole command, which has tests of its own.
# Of the buffer protocol, older Pythons have no name.
NOT_CALLED = {"__new__", "__init_subclass__", "_run_command", "__buffer__"}
PANIC = "PanicException"


# What each thread is at.
DOING: dict[str, str] = {}


class Missing(Exception):
    """The program doesn't know how to make something."""


# What there is


def stub() -> ast.Module:
    return ast.parse(resources.files("timestrata").joinpath("_timestrata.pyi").read_text())


def is_type_only(node: ast.ClassDef) -> bool:
    return any(isinstance(base, ast.Name) and base.id in ("Protocol", "TypedDict") for base in node.bases)


class Method:
    """A method or property of a class, or a function, with what it takes."""

    def __init__(self, owner: str, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self.owner, self.name, self.node = owner, node.name, node
        marks = [ast.unparse(mark) for mark in node.decorator_list]
        self.is_property = "property" in marks
        self.is_free = not owner or "staticmethod" in marks
        self.is_of_class = "classmethod" in marks

    def __str__(self) -> str:
        return f"{self.owner}.{self.name}" if self.owner else self.name


def methods() -> list[Method]:
    found = []
    for node in stub().body:
        is_offered = isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
        if is_offered and node.name not in NOT_CALLED:
            found.append(Method("", node))
        # Classes for the package alone are called by its own.
        is_own = isinstance(node, ast.ClassDef) and node.name.startswith("_")
        if isinstance(node, ast.ClassDef) and not is_own and not is_type_only(node):
            found += [
                Method(node.name, part)
                for part in node.body
                if isinstance(part, ast.FunctionDef) and part.name not in NOT_CALLED
            ]
    return found


# What they are called on and with


class World:
    """A store, and objects of all classes that threads share."""

    def __init__(self, folder: Path, rng: random.Random) -> None:
        self.folder = folder
        self.in_memory = rng.random() < 0.3
        path = None if self.in_memory else folder / "store"
        self.store = timestrata.open(path, memtable_bytes_max="256KiB", wal_segment_bytes="256KiB")
        self.objects: dict[str, list[Any]] = collections.defaultdict(list)
        self.made: list[timestrata.Store] = []
        self.names = ["log", "t", "events", "g", "app", "typed", "none", "new"]
        self._fill()

    def keep(self, value: Any) -> None:
        """Shares what a call gave, so that its methods are called too."""
        kind = type(value).__name__
        if type(value).__module__.startswith("timestrata"):
            if kind == "Store":
                self.made.append(value)
            shared = self.objects[kind]
            shared.append(value)
            # Those that were made first stay: there is always one.
            del shared[5:-15]

    def _fill(self) -> None:
        store, keep = self.store, self.keep
        keep(store)
        log, typed = store.timelog("log"), store.timelog("typed", schema={"a": "float64", "b": "string"})
        memory = timestrata.Timelog(time_unit="ms")
        for each in (log, memory):
            each.extend([(time, f"value {time}") for time in range(200)])
            keep(each)
        typed.extend([(time, {"a": time / 2, "b": "x"}) for time in range(200)])
        keep(typed)
        for each in (log, typed, memory):
            entries = each.all()
            keep(entries)
            spans = each.views()
            keep(spans)
            keep(each.tail())
            for span in each.views():
                keep(span)
                keep(span.objects())
                break
        table = store.table("t", tags="s")
        table.append({"time": [f"2024-05-01T00:00:{n:02}Z" for n in range(60)], "s": ["a", "b"] * 30, "x": list(range(60))})
        keyed = store.table("keyed", key=["k"])
        keyed.append({"time": ["2024-05-01"] * 3, "k": [1, 2, 3], "x": [1.5, 2.5, 3.5]})
        for each in (table, keyed):
            keep(each)
        rows = table.scan()
        keep(rows)
        keep(iter(rows))
        topic = store.topic("events", partitions=2)
        producer = topic.producer()
        for n in range(20):
            keep(producer.send({"value": f"v{n}", "headers": {"h": "1"}}, partition=n % 2))
        keep(topic)
        keep(producer)
        # Of a time to wait, so that no call waits for ever.
        keep(topic.consumer("readers", idle_timeout=0.02))
        keep(topic.consumer(idle_timeout=0.02))
        keep(topic.get(0))
        key = timestrata.SigningKey.generate(self.folder / f"key{id(self)}", "example.org/log")
        keep(key)
        topic.checkpoint(key)
        keep(topic.prove(0))
        graph = store.graph("g")
        self.ids = [graph.put(f"block {n}", metadata={"n": n}) for n in range(12)]
        for n in range(11):
            graph.link(self.ids[n], "calls", self.ids[n + 1], weight=1.0)
        for each in (graph, graph.view(), graph.get(self.ids[0]), graph.edges(self.ids[0])[0]):
            keep(each)
        keep(graph.walk(self.ids[0]))
        keep(graph.shortest_path(self.ids[0], self.ids[3]))
        logs = store.logs("app")
        for n in range(30):
            logs.write(f"message {n}", level="info", n=n)
        keep(logs)
        keep(logs.search())
        keep(iter(logs.search()))
        keep(logs.tail())
        for each in (next(iter(logs.search())), logs.histogram()[0], logs.facets()[0]):
            keep(each)
        commit = store.commit().__enter__()
        keep(commit)
        for part in (commit.table("t"), commit.topic("events"), commit.logs("app"), commit.graph("g"), commit.timelog("log")):
            keep(part)
        # A store in memory tells nobody of its changes.
        followed = timestrata.open(self.folder / f"followed{id(self)}", history_min=600)
        self.made.append(followed)
        followed.table("t").append({"time": ["2024-05-01"], "x": [1]})
        changes = followed.changes(0)
        keep(changes)
        for commit in followed.changes(0):
            keep(commit)
            keep(commit.changes[0])
        store.pin("pin")
        for each in (store.pins()[0], store.check(), store.recovery):
            keep(each)
        self._damage()

    def _damage(self) -> None:
        """What is said of a backup, and what a check finds in one that is damaged."""
        copy = self.folder / f"damaged{id(self)}"
        with timestrata.open(self.folder / f"whole{id(self)}") as store:
            store.timelog("log").extend([(time, "x" * 100) for time in range(200)])
            store.flush()
            self.keep(store.backup(copy))
            self.keep(store.purge())
        runs = sorted(path for path in copy.rglob("*") if path.is_file() and "run" in str(path.parent))
        if not runs:
            return
        damaged = runs[0].read_bytes()
        runs[0].write_bytes(damaged[: len(damaged) // 2] + b"\xff\x00\xff" + damaged[len(damaged) // 2 + 3 :])
        with timestrata.open(copy, mode="r") as store:
            for finding in store.check().findings:
                self.keep(finding)
        self.keep(timestrata.repair(copy, dry_run=True))


class Values:
    """Random values of what the stubs name."""

    def __init__(self, rng: random.Random, world: World, aliases: dict[str, ast.expr]) -> None:
        self.rng, self.world, self.aliases = rng, world, aliases

    def of(self, name: str, annotation: ast.expr | None) -> Any:
        likely = LIKELY.get(name)
        if likely and self.rng.random() < 0.6:
            return self.rng.choice(likely(self.world, self.rng))
        if annotation is None:
            raise Missing(f"argument '{name}' has no type in the stubs")
        return self.typed(annotation)

    def typed(self, node: ast.expr) -> Any:
        rng = self.rng
        if isinstance(node, ast.BinOp):
            return self.typed(rng.choice((node.left, node.right)))
        if isinstance(node, ast.Constant) and node.value is None:
            return None
        if isinstance(node, ast.Subscript):
            return self._of_generic(ast.unparse(node.value), node.slice)
        text = ast.unparse(node)
        if text in self.aliases:
            return self.typed(self.aliases[text])
        if text in PLAIN:
            return PLAIN[text](self.world, rng)
        shared = self.world.objects.get(text)
        if shared:
            return rng.choice(shared)
        raise Missing(f"no values of type '{text}'")

    def _of_generic(self, name: str, of: ast.expr) -> Any:
        rng = self.rng
        parts = of.elts if isinstance(of, ast.Tuple) else [of]
        if name == "Literal":
            return ast.literal_eval(rng.choice(parts)) if rng.random() < 0.95 else "neither"
        if name in ("Sequence", "Iterable", "list"):
            return [self.typed(parts[0]) for _ in range(rng.randrange(4))]
        if name in ("Mapping", "dict"):
            keys = rng.sample(["time", "x", "s", "value", "a", "id", "content"], rng.randrange(4))
            return {key: self.typed(parts[1]) for key in keys}
        if name == "tuple":
            return tuple(self.typed(part) for part in parts)
        if name == "type":
            return None
        if name == "Callable":
            return rng.choice((lambda *given: True, lambda *given: 1 / 0 if rng.random() < 0.1 else False))
        if name == "PathLike":
            return PLAIN["Path"](self.world, rng)
        raise Missing(f"no values of type '{name}[...]'")


def _number(world: World, rng: random.Random) -> int:
    return rng.choice((0, 1, 2, 5, 17, 100, -1, 1000, 2**31, 2**62, -(2**63), 2**64))


def _small(world: World, rng: random.Random) -> int:
    return rng.choice((1, 2, 5, 17, 100, 0, -1))


def _time(world: World, rng: random.Random) -> dt.datetime:
    time = dt.datetime(2024, 5, 1, 0, 0, rng.randrange(60), tzinfo=rng.choice((None, dt.timezone.utc)))
    return rng.choice((time, time, dt.datetime.now(dt.timezone.utc), dt.datetime(1, 1, 1)))


def _path(world: World, rng: random.Random) -> Path:
    return world.folder / f"made{rng.randrange(40)}"


def _any(world: World, rng: random.Random) -> Any:
    return rng.choice((
        None, True, 7, 1.5, "text", b"bytes", [1, 2], {"a": 1, "b": "x"}, (1, "two"), _time(world, rng), {3}, "zürich",
        float("nan"), 2**70,
    ))


def _arrow(world: World, rng: random.Random) -> Any:
    import pyarrow as pa

    count = rng.randrange(5)
    time = pa.array([dt.datetime(2024, 5, 1, 1, n, tzinfo=dt.timezone.utc) for n in range(count)], pa.timestamp("us", "UTC"))
    columns: dict[str, Any] = {"time": time, "x": pa.array(range(count))}
    if rng.random() < 0.5:
        columns["s"] = pa.array([rng.choice("ab") for _ in range(count)])
    return pa.table(columns)


def _schema(world: World, rng: random.Random) -> Any:
    import pyarrow as pa

    return pa.schema([("time", pa.timestamp("us", "UTC")), ("x", pa.int64())])


def _numpy_time(world: World, rng: random.Random) -> Any:
    import numpy as np

    return np.datetime64(rng.choice(("NaT", rng.randrange(100))), rng.choice(("s", "ms", "ns")))


def _numpy_array(world: World, rng: random.Random) -> Any:
    import numpy as np

    return np.arange(rng.randrange(4))


# Plain types, by their names in the stubs.
PLAIN: dict[str, Callable[[World, random.Random], Any]] = {
    "int": _number,
    "SupportsIndex": lambda world, rng: rng.choice((_number(world, rng), _small(world, rng))),
    "str": lambda world, rng: rng.choice(("", "x", "log", "2024-05-01", "zürich 日本", "a b", "\x00", "1 hour", "x" * 300)),
    "float": lambda world, rng: rng.choice((0.0, 0.01, 1.0, -1.0, 1e300, float("nan"), float("inf"))),
    "bool": lambda world, rng: rng.random() < 0.5,
    "bytes": lambda world, rng: rng.choice((b"", b"x", bytes(16), os.urandom(32), *world.ids)),
    "bytearray": lambda world, rng: bytearray(b"more"),
    "memoryview": lambda world, rng: memoryview(b"memory"),
    "Buffer": lambda world, rng: rng.choice((b"block", bytearray(b"block"), memoryview(bytes(40)))),
    "datetime": _time,
    "date": lambda world, rng: dt.date(2024, 5, rng.randrange(1, 32)),
    "timedelta": lambda world, rng: dt.timedelta(seconds=rng.randrange(100)),
    "UUID": lambda world, rng: uuid.UUID(int=rng.randrange(2**128)),
    "Path": _path,
    "Any": _any,
    "object": _any,
    "BaseException": lambda world, rng: None,
    "TracebackType": lambda world, rng: None,
    "slice": lambda world, rng: slice(rng.choice((None, 3)), rng.choice((None, 50, 2**62))),
    "SupportsArrowStream": _arrow,
    "SupportsArrowArray": lambda world, rng: _arrow(world, rng).combine_chunks().to_batches()[0:1] or _arrow(world, rng),
    "SupportsArrowSchema": _schema,
    "SupportsNumpyTime": _numpy_time,
    "SupportsArray": _numpy_array,
    "SupportsReadBytes": lambda world, rng: io.BytesIO(b"time,x\n2024-05-01,1\n"),
}

# Values with which more than errors come back, by the names of arguments.
LIKELY: dict[str, Callable[[World, random.Random], list[Any]]] = {
    "name": lambda world, rng: [rng.choice(world.names), f"made{rng.randrange(20)}"],
    "query": lambda world, rng: [
        "SELECT count(*), sum(x) FROM t", "SELECT s, max(x) FROM t GROUP BY s ORDER BY 1", "SELECT * FROM log LIMIT 3",
        "SELECT * FROM asof_join(t, t, 'time') LIMIT 2", "INSERT INTO t (time, x) VALUES ('2024-06-01', 1)",
        "DELETE FROM t WHERE x = 3", "SELECT $1", "SELECT", "SELECT * FROM app",
    ],
    "params": lambda world, rng: [None, [1], {"a": 1}],
    "where": lambda world, rng: [None, "x > 3", "s = 'a' OR x IS NULL", "x >", "time >= '2024-05-01'"],
    "filter": lambda world, rng: ["", "message", "n > 3", "level>=warn", "(("],
    "path": lambda world, rng: [_path(world, rng)],
    "partition": lambda world, rng: [None, 0, 1, 7],
    "partitions": lambda world, rng: [1, 2, 3, [("events", 0)], [0]],
    "topics": lambda world, rng: [["events"]],
    "group": lambda world, rng: [None, "readers", f"group{rng.randrange(5)}"],
    "offset": lambda world, rng: [0, 1, 3, 19, 10**6],
    "size": lambda world, rng: [None, 1, 5, 10, 20],
    "start": lambda world, rng: [None, "2024-05-01", 0, 5],
    "end": lambda world, rng: [None, "2024-06-01", 60, 10**6],
    "ids": lambda world, rng: [world.ids[:3]],
    "id": lambda world, rng: [rng.choice(world.ids)],
    "source": lambda world, rng: [rng.choice(world.ids), io.BytesIO(b"time,x\n2024-05-01,1\n")],
    "target": lambda world, rng: [rng.choice(world.ids)],
    "kind": lambda world, rng: ["calls", "segment", "logical"],
    "kinds": lambda world, rng: [None, "calls", ["calls"]],
    "rows": lambda world, rng: [{"time": "2024-05-02", "x": rng.randrange(100)}, {"time": ["2024-05-03"], "s": ["c"]}],
    "columns": lambda world, rng: [None, ["x"], ["time", "s"]],
    "limit": lambda world, rng: [None, 1, 5],
    "by": lambda world, rng: [None, "s", ["s"], "timestamp"],
    "t1": lambda world, rng: [None, 0, 10], "t2": lambda world, rng: [None, 20, 10**6],
    "t": lambda world, rng: [5, 50], "ts": lambda world, rng: [5, 50, 10**6],
    "n": lambda world, rng: [1, 5], "key": lambda world, rng: [5, slice(3, 9), "k", 2, b"key"],
    "obj_or_ts": lambda world, rng: [rng.randrange(300), "value"],
    "pairs_or_timestamps": lambda world, rng: [[(rng.randrange(300), "pair")], [1, 2]],
    "objects": lambda world, rng: [["a", "b"], [{"a": 1.0, "b": "y"}] * 2],
    "record": lambda world, rng: ["value", {"value": b"v", "key": "k"}],
    "records": lambda world, rng: [["one", "two"]],
    "entries": lambda world, rng: [["one", {"message": "two", "level": "warn"}]],
    "message": lambda world, rng: [f"said {rng.randrange(100)}"],
    "pin": lambda world, rng: ["pin", "none"],
    "seq": lambda world, rng: [0, 1, 20, 10**6],
    "data": lambda world, rng: [timestrata.cbor_encode({"a": [1, 2]}), b"\xff"],
    # What waits, waits a little.
    "timeout": lambda world, rng: [0.0, 0.01], "seconds": lambda world, rng: [0.0, 0.01],
    "interval": lambda world, rng: [0.01, "1s"], "idle_timeout": lambda world, rng: [0.01],
    "session": lambda world, rng: [5.0], "auto_commit": lambda world, rng: [None, 1.0],
    # One signature for all files of a store's settings; what is tiny makes thousands of files.
    "unit": lambda world, rng: [None, "ms", "us"],
}
# Never anything else, for what else there is would wait for ever, fill the disk, or make nothing but an error.
ALWAYS = {
    "timeout", "seconds", "idle_timeout", "session", "path", "partitions", "wal_segment_bytes", "interval",
    "sync_interval",
}
LIKELY["wal_segment_bytes"] = lambda world, rng: [None, "256KiB"]
LIKELY["sync_interval"] = lambda world, rng: [None, "1s"]


class Caller:
    """One thread's calls."""

    def __init__(self, rng: random.Random, world: World, aliases: dict[str, ast.expr]) -> None:
        self.rng, self.world = rng, world
        self.values = Values(rng, world, aliases)

    def arguments(self, method: Method) -> tuple[list[Any], dict[str, Any]]:
        taken = method.node.args
        plain = [*taken.posonlyargs, *taken.args]
        if not method.is_free:
            plain = plain[1:]
        # What has a default is left out half of the time.
        needed = len(plain) - len(taken.defaults)
        count = needed + (self.rng.randrange(len(taken.defaults) + 1) if taken.defaults else 0)
        given = [self.value(argument) for argument in plain[:max(count, 0)]]
        named = {
            argument.arg: self.value(argument)
            for argument, default in zip(taken.kwonlyargs, taken.kw_defaults, strict=True)
            if default is None or self.rng.random() < 0.3
        }
        return given, named

    def value(self, argument: ast.arg) -> Any:
        if argument.arg in ALWAYS:
            return self.rng.choice(LIKELY[argument.arg](self.world, self.rng))
        return self.values.of(argument.arg, argument.annotation)

    def call(self, method: Method) -> Any:
        given, named = self.arguments(method)
        if method.is_free:
            owner = getattr(timestrata, method.owner) if method.owner else timestrata
            return getattr(owner, method.name)(*given, **named)
        shared = self.world.objects.get(method.owner)
        if not shared:
            raise Missing(f"no object of class {method.owner} is made in World")
        target = self.rng.choice(shared)
        if method.is_of_class:
            target = type(target)
        found = getattr(target, method.name)
        if method.is_property:
            return found
        if (method.owner, method.name) in WAITS:
            return self.waited(getattr(target, "__anext__")())
        value = found(*given, **named)
        return self.waited(value) if inspect.iscoroutine(value) else value

    def waited(self, coroutine: Any) -> Any:
        async def limited() -> Any:
            return await asyncio.wait_for(coroutine, 0.02)

        return asyncio.run(limited())


# The rounds


def one(seed: str, every: list[Method], counts: collections.Counter[str], wrong: list[str]) -> None:
    rng = random.Random(seed)
    aliases = {
        node.target.id: node.value
        for node in stub().body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value
    }
    with tempfile.TemporaryDirectory(prefix="every-method-") as folder, contextlib.chdir(folder):
        # Any text may be taken for a path, and a relative one begins here.
        world = World(Path(folder), rng)
        barrier = threading.Barrier(THREADS)

        def work(number: int) -> None:
            mine = random.Random(f"{seed}.{number}")
            caller, order = Caller(mine, world, aliases), list(every)
            mine.shuffle(order)
            barrier.wait()
            for method in order:
                if method.name in ENDS and mine.random() > 0.1:
                    continue
                _one_call(caller, method, counts, wrong, seed)

        threads = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for method in every:
            # What ends others, at the end, by one.
            if method.name in ENDS:
                _one_call(Caller(rng, world, aliases), method, counts, wrong, seed)
        for store in {id(store): store for store in [world.store, *world.objects["Store"], *world.made]}.values():
            store.close()
        world.objects.clear()


def _one_call(
    caller: Caller, method: Method, counts: collections.Counter[str], wrong: list[str], seed: str
) -> None:
    try:
        DOING[threading.current_thread().name] = str(method)
        value = caller.call(method)
        caller.world.keep(value)
        for part in value[:2] if isinstance(value, (list, tuple)) else ():
            caller.world.keep(part)
        counts[str(method)] += 1
    except DOCUMENTED:
        counts[str(method)] += 1
    except ZeroDivisionError:
        # The callback's own.
        counts[str(method)] += 1
    except BaseException as error:
        wrong.append(f"round {seed}: {method}: {type(error).__name__}: {error}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", default=str(int.from_bytes(os.urandom(4), "big")))
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    sys.setswitchinterval(1e-5)
    print(f"seed {arguments.seed}: again with: every_method.py --seed {arguments.seed} --rounds {arguments.rounds}", flush=True)
    every, counts, wrong = methods(), collections.Counter[str](), []
    for number in range(arguments.rounds):
        faulthandler.dump_traceback_later(HANG_SECONDS, exit=True)
        watch = threading.Timer(HANG_SECONDS - 2, lambda: print(f"hangs: {DOING}", file=sys.stderr, flush=True))
        watch.daemon = True
        watch.start()
        one(f"{arguments.seed}.{number}", every, counts, wrong)
        watch.cancel()
    faulthandler.cancel_dump_traceback_later()
    for line in wrong[:40]:
        print(line, file=sys.stderr)
    left = sorted({str(method) for method in every} - set(counts))
    if left and not wrong:
        print(f"never called: {', '.join(left)}", file=sys.stderr)
    print(f"{sum(counts.values())} calls of {len(counts)} methods, {len(wrong)} wrong")
    return int(bool(wrong or left))


if __name__ == "__main__":
    sys.exit(main())

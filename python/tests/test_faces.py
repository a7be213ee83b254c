"""Each native name has a typed Python face, its examples run, and nothing else is needed."""

import ast
import doctest
import inspect
import subprocess
import sys
from importlib import resources
from pathlib import Path

import pytest

import timestrata
from timestrata import _timestrata as native

# What every class has, or what type checkers know without being told.
IMPLIED = {"__doc__", "__module__", "__repr__", "__new__", "__weakref__"}
# Of the buffer protocol, which has names from Python 3.12 on.
IMPLIED |= {"__buffer__", "__release_buffer__"}
# What comes with equality, which objects that have no order refuse.
IMPLIED |= {"__ne__", "__lt__", "__le__", "__gt__", "__ge__"}
# Left by an attempt to pickle an object, which is refused.
IMPLIED |= {"__slotnames__"}
CLASSES = [value for value in vars(native).values() if inspect.isclass(value)]


def stub() -> ast.Module:
    return ast.parse(resources.files("timestrata").joinpath("_timestrata.pyi").read_text())


def stub_functions(body: list[ast.stmt]) -> dict[str, list[ast.FunctionDef]]:
    functions: dict[str, list[ast.FunctionDef]] = {}
    for node in body:
        if isinstance(node, ast.FunctionDef):
            functions.setdefault(node.name, []).append(node)
    return functions


def stub_parameters(functions: list[ast.FunctionDef]) -> set[str]:
    names: set[str] = set()
    for function in functions:
        arguments = function.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        every += [rest for rest in (arguments.vararg, arguments.kwarg) if rest]
        names.update(argument.arg for argument in every)
    return names


def test_the_native_module_has_exactly_the_stubs_names() -> None:
    declared = set()
    for node in stub().body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            declared.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            declared.add(node.target.id)
    only_types = {
        "Timestamp", "Size", "Duration", "Codec", "Unit", "StreamFigures", "StoreFigures", "HistoryFigures", "ChangeKind",
        "CacheFigures", "ColumnFigures", "MissingRows", "ScrubFigures", "RepairedStream", "FileLeftOut",
        "SupportsArrowSchema", "SupportsArrowArray", "SupportsArrowStream", "TableTime", "TableBound", "Rowlike",
        "SupportsReadBytes", "SupportsNumpyTime", "SupportsArray", "Payload", "Headers", "Recordlike", "Retained", "GroupOfStore", "ExportedTiles",
        "BlockId", "EdgeDirection", "Kinds", "Durability", "Blocklike", "Edgelike",
        "LogLevel", "LogClock", "LogEntrylike", "LogPlace", "LogFigures", "LogEntryParts",
    }
    hooks = {"_after_fork_in_child", "_close_all"}
    offered = {name for name in vars(native) if not name.startswith("__")} - hooks
    assert offered | {"__version__"} == declared - only_types


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_each_native_class_has_exactly_the_stubs_methods(cls: type) -> None:
    nodes = {node.name: node for node in stub().body if isinstance(node, ast.ClassDef)}
    declared = stub_functions(nodes[cls.__name__].body)
    declared = {name: body for name, body in declared.items() if name not in IMPLIED}
    offered = {name: value for name, value in vars(cls).items() if name not in IMPLIED}
    assert set(offered) == set(declared)
    for name, functions in declared.items():
        signature = getattr(offered[name], "__text_signature__", None)
        if signature and not name.startswith("__"):
            parameters = set(inspect.signature(offered[name]).parameters)
            assert parameters == stub_parameters(functions), name


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_each_native_class_is_documented_and_made_by_the_store_unless_it_is_said_how(cls: type) -> None:
    assert cls.__doc__
    for name, value in vars(cls).items():
        if not name.startswith("__"):
            assert value.__doc__, f"{cls.__name__}.{name}"
    if issubclass(cls, timestrata.Timelog):
        assert len(cls()) == 0
    elif cls is timestrata.Record:
        assert cls().value is None
    else:
        with pytest.raises(TypeError):
            cls()


def test_objects_take_no_attributes_of_others() -> None:
    with timestrata.open() as store:
        log = store.timelog("log")
        for one in (store, log, iter(log), store.recovery, store.check()):
            with pytest.raises(AttributeError):
                one.something = 1  # type: ignore[union-attr]
            with pytest.raises(AttributeError):
                one.closed = True  # type: ignore[union-attr, misc]


def test_the_package_offers_all_native_names() -> None:
    offered = {name for name in vars(native) if not name.startswith("_")}
    assert offered <= set(timestrata.__all__)
    assert all(hasattr(timestrata, name) for name in timestrata.__all__)


def public_objects() -> list[tuple[str, object]]:
    """Each class and function that the package offers, but its exceptions."""
    offered = [(name, getattr(timestrata, name)) for name in sorted(timestrata.__all__)]
    return [
        (name, one)
        for name, one in offered
        if callable(one) and not (isinstance(one, type) and issubclass(one, BaseException))
    ]


def test_the_examples_in_native_docs_run() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    runner = doctest.DocTestRunner()
    for name, one in public_objects():
        for test in finder.find(one, name, module=False, globs={}):
            runner.run(test)
    assert runner.tries > 500
    assert runner.failures == 0


# What somebody calls in the first hour with each model.
FIRST_HOUR = {
    "Store": "timelog table logs topic graph sql consumer drop sync flush check backup purge pin at refresh stats queries",
    "Timelog": "append extend at range since until first min_ts delete views tail "
    "to_dict to_numpy to_arrow to_pandas to_polars",
    "Table": "append ingest scan head tail latest count row delete asof_join",
    "Rows": "to_arrow to_pandas to_polars to_numpy to_pylist",
    "Logs": "write write_many search count histogram facets context tail with_labels",
    "Topic": "send send_batch producer consumer get scan offsets groups audit",
    "Producer": "send send_batch",
    "Consumer": "poll commit seek lag",
    "Graph": "put put_many link link_many change delete at",
    "GraphView": "get find edges neighbors walk shortest_path to_arrow",
}


def test_every_public_class_and_function_and_what_is_called_first_has_an_example() -> None:
    without = [name for name, one in public_objects() if ">>>" not in (one.__doc__ or "")]
    for name, methods in FIRST_HOUR.items():
        cls = getattr(timestrata, name)
        without += [f"{name}.{method}" for method in methods.split() if ">>>" not in (vars(cls)[method].__doc__ or "")]
    assert without == []


def test_type_checkers_agree_with_the_stub_and_the_readme() -> None:
    mypy = pytest.importorskip("mypy.api")
    package = Path(timestrata.__file__).parent
    output, errors, code = mypy.run(["--strict", str(package)])
    assert code == 0, output + errors


WORKS = """
import numpy as np
import timestrata

log = timestrata.Timelog()
log.append(np.datetime64("2024-01-01"), "a")
log.bulk_append(np.array([1, 2]), np.array([1.5, 2.5]))
assert log[np.datetime64("2024-01-01")] == ["a"]
assert len(list(log[np.datetime64("2024-01-01") :])) == 1
with timestrata.open() as store:
    table = store.table("t", time="time")
    table.append({"time": np.array(["2024-01-01"], "datetime64[ns]"), "x": [1]})
    assert sum(1 for _ in table.scan(np.datetime64("2024-01-01"))) == 1
    topic = store.topic("payments")
    topic.send({"value": b"x", "timestamp": np.datetime64("2024-01-01")})
    assert topic.offset_at_time(np.datetime64("2024-01-01")) == 0
for span in log.page_spans(0, 10):
    assert memoryview(span.timestamps).nbytes > 0
"""


def test_type_checkers_and_the_library_take_what_numpy_has(tmp_path: Path) -> None:
    mypy = pytest.importorskip("mypy.api")
    program = tmp_path / "works.py"
    program.write_text(WORKS)
    output, errors, code = mypy.run(["--strict", str(program)])
    assert code == 0, output + errors
    subprocess.run([sys.executable, str(program)], check=True, timeout=60)


def test_nothing_else_needs_to_be_installed(tmp_path: Path) -> None:
    program = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"numpy", "pandas", "pyarrow", "polars", "typing_extensions"}:
            raise ImportError(f"{name} is not wanted")
sys.meta_path.insert(0, Refuse())
import timestrata
with timestrata.open(sys.argv[1]) as store:
    log = store.timelog("log")
    log.extend([(2, {"b": [1.5]}), (1, "a")])
    assert list(log[:2]) == [(1, "a")]
"""
    command = [sys.executable, "-c", program, str(tmp_path / "store")]
    subprocess.run(command, check=True, timeout=60)

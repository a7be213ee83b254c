"""The page of the Python package: signatures of its stubs, and what the package says of itself."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType

from tools.documents.docstrings import markdown
from tools.documents.pages import ROOT

HEAD = """# Python

`import timestrata`; everything here is in that module unless its name says otherwise. The package has types
(`py.typed`), works in threads (the interpreter is let go of while the store works), and hears Ctrl-C within a second.

- **Ranges** are half-open. **Times** are ints in the unit of the time log or table, `datetime`, ISO text where tables,
  topics, graphs and logs take one, numpy and pandas times. What has no zone is UTC.
- **Sizes** are ints or `"64MiB"`, **durations** seconds, `timedelta` or `"100ms"`.
- Whatever has `__arrow_c_stream__` goes in as rows, and answers have it too.
- **Errors** are kinds of [`TimestrataError`](#errors), and of Python's own where one fits (`KeyError`, `ValueError`,
  `OSError`).

Here are stores and errors; each model has a page of its own: [tables](python-table.md), [time logs](python-timelog.md),
[logs](python-logs.md), [topics](python-topic.md) and [graphs](python-graph.md), and so has [a store behind a server](python-server.md). All of
them are made of the package's stubs and docstrings (`make references`).
"""

# What is on which page, by the page's ending: its title, what it begins with, its names.
SECTIONS = {
    "": ("Python", "", ["open", "Store", "Changes", "CommittedChanges", "Change", "allocated_bytes", "Commit", "CommitTable", "CommitTopic", "CommitLogs", "CommitGraph", "CommitTimelog", "repair", "RecoveryReport", "CheckReport", "Finding", "BackupReport", "PurgeReport", "RepairReport", "Pin", "__version__", "FORMAT_VERSION"]),
    "-table": ("Python, tables", "[guide](../guides/table.md)", ["Table", "Rows", "RowsIter"]),
    "-timelog": ("Python, time logs", "[guide](../guides/timelog.md)", ["Timelog", "TimelogIter", "TimelogTail", "PageSpan", "PageSpanIter", "PageSpanObjectsView", "register_type", "UnknownValue", "cbor_encode", "cbor_decode"]),
    "-logs": ("Python, logs", "[guide](../guides/logs.md), [filters](filters.md)", ["Logs", "LogEntry", "LogEntries", "LogEntriesIter", "LogTail", "LogBucket", "LogFacet"]),
    "-topic": ("Python, topics", "[guide](../guides/topic.md)", ["Topic", "Record", "Receipt", "Producer", "Consumer", "SigningKey", "Proof", "verify", "verify_consistency", "verify_checkpoints"]),
    "-graph": ("Python, graphs", "[guide](../guides/graph.md)", ["GraphView", "Graph", "Block", "Edge", "Walk", "Route"]),
    "-server": ("Python, servers", "[guide](../guides/servers.md)", ["connect", "RemoteStore", "RemoteTable", "RemoteTimelog", "RemoteTimelogIter", "RemoteTimelogTail", "RemoteLogs", "RemoteLogTail", "RemoteTopic", "RemoteProducer", "RemoteConsumer", "RemoteGraph", "RemoteCommit", "RemoteCommitTable", "RemoteCommitTopic", "RemoteCommitLogs", "RemoteCommitGraph", "RemoteCommitTimelog", "RemoteChanges"]),
}  # fmt: skip

# What a reader knows from every other class.
USUAL = frozenset({"__init__", "__new__", "__enter__", "__exit__", "__iter__", "__next__", "__eq__",
                   "__hash__", "__bool__", "__str__", "__aiter__", "__anext__", "__len__",
                   # Of the buffer protocol: older Pythons have no such attribute.
                   "__buffer__"})  # fmt: skip
LINE_MAX = 100
Function = ast.FunctionDef | ast.AsyncFunctionDef
PACKAGE = ROOT / "python" / "timestrata"
STUBS = PACKAGE / "_timestrata.pyi"
# What is written in Python itself, and says its types there.
KINDS = PACKAGE / "kinds.py"
REMOTE = PACKAGE / "remote"


def text(package: ModuleType, page: str) -> str:
    """A page, by its ending in `SECTIONS`."""
    is_remote = page == "-server"
    stubs = members_of(sorted(REMOTE.glob("*.py")) if is_remote else [STUBS, KINDS])
    package = importlib.import_module("timestrata.remote") if is_remote else package
    title, beside, names = SECTIONS[page]
    own = [f"`{name}`" for name in names if not name.endswith("Iter")]
    out = (
        [HEAD]
        if not page
        else [
            f"# {title}\n\nThe reference of {', '.join(own[:-1])} and {own[-1]}. Beside it: {beside}.\n"
        ]
    )
    for name in names:
        out.extend(of_name(package, name, stubs))
    if not page:
        out.extend(of_errors(package))
    if page == "-logs":
        out.extend(of_logging())
    return "\n".join(out)


def of_name(package: ModuleType, name: str, stubs: dict[str, list[str]]) -> Iterator[str]:
    thing = getattr(package, name)
    yield f"## {name}\n" if not name.startswith("__") else f"## `{name}`\n"
    if not callable(thing):
        yield f"`{type(thing).__name__}`: the version of the {'package' if '_v' in name else 'file formats'}.\n"
        return
    if not inspect.isclass(thing):
        yield signature(stubs[name])
    yield markdown(thing.__doc__ or "")
    if inspect.isclass(thing):
        for member in dict.fromkeys(
            key.partition(".")[2] for key in stubs if key.startswith(f"{name}.")
        ):
            yield from of_member(thing, name, member, stubs[f"{name}.{member}"])


def of_member(owner: type, name: str, member: str, signatures: list[str]) -> Iterator[str]:
    """A method, or an attribute; attributes are a line each."""
    if member.startswith("_") and (member in USUAL or not member.startswith("__")):
        return
    said = getattr(owner, member).__doc__ or ""
    if signatures[0].startswith("@"):
        kind = signatures[0].rpartition("-> ")[2]
        yield f"- `{name}.{member}` (`{kind}`): {markdown(said).strip()}\n"
        return
    yield f"### {name}.{member}\n" if not member.startswith("__") else f"### `{name}.{member}`\n"
    yield signature(signatures)
    if said:
        yield markdown(said)


def signature(signatures: list[str]) -> str:
    return "```text\n" + "\n".join(signatures) + "\n```\n"


def of_errors(package: ModuleType) -> Iterator[str]:
    yield "## Errors\n"
    yield f"{markdown(inspect.getmodule(package.TimestrataError).__doc__ or '')}"
    yield "| error | is also | when |\n| --- | --- | --- |"
    for name in package.__all__:
        kind = getattr(package, name)
        if inspect.isclass(kind) and issubclass(kind, Exception):
            also = [base.__name__ for base in kind.__mro__[1:] if base.__module__ == "builtins"]
            also = [name for name in also if name not in {"Exception", "BaseException", "object"}]
            said = " ".join((kind.__doc__ or "").partition("\n\n")[0].split())
            yield f"| `{name}` | {', '.join(f'`{each}`' for each in also)} | {said.replace('``', '`')} |"
    yield ""


def of_logging() -> Iterator[str]:
    import timestrata.logging as logging

    yield "## timestrata.logging\n"
    yield markdown(logging.__doc__ or "")
    for name in logging.__all__:
        yield f"### logging.{name}\n"
        yield markdown(getattr(logging, name).__doc__ or "")


def members_of(files: Iterable[Path]) -> dict[str, list[str]]:
    """Signatures as files write them, by `name` and `Class.member`; several where it is overloaded."""
    members: dict[str, list[str]] = {}

    def add(path: str, node: Function) -> None:
        words = [ast.unparse(each) for each in node.decorator_list]
        # What carries overloads out says less than they do.
        if path in members and "overload" not in words:
            return
        members.setdefault(path, []).append(
            ("@property " if "property" in words else "") + told(node)
        )

    for file in files:
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, Function):
                add(node.name, node)
            elif isinstance(node, ast.ClassDef):
                for member in node.body:
                    if isinstance(member, Function):
                        add(f"{node.name}.{member.name}", member)
    return members


def told(node: Function) -> str:
    """A signature without `self`; a parameter a line where one line is too short."""
    given = node.args
    first = [each for each in given.posonlyargs + given.args if each.arg not in {"self", "cls"}]
    gap = len(first) - len(given.defaults)
    parts = [
        parameter(each, given.defaults[place - gap] if place >= gap else None)
        for place, each in enumerate(first)
    ]
    only_by_place = [each for each in given.posonlyargs if each.arg not in {"self", "cls"}]
    if only_by_place:
        parts.insert(len(only_by_place), "/")
    if given.vararg:
        parts.append(f"*{parameter(given.vararg, None)}")
    elif given.kwonlyargs:
        parts.append("*")
    parts += map(parameter, given.kwonlyargs, given.kw_defaults)
    if given.kwarg:
        parts.append(f"**{parameter(given.kwarg, None)}")
    result = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    name = f"async {node.name}" if isinstance(node, ast.AsyncFunctionDef) else node.name
    line = f"{name}({', '.join(parts)}){result}"
    if len(line) <= LINE_MAX:
        return line
    return f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + f"){result}"


def parameter(given: ast.arg, default: ast.expr | None) -> str:
    kind = f": {ast.unparse(given.annotation)}" if given.annotation else ""
    if default is None:
        return f"{given.arg}{kind}"
    return f"{given.arg}{kind} {'= ' if kind else '='}{ast.unparse(default)}"

"""The code graph of the standard library of the Python that runs this, for a clone that stands alone.

`python -m bench.python.graph.library` prints the folder of the real graph: the one that `TIMESTRATA_BENCH_GRAPH`
names, the one beside the repository, or else one in the cache that is made from the sources at hand:
what contains what, which module imports which, and calls of what a module defines or imports by name.
"""

from __future__ import annotations

import ast
import csv
import gzip
import os
import sysconfig
import warnings
from collections.abc import Iterator
from pathlib import Path

from bench.python.common.arguments import SHARED, TARGET

REAL_FILE = "cpython_stdlib_edges.csv.gz"
Edge = tuple[str, str, str]
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def _name_of(path: Path, root: Path) -> str:
    parts = list(path.relative_to(root).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _sources(root: Path) -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(root.rglob("*.py")):
        if {"site-packages", "test", "tests", "idlelib"} & set(path.relative_to(root).parts):
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield _name_of(path, root), ast.parse(path.read_bytes())
        except (SyntaxError, ValueError):
            continue


def _imports(module: str, node: ast.stmt) -> Iterator[tuple[str, str]]:
    """Names as they are used in a module, and what they stand for."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield alias.asname or alias.name, alias.name
    elif isinstance(node, ast.ImportFrom):
        package = module.split(".")[: -node.level] if node.level else []
        origin = ".".join([*package, *([node.module] if node.module else [])])
        for alias in node.names:
            yield alias.asname or alias.name, f"{origin}.{alias.name}"


def _edges_of(module: str, tree: ast.Module) -> Iterator[Edge]:
    known: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            for name, target in _imports(module, node):
                known[name] = target
                yield module, target, "imports"
    for node in tree.body:
        if isinstance(node, Definition):
            known[node.name] = f"{module}.{node.name}"

    def inside(owner: str, node: ast.AST) -> Iterator[Edge]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, Definition):
                name = f"{owner}.{child.name}"
                yield owner, name, "contains"
                yield from inside(name, child)
                continue
            if isinstance(child, ast.Call) and isinstance(child.func, ast.Name):
                target = known.get(child.func.id)
                if target:
                    yield owner, target, "calls"
            yield from inside(owner, child)

    yield from inside(module, tree)


def made_in(folder: Path) -> Path:
    """The folder with the graph, which is made where it is missing."""
    path = folder / REAL_FILE
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".new")
        with gzip.open(unfinished, "wt", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(("src", "dst", "kind"))
            seen: set[Edge] = set()
            for module, tree in _sources(Path(sysconfig.get_paths()["stdlib"])):
                for edge in _edges_of(module, tree):
                    if edge not in seen:
                        seen.add(edge)
                        writer.writerow(edge)
        os.replace(unfinished, path)
    return folder


def folder_of_graph() -> Path:
    """Where the real graph is."""
    named = os.environ.get("TIMESTRATA_BENCH_GRAPH")
    if named:
        return Path(named)
    real = SHARED / "graph"
    return real if (real / REAL_FILE).exists() else made_in(TARGET / "bench-stand-in" / "graph")


if __name__ == "__main__":
    print(folder_of_graph().absolute())

"""The standard library of the Python that runs this, as a code graph: who calls what, with file and line,
held against what Python's own parser says; and one edit, of which little is written."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sysconfig
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

Tell = Callable[[str, str], None]
Verify = Callable[[bool, str], None]

# A method that is called within its own class only, by `self`.
FILE, CLASS, METHOD = "argparse.py", "ArgumentParser", "parse_known_args"
EDIT = "\n\ndef added_by_the_demo():\n    return dedent('')\n"


def show_graphs(command: Path | None, tell: Tell, verify: Verify) -> None:
    if command is None:
        tell("graph", "left out: it is shown with the command (--command)")
        return
    with tempfile.TemporaryDirectory(prefix="timestrata-demo-") as name:
        sources = Path(name) / "lib"
        copy_sources(sources)
        graph = Graph(command.resolve(), Path(name))
        show_index(graph, sources, tell, verify)
        show_callers(graph, sources, tell, verify)
        show_an_edit(graph, sources, tell, verify)


class Graph:
    """A graph `lib` of a store, by the command."""

    def __init__(self, command: Path, directory: Path) -> None:
        self.command, self.directory = command, directory

    def run(self, verb: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        asked = [str(self.command), "graph", verb, "store", "lib", *arguments]
        return subprocess.run(
            asked, cwd=self.directory, capture_output=True, text=True, check=True
        )


def copy_sources(target: Path) -> None:
    """The library's own sources: what was installed besides, and what is made of them, stays behind."""
    skipped = shutil.ignore_patterns(
        "site-packages", "dist-packages", "__pycache__", "test", "tests", "*.so", "config-*"
    )
    shutil.copytree(sysconfig.get_paths()["stdlib"], target, ignore=skipped)


def figures(told: str) -> dict[str, int]:
    """The numbers that indexing told, by the word behind or before them."""
    last = told.strip().splitlines()[-1]
    found = re.findall(r"([\d,]+) (files?|read anew|blocks?|deleted|edges?|unlinked)", last)
    return {word.rstrip("s"): int(number.replace(",", "")) for number, word in found}


def show_index(graph: Graph, sources: Path, tell: Tell, verify: Verify) -> None:
    files = sum(1 for _ in sources.rglob("*.py"))
    megabytes = sum(path.stat().st_size for path in sources.rglob("*.py")) / 1e6
    began = time.perf_counter()
    told = graph.run("index", str(sources)).stderr
    took = time.perf_counter() - began
    said = figures(told)
    tell("graph", f"{said['file']:,} files of Python's library ({megabytes:.1f} MB) as {said['block']:,} "
         f"blocks and {said['edge']:,} edges, in {took:.1f} s")
    left_out = told.count("left out: ")
    verify(said["file"] + left_out >= files, f"{files:,} files are there")


def show_callers(graph: Graph, sources: Path, tell: Tell, verify: Verify) -> None:
    printed = graph.run("show", "callers", f"{CLASS}.{METHOD}").stdout.splitlines()
    for line in printed[:3]:
        tell("callers", f"of {CLASS}.{METHOD}: {line}")
    found = {int(line.split(":")[1]) for line in printed if line.startswith(f"{FILE}:")}
    expected = lines_of_calls(sources / FILE)
    verify(expected <= found, f"calls in lines {sorted(expected)} wanted, {sorted(found)} found")


def lines_of_calls(path: Path) -> set[int]:
    """Where the class calls the method of itself, by Python's own parser."""
    tree = ast.parse(path.read_text())
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == CLASS]
    calls = [node for node in ast.walk(classes[0]) if isinstance(node, ast.Call)]
    return {
        call.func.end_lineno or 0
        for call in calls
        if isinstance(call.func, ast.Attribute)
        and call.func.attr == METHOD
        and isinstance(call.func.value, ast.Name)
        and call.func.value.id == "self"
    }


def show_an_edit(graph: Graph, sources: Path, tell: Tell, verify: Verify) -> None:
    with (sources / "textwrap.py").open("a") as file:
        file.write(EDIT)
    began = time.perf_counter()
    said = figures(graph.run("index", str(sources)).stderr)
    took = time.perf_counter() - began
    tell("edit", f"of one file: {said['read anew']} read anew, {said['block']} blocks and "
         f"{said['edge']} edges written, in {took:.1f} s")
    verify(said["read anew"] == 1 and said["block"] <= 3, f"one file was edited, {said} was written")
    added = graph.run("show", "callees", "added_by_the_demo").stdout
    verify("function dedent" in added, f"the added call is not there: {added!r}")

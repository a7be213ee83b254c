"""Runs the code in a page: block by block, in one folder, as a reader would.

What a block is comes of the word behind its fence:

- `python` is run, `sh` is given to bash, `sql` to `store.sql` of the page's open `store`;
- where the first line of `sh` is `timestrata serve DIR`, that server runs beside the block's other lines,
  on a free port to which their `localhost:8080` leads;
- `output`, right behind one of these, is what it prints (`...` stands for anything);
- `json`, `toml` and `csv` have to be in that form; with `title="NAME"` the block becomes that file;
- `pycon` is held by `doctest`, in the names of the page's `python`;
- `rust` is run by `cargo test --doc` (`crates/timestrata`), and not here;
- `text` and `ebnf` are no code.

A block that can't run has `<!-- not run: REASON -->` on the line above it.
"""

from __future__ import annotations

import contextlib
import csv
import doctest
import fnmatch
import io
import json
import re
import subprocess
import time
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CODE = frozenset({"python", "pycon", "sh", "sql"})
FORMS = frozenset({"json", "toml", "csv"})
ELSEWHERE = frozenset({"rust"})
NO_CODE = frozenset({"text", "ebnf"})
SECONDS_MAX = 120
SERVE = "timestrata serve "
SERVED = "localhost:8080"

FENCE = re.compile(
    r"^(?:<!-- not run: (?P<reason>.+?) -->\n+)?"
    r"```(?P<language>\w*)(?: title=\"(?P<title>[^\"]+)\")?\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


class DocumentError(AssertionError):
    """A block that does not do what its page says."""


@dataclass(frozen=True)
class Block:
    """A fenced block, and the line of its page where it begins."""

    language: str
    code: str
    line: int
    title: str | None
    reason: str | None
    output: str | None = None


def blocks(text: str) -> Iterator[Block]:
    """The blocks of a page, what each prints with it."""
    waiting: Block | None = None
    end = 0
    for fence in FENCE.finditer(text):
        line = text.count("\n", 0, fence.start("language")) + 1
        block = Block(fence["language"], fence["code"], line, fence["title"], fence["reason"])
        if block.language == "output":
            if waiting is None or text[end : fence.start()].strip():
                raise DocumentError(f"line {line}: output of no block")
            waiting = Block(**{**vars(waiting), "output": block.code})
            yield waiting
            waiting = None
        else:
            if waiting is not None:
                yield waiting
            waiting = block
        end = fence.end()
    if waiting is not None:
        yield waiting


class Session:
    """A page as it is run: its folder, what its Python has named so far, and where programs are."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.folder = folder
        self.environment = dict(environment)
        self.names: dict[str, Any] = {"__name__": "__document__"}

    def run(self, page: str, block: Block) -> None:
        """Runs a block. Its page says what it prints."""
        place = f"{page}:{block.line}"
        if block.language in FORMS:
            self._hold_form(place, block)
        if block.title is not None:
            (self.folder / block.title).write_text(block.code, encoding="utf-8")
        elif block.language in CODE:
            with contextlib.chdir(self.folder):
                printed = getattr(self, f"_{block.language}")(place, block.code)
            if block.output is not None and not is_as_told(printed, block.output):
                raise DocumentError(f"{place}: printed\n{printed}\nand not\n{block.output}")

    def _hold_form(self, place: str, block: Block) -> None:
        try:
            if block.language == "json":
                json.loads(block.code)
            elif block.language == "toml":
                tomllib.loads(block.code)
            else:
                widths = {len(row) for row in csv.reader(io.StringIO(block.code))}
                if len(widths) != 1:
                    raise ValueError(f"rows have {sorted(widths)} fields")
        except ValueError as error:
            raise DocumentError(f"{place}: no {block.language}: {error}") from error

    def _python(self, place: str, code: str) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, place, "exec"), self.names)
        return printed.getvalue()

    def _pycon(self, place: str, code: str) -> str:
        told = io.StringIO()
        test = doctest.DocTestParser().get_doctest(code, self.names, place, place, 0)
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
        if runner.run(test, out=told.write, clear_globs=False).failed:
            raise DocumentError(f"{place}: {told.getvalue()}")
        self.names = test.globs
        return ""

    def _sh(self, place: str, code: str) -> str:
        first, _, others = code.partition("\n")
        if not first.startswith(SERVE):
            return self._bash(place, code)
        with self._serving(place, first) as address:
            return self._bash(place, others.replace(SERVED, address))

    @contextlib.contextmanager
    def _serving(self, place: str, command: str) -> Iterator[str]:
        """A server that runs meanwhile; gives its address."""
        said = self.folder / "server.log"
        with said.open("wb") as log:
            server = subprocess.Popen(
                ["bash", "-c", f"exec {command} --listen 127.0.0.1:0"],
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        try:
            yield _address(place, server, said)
        finally:
            server.terminate()
            server.wait(SECONDS_MAX)

    def _bash(self, place: str, code: str) -> str:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", code],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=SECONDS_MAX,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        if done.returncode != 0:
            raise DocumentError(f"{place}: ended with {done.returncode}\n{done.stderr}")
        return done.stdout

    def _sql(self, place: str, code: str) -> str:
        if "store" not in self.names:
            raise DocumentError(f"{place}: the page has no open store yet")
        return table(self.names["store"].sql(code).to_pylist())


def _address(place: str, server: subprocess.Popen[bytes], said: Path) -> str:
    """Where a server listens, once it says so."""
    end = time.monotonic() + SECONDS_MAX
    while time.monotonic() < end:
        ended = server.poll() is not None
        text = said.read_text(encoding="utf-8")
        if address := re.search(r"listening on http://(\S+)\n", text):
            return address[1]
        if ended:
            break
        time.sleep(0.02)
    raise DocumentError(f"{place}: the server does not listen\n{text}")


def table(rows: Iterable[Mapping[str, Any]]) -> str:
    """Rows as aligned columns, blanks between them."""
    rows = list(rows)
    if not rows:
        return ""
    lines = [list(rows[0]), *([str(value) for value in row.values()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    padded = ("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)
    return "\n".join(padded) + "\n"


def is_as_told(printed: str, told: str) -> bool:
    """Whether something was printed that a page shows, where `...` may stand for anything."""
    pattern = re.sub(r"([\[\]*?])", r"[\1]", told.strip()).replace("...", "*")
    return fnmatch.fnmatchcase(printed.strip(), pattern)


def unknown(text: str) -> list[str]:
    """Fences without a word, or with one that nobody knows."""
    known = CODE | FORMS | ELSEWHERE | NO_CODE
    return [
        f"line {block.line}: {block.language or 'no word behind the fence'}"
        for block in blocks(text)
        if block.language not in known
    ]

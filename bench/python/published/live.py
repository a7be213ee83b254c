"""Systems that run as programs of their own, from clones that the user names: theirs and ours in turn, twice."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import fields, replace
from pathlib import Path
from statistics import mean
from typing import Any

from bench.python.common.arguments import ROOT, TARGET
from bench.python.published import clones, dls, kausaldb, pulsora_live, results
from bench.python.published.results import Result

PEERS = {"dls": dls, "kausaldb": kausaldb, "pulsora": pulsora_live}
ROUNDS = 2
COMMAND = TARGET / "release" / "timestrata-bench"
# What the mean of rounds is taken of; the rest of a line is the same in all of them.
FIGURES = ("value", "p50", "p95", "p99", "cpu", "peak")


def named(only: str) -> dict[str, Path]:
    """The folders of all that the user has named.

    Raises:
        UnusableError: one can't be measured with.
    """
    found = {key: peer.KNOWN.named() for key, peer in PEERS.items() if only in key}
    return {key: folder for key, folder in found.items() if folder is not None}


def run(asked: Any) -> int:
    try:
        asked.dir.mkdir(parents=True, exist_ok=True)
        folders = named(asked.only)
        drivers = {
            key: PEERS[key].prepare(folder, asked.dir / "drivers")
            for key, folder in folders.items()
        }
    except clones.UnusableError as error:
        print(error, file=sys.stderr)
        return 1
    for key, peer in PEERS.items():
        known = peer.KNOWN
        if asked.only in key:
            print(
                f"{known.label}: {folders[key]}"
                if key in folders
                else f"{known.title}: no {known.variable}=FOLDER, so its published figures alone"
            )
    if asked.check:
        return 0
    for key, driver in drivers.items():
        taken = list(beside(key, driver, asked.dir, few=asked.quick))
        for result in taken:
            print(f"{result.id:<16} {result.side:<6} {result.value:.4g}", flush=True)
        results.merge(asked.results, taken)
        print(f"{len(taken)} results in {asked.results}")
    return 0


def beside(key: str, driver: Path, dir: Path, *, few: bool) -> Iterator[Result]:
    """Rows that a peer has a figure of, with ours of the same minutes."""
    peer, taken = PEERS[key], list[Result]()

    def of_ours() -> Iterator[Result]:
        yield from ours(key, peer.OURS, dir, by_package=peer.BY_PACKAGE, few=few)

    def of_theirs() -> Iterator[Result]:
        yield from peer.measure(driver, dir, few=few)

    for round in range(ROUNDS):
        # Each round begins with the other one.
        for side in (of_ours, of_theirs) if round % 2 == 0 else (of_theirs, of_ours):
            taken += side()
    rows = {result.id for result in taken if result.side == "peer"}
    yield from means(result for result in taken if result.id in rows)


def ours(
    key: str, groups: Iterable[str], dir: Path, *, by_package: bool, few: bool
) -> Iterator[Result]:
    """What `timestrata-bench published` measures of a report in some of its groups, and the package of Python, if it does."""
    with tempfile.TemporaryDirectory(dir=dir) as name:
        out = Path(name) / "report.json"
        for group in groups:
            more = ["--quick"] if few else []
            into = ["--out", str(out), "--dir", name]
            command = [str(COMMAND), "published", "--only", group, *into, *more]
            subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        if by_package:
            more = ["--quick"] if few else []
            words = ["-m", "bench.python.published", "measure", "--only", key]
            command = [sys.executable, *words, "--results", str(out), "--dir", name, *more]
            subprocess.run(command, stdout=subprocess.DEVNULL, check=True, cwd=ROOT)
        known = {field.name for field in fields(Result)}
        for line in json.loads(out.read_text(encoding="utf-8")):
            if line["report"] == key:
                yield Result(**{name: value for name, value in line.items() if name in known})


def means(taken: Iterable[Result]) -> Iterator[Result]:
    """One line of each row and side: the mean of its rounds."""
    found: dict[tuple[str, str], list[Result]] = defaultdict(list)
    for result in taken:
        found[result.id, result.side].append(result)
    for rounds in found.values():
        figures = {
            name: mean(getattr(one, name) for one in rounds)
            for name in FIGURES
            if all(getattr(one, name) is not None for one in rounds)
        }
        yield replace(rounds[0], runs=sum(one.runs for one in rounds), **figures)

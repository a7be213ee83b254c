"""The contract of `timestrata.Timelog` as a drop-in for the module `timelog`.

The same tests run against that module itself, which proves them right. In an environment with
`timelog-lib`, pytest and numpy, from the folder `python`:

    TIMESTRATA_DROP_IN=timelog python -m pytest --confcutdir=tests/drop_in tests/drop_in

What we do better than it on purpose is marked `@pytest.mark.ours("why")` and skipped there.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

NAME = os.environ.get("TIMESTRATA_DROP_IN", "timestrata.timelog")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "ours(why): what the module we replace does not do")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if NAME.startswith("timestrata"):
        return
    for item in items:
        mark = item.get_closest_marker("ours")
        if mark is not None:
            item.add_marker(pytest.mark.skip(reason=f"{NAME}: {mark.args[0]}"))


@pytest.fixture(scope="session")
def peer_module() -> ModuleType:
    """The module under test."""
    return importlib.import_module(NAME)


@pytest.fixture
def make(peer_module: ModuleType) -> Callable[..., Any]:
    """Makes a log, without background maintenance unless asked for it."""

    def make(**options: Any) -> Any:
        return peer_module.Timelog(**{"maintenance": "disabled", **options})

    return make


@pytest.fixture
def log(make: Callable[..., Any]) -> Any:
    """An empty log."""
    return make()


@pytest.fixture
def numpy() -> Any:
    return pytest.importorskip("numpy", reason="numpy is not installed: nothing to exchange")


@pytest.fixture
def run_alone() -> Callable[[str], str]:
    """Runs a program, which finds the module as `module`, in a process of its own."""

    def run(program: str) -> str:
        text = f"import importlib\nmodule = importlib.import_module({NAME!r})\n"
        done = subprocess.run(
            [sys.executable, "-c", text + textwrap.dedent(program)],
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, f"exit {done.returncode}: {done.stderr}"
        return done.stdout

    return run

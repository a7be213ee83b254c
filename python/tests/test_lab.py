"""The lab asks for what is there."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_every_test_that_the_lab_runs_for_races_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    threads = importlib.import_module("lab.threads")
    for program, modules in threads.TESTS.items():
        folder = ROOT / "crates" / program / "tests" / program
        assert (folder / "main.rs").exists(), program
        for module in modules:
            assert (folder / f"{module}.rs").exists(), f"{program}: {module}"
    files = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("crates/*/src/**/*.rs")}
    for unit in threads.UNITS:
        parts = unit.split("::")
        modules = "/src/" + "/".join(parts), "/src/" + "/".join(parts[:-1])
        assert any(f"{module}.rs" in name for name in files for module in modules), unit

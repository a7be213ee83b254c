"""The demo runs to its end with every answer as it should be, and is of a Python that the README says will do."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("path", sorted((ROOT / "demo").glob("*.py")), ids=lambda path: path.name)
def test_the_demo_is_python_of_the_oldest_version(path: Path) -> None:
    # Quotes within an f-string's own were an error up to 3.11; the grammar of 3.12 takes them.
    ast.parse(path.read_text(encoding="utf-8"), str(path), feature_version=(3, 11))
    compile(path.read_bytes(), str(path), "exec")


def test_the_demo_runs_to_its_end() -> None:
    run = [sys.executable, str(ROOT / "demo/run.py")]
    ran = subprocess.run(run, capture_output=True, text=True, timeout=600, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "every answer as it should be" in ran.stdout

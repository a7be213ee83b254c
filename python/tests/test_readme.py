"""The README's first lines do what they say, and the demo is of a Python that it says will do."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"


def test_the_first_lines_of_the_readme_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = re.search(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert lines is not None
    monkeypatch.chdir(tmp_path)
    exec(compile(lines[1], str(README), "exec"), {})
    assert capsys.readouterr().out.splitlines() == [
        "1700000000000 late",
        "1700000060000 1",
        "[{'room': 'kitchen', 'mean': 20.5}]",
        "['disk is full']",
        "[b'opened']",
    ]


@pytest.mark.parametrize("path", sorted((ROOT / "demo").glob("*.py")), ids=lambda path: path.name)
def test_the_demo_is_python_of_the_oldest_version(path: Path) -> None:
    # Quotes within an f-string's own were an error up to 3.11; the grammar of 3.12 takes them.
    ast.parse(path.read_text(encoding="utf-8"), str(path), feature_version=(3, 11))
    compile(path.read_bytes(), str(path), "exec")

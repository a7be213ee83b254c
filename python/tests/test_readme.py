"""The README's first lines do what they say."""

from __future__ import annotations

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

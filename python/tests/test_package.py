"""What an index shows of the package, and what comes with it."""

import re
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "python" / "README.md"


def test_the_licences_come_with_it() -> None:
    installed = metadata.distribution("timestrata")
    assert installed.metadata["License-Expression"] == "MIT OR Apache-2.0"
    files = installed.metadata.get_all("License-File") or []
    assert sorted(files) == ["LICENSE-APACHE", "LICENSE-MIT"]
    for name in files:
        text = installed.read_text(f"licenses/{name}")
        assert text == (ROOT / name).read_text(encoding="utf-8")


def test_its_readme_stands_by_itself() -> None:
    """An index shows it where no other file of the repository is."""
    text = README.read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)]*)\)", text)
    assert [target for target in targets if not target.startswith("https://")] == []
    shown = metadata.metadata("timestrata")
    assert shown["Description-Content-Type"].startswith("text/markdown")
    assert shown.get_payload().strip() == text.strip()


def test_its_readme_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 1
    monkeypatch.chdir(tmp_path)
    exec(compile(blocks[0], str(README), "exec"), {})
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "1700000000000 late"
    assert "1704067200000 new year" in printed
    assert printed[-1] == "[{'room': 'kitchen', 'mean': 20.5}]"

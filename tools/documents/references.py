"""The pages that are made of the real thing. A test holds that they are as they would be made now."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from tools.documents import command_reference, python_reference, settings_reference
from tools.documents.pages import ROOT

FOLDER = ROOT / "docs" / "reference"


def command() -> Path:
    """The command `timestrata`: the one that the environment names, the package's, or cargo's."""
    beside = Path(sys.executable).with_name("timestrata")
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    named = os.environ.get("TIMESTRATA_COMMAND")
    for path in (named and Path(named), beside, target / "debug" / "timestrata"):
        if path and path.is_file():
            return path
    found = shutil.which("timestrata")
    if found is None:
        raise FileNotFoundError(
            "no command `timestrata`: install the package, or name the command with TIMESTRATA_COMMAND"
        )
    return Path(found)


def _python(page: str) -> str:
    import timestrata

    return python_reference.text(timestrata, page)


PAGES: dict[str, Callable[[], str]] = {
    "cli.md": lambda: command_reference.text(command()),
    **{f"python{page}.md": partial(_python, page) for page in python_reference.SECTIONS},
    "settings.md": lambda: settings_reference.text(command()),
}


def write() -> Iterator[Path]:
    """Writes each page that is not as it should be."""
    for name, make in PAGES.items():
        path = FOLDER / name
        text = make()
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            yield path

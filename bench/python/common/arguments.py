"""What the suites in Python are told on the command line."""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
# Beside the repository, where it is checked out for development.
SHARED = ROOT.parent / "shared" / "data"
TARGET = Path(os.environ.get("CARGO_TARGET_DIR") or tempfile.gettempdir())


def parser_of(suite: str, description: str | None) -> argparse.ArgumentParser:
    """A parser of what every suite may be told."""
    parser = argparse.ArgumentParser(prog=f"python -m bench.python.{suite}", description=description)
    parser.add_argument("--quick", action="store_true", help="small sizes: shows that it works")
    parser.add_argument("--only", default="", help="only groups whose name holds this")
    parser.add_argument("--dir", type=Path, default=TARGET / f"bench-{suite}", help="for stores")
    out = ROOT / "bench" / "results" / "latest.json"
    parser.add_argument("--out", type=Path, default=out, help="the report")
    return parser


def add_commands(parser: argparse.ArgumentParser) -> None:
    """Our commands, which were built for release."""
    built = TARGET / "release"
    parser.add_argument("--command", type=Path, default=built / "timestrata")
    parser.add_argument("--bench-command", type=Path, default=built / "timestrata-bench")

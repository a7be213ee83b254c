"""Pulsora's own tests of what it answers, as they are, against `timestrata serve --compat pulsora`.

    python -m lab.pulsora --clone FOLDER --command target/debug/timestrata

They call functions of a crate `pulsora`. One of that name is made here (`standin`), whose functions are requests over HTTP to a
server of ours, a process of its own for each test, which is killed where the test drops it. The clone is not changed, and
nothing of it is built but its tests and its settings.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from bench.python.published.clones import UnusableError
from bench.python.published.pulsora_live import KNOWN

STANDIN = Path(__file__).parent / "standin"
# Of theirs, what the stand-in needs; in the clone's own versions.
DEPENDENCIES = ("axum", "arrow", "chrono", "csv", "prost", "serde", "serde_json", "tempfile", "tokio", "toml", "tower")
# How the runtime of their storage ends is nothing that a client sees.
LEFT_OUT = ("runtime_lifecycle_repro_test.rs",)
# It asks that rows are lost in a crash.
REFUSED = {"test_wal_disabled_data_loss"}
ENDED = re.compile(r"^test (\S+) \.\.\. (ok|FAILED)$", re.MULTILINE)


def make(clone: Path, into: Path) -> None:
    """Makes the crate: the stand-in, and their tests and settings where they lie."""
    theirs = tomllib.loads((clone / "Cargo.toml").read_text())
    wanted = {**theirs["dependencies"], **theirs["dev-dependencies"]}
    lines = ["[package]", 'name = "pulsora"', 'version = "0.0.0"', 'edition = "2021"', "[workspace]", "[dependencies]"]
    for name in DEPENDENCIES:
        given = wanted[name] if isinstance(wanted[name], dict) else {"version": wanted[name]}
        said = [f"{key} = {json.dumps(value)}" for key, value in given.items()]
        lines.append(f"{name} = {{ {', '.join(said)} }}")
    lines.append('ureq = { version = "3", default-features = false }')
    (into / "Cargo.toml").write_text("\n".join(lines) + "\n")
    (into / "src").mkdir()
    (into / "tests").mkdir()
    for file in STANDIN.glob("*.rs"):
        (into / "src" / file.name).symlink_to(file)
    (into / "src" / "config.rs").symlink_to(clone / "src" / "config.rs")
    for file in (clone / "tests").glob("*.rs"):
        if file.name not in LEFT_OUT:
            (into / "tests" / file.name).symlink_to(file)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clone", required=True, help=f"a clone of {KNOWN.repository} at {KNOWN.commit[:7]}")
    parser.add_argument("--command", required=True, type=Path, help="the command `timestrata`")
    parser.add_argument("--target", help="where to build, and to find what was built before")
    arguments = parser.parse_args()
    try:
        clone = KNOWN.named({KNOWN.variable: arguments.clone})
    except UnusableError as error:
        parser.error(str(error))
    assert clone is not None
    with tempfile.TemporaryDirectory(prefix="timestrata-pulsora-") as folder:
        crate = Path(folder, "crate")
        crate.mkdir()
        make(clone, crate)
        target = Path(arguments.target or Path(folder, "target")).absolute()
        done = subprocess.run(
            ["cargo", "test", "--no-fail-fast", "--test", "*", "--", "--test-threads", "2"],
            cwd=crate,
            env={**os.environ, "TIMESTRATA_COMMAND": str(arguments.command.absolute()), "CARGO_TARGET_DIR": str(target)},
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
    ended = dict(ENDED.findall(done.stdout))
    failed = {name for name, how in ended.items() if how == "FAILED"}
    if failed != REFUSED:
        print(done.stdout, file=sys.stderr)
    print(json.dumps({"kind": "pulsora", "tests": len(ended), "failed": sorted(failed)}))
    return 0 if failed == REFUSED else 1


if __name__ == "__main__":
    sys.exit(main())

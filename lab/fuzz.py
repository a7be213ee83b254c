"""Fuzzing: each target of `fuzz/` in turn, with what it has learnt before.

    python -m lab.fuzz --build            builds the targets, with counters at each edge of the code
    python -m lab.fuzz --seconds 60       runs all of them, in turn
    python -m lab.fuzz --only NAME --input FILE      one input again

The targets are built by the stable compiler: the counters are a pass of LLVM's, and libFuzzer comes with its
crate. What a target has learnt is kept in the cache folder, and what made it fail too.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path

from lab import part

ROOT = Path(__file__).resolve().parent.parent
TARGET = Path(os.environ["CARGO_TARGET_DIR"]) / "fuzz"
COVERAGE = (
    "--cfg fuzzing -C passes=sancov-module -C llvm-args=-sanitizer-coverage-level=4 "
    "-C llvm-args=-sanitizer-coverage-inline-8bit-counters -C llvm-args=-sanitizer-coverage-pc-table "
    "-C llvm-args=-sanitizer-coverage-trace-compares"
)
# One input may take so long, and so much memory.
INPUT_SECONDS_MAX = 20
MEMORY_MIB_MAX = 2048


def targets() -> list[str]:
    return sorted(path.stem for path in (ROOT / "fuzz" / "fuzz_targets").glob("*.rs"))


def build() -> int:
    # With flags named by the caller the linker's would be lost: they are in the same variable.
    flags = f"{os.environ.get('RUSTFLAGS', '')} {COVERAGE} -C debug-assertions -C overflow-checks"
    environment = {**os.environ, "RUSTFLAGS": flags, "CARGO_TARGET_DIR": str(TARGET)}
    # Named, so that what is built for this machine itself (build scripts, macros) goes without.
    host = re.search(r"^host: (\S+)$", subprocess.check_output(["rustc", "-vV"], text=True), re.MULTILINE)
    assert host, "rustc doesn't say which machine it builds for"
    manifest = str(ROOT / "fuzz" / "Cargo.toml")
    command = ["cargo", "build", "--locked", "--release", "--manifest-path", manifest, "--target", host[1]]
    return subprocess.run(command, env=environment).returncode


def binary(target: str) -> Path:
    (path, *_) = [*TARGET.glob(f"*/release/{target}"), TARGET / target]
    return path


def fuzz(target: str, seed: int, seconds: int) -> dict[str, int]:
    """One target's turn; raises if an input made it fail."""
    learnt, failed = TARGET / "learnt" / target, TARGET / "failed" / target
    learnt.mkdir(parents=True, exist_ok=True)
    failed.mkdir(parents=True, exist_ok=True)
    options = {
        "seed": seed % 2**31 or 1,
        "max_total_time": seconds,
        "timeout": INPUT_SECONDS_MAX,
        "rss_limit_mb": MEMORY_MIB_MAX,
        "artifact_prefix": f"{failed}/",
        "print_final_stats": 1,
        "verbosity": 0,
    }
    command = [str(binary(target)), str(learnt), *(f"-{name}={value}" for name, value in options.items())]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    executed = re.search(r"stat::number_of_executed_units:\s*(\d+)", done.stderr)
    if done.returncode or not executed:
        (*_, newest) = [Path("(none was kept)"), *sorted(failed.iterdir(), key=lambda path: path.stat().st_mtime)]
        again = f"python -m lab.fuzz --only {target} --input {newest}"
        raise AssertionError(f"{target} failed; the input again: {again}\n{done.stderr[-4000:]}")
    return {f"inputs_{target}": int(executed[1]), "inputs": int(executed[1])}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", action="store_true")
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "big"))
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--only", default="", help="this target alone")
    parser.add_argument("--input", type=Path, help="run this input of the target, once")
    asked = parser.parse_args()
    if asked.build:
        return build()
    if asked.input:
        return subprocess.run([str(binary(asked.only)), str(asked.input)]).returncode
    chosen = [name for name in targets() if not asked.only or name == asked.only]
    if not all(binary(name).exists() for name in chosen):
        print("fuzz: left out: the targets aren't built (python -m lab.fuzz --build)", file=sys.stderr)
        print(json.dumps({"kind": "fuzz", "seed": asked.seed, "inputs": 0, "found": 0}))
        return 0
    each = max(1, int(asked.seconds / len(chosen)))
    turns = argparse.Namespace(seed=asked.seed, seconds=1e9, rounds=len(chosen), round=None)
    left = iter(chosen)
    return part.run("fuzz", "lab.fuzz", turns, lambda _: fuzz(next(left), asked.seed, each))


if __name__ == "__main__":
    sys.exit(main())

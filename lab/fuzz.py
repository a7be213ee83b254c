"""Fuzzing: each target of `fuzz/` in turn, with what it has learnt before.

    python -m lab.fuzz --build            builds the targets, with counters at each edge of the code
    python -m lab.fuzz --seconds 60       runs all of them, in turn
    python -m lab.fuzz --only NAME --input FILE      one input again

The targets are built by the stable compiler: the counters are a pass of LLVM's, and libFuzzer comes with its
crate. What a target has learnt is kept in the cache folder, and what made it fail too. Nothing here needs the
package: in a clean clone that isn't there yet when the targets are built.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path

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


def fuzz(target: str, seed: int, seconds: int) -> tuple[int, str]:
    """One target's turn: inputs that it was given, and what to say if one of them made it fail."""
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
    inputs = int(executed[1]) if executed else 0
    if done.returncode == 0 and executed:
        return inputs, ""
    (*_, newest) = [Path("(none was kept)"), *sorted(failed.iterdir(), key=lambda path: path.stat().st_mtime)]
    again = f"python -m lab.fuzz --only {target} --input {newest}"
    return inputs, f"fuzz: FAILED: {again}\n{done.stderr[-4000:]}"


def run(chosen: list[str], seed: int, seconds: int) -> int:
    """Each target in turn, whatever became of those before."""
    totals = {"rounds": 0, "found": 0, "inputs": 0}
    for target in chosen:
        inputs, failure = fuzz(target, seed, seconds)
        totals["rounds"] += 1
        totals["inputs"] += inputs
        totals[f"inputs_{target}"] = inputs
        if failure:
            totals["found"] += 1
            print(failure, file=sys.stderr, flush=True)
    print(json.dumps({"kind": "fuzz", "seed": seed, **totals}), flush=True)
    return int(totals["found"] > 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", action="store_true")
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "big"))
    parser.add_argument("--seconds", type=float, default=120.0, help="of all targets together")
    parser.add_argument("--only", choices=targets(), help="this target alone")
    parser.add_argument("--input", type=Path, help="run this input of the target, once")
    asked = parser.parse_args()
    if asked.build:
        return build()
    if asked.input:
        if not asked.only:
            parser.error("--input needs --only TARGET: which one it is for")
        return subprocess.run([str(binary(asked.only)), str(asked.input)]).returncode
    chosen = [asked.only] if asked.only else targets()
    if not all(binary(name).exists() for name in chosen):
        print("fuzz: left out: the targets aren't built (python -m lab.fuzz --build)", file=sys.stderr)
        print(json.dumps({"kind": "fuzz", "seed": asked.seed, "inputs": 0, "found": 0}))
        return 0
    return run(chosen, asked.seed, max(1, int(asked.seconds / len(chosen))))


if __name__ == "__main__":
    sys.exit(main())

"""The concurrent parts of Rust under ThreadSanitizer: a data race that happens is told of, whatever came of it.

    python -m lab.threads                the tests of engine and models that use threads
    python -m lab.threads --test scrub   only this file of tests

The standard library is built with it too, so that nothing is told that isn't one: this needs a nightly toolchain
with its sources (`rustup toolchain install nightly --component rust-src`). Where there is none, it says so and
tries nothing. What C code does (zstd) isn't seen.
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
# Crates asked for together, so that what they share is built once, and their tests with threads of their own, or
# of the store's.
CRATES = tuple(
    f"timestrata-{name}"
    for name in ("io", "engine", "timelog", "table", "logs", "topic", "graph")
)
TESTS = (
    *("disk_contract", "commits_beside_flush", "altering", "full_disk", "hurried_appends", "keeping"),
    *("many_streams", "reading_beside", "recovery", "scrub", "small_disk"),
    *("graph", "logs", "table_columns", "table_files", "table_ingest", "table_rows"),
    *("timelog_promises", "topic_consumers", "topic_records", "topic_syncs"),
)
# Tests within the crates that use threads, by their paths.
UNITS = ("wal::tests::concurrent", "graph::adjacency::tests::readers")
RACE = "WARNING: ThreadSanitizer"
PASSED = re.compile(r"^test result: \w+\. (\d+) passed; (\d+) failed", re.MULTILINE)


def ask(*words: str) -> str:
    """What the nightly toolchain says, or nothing if there is none."""
    try:
        return subprocess.run(["rustc", "+nightly", *words], capture_output=True, text=True).stdout.strip()
    except OSError:
        return ""


def host_with_sources() -> str | None:
    """The machine's target, if its standard library can be built."""
    sources = Path(ask("--print", "sysroot")) / "lib/rustlib/src/rust/library/Cargo.toml"
    host = re.search(r"^host: (\S+)$", ask("-vV"), re.MULTILINE)
    return host.group(1) if host and sources.is_file() else None


def run(host: str, tests: list[str], units: list[str]) -> dict[str, int]:
    of_files = [word for test in tests for word in ("--test", test)]
    totals = {"tests": 0, "found": 0}
    for chosen, least in ((of_files, len(tests)), (["--lib", "--", *units], len(units))):
        counts = run_once(host, chosen, least) if least else {}
        totals = {what: totals[what] + counts.get(what, 0) for what in totals}
    return totals


def run_once(host: str, chosen: list[str], least: int) -> dict[str, int]:
    """One call of cargo, in which at least so many files of tests, or tests, have to run."""
    command = ["cargo", "+nightly", "test", "--locked", "-Zbuild-std", "--target", host, "--no-fail-fast"]
    command += [word for crate in CRATES for word in ("-p", crate)]
    command += chosen
    # A folder of its own: these flags would have everything built again that others use.
    target = str(Path(os.environ["CARGO_TARGET_DIR"]) / "threads")
    # Told of when it happens, and the test goes on: one run tells all.
    options = "halt_on_error=0 second_deadlock_stack=1 " + os.environ.get("TSAN_OPTIONS", "")
    environment = {"RUSTFLAGS": "-Zsanitizer=thread", "CARGO_TARGET_DIR": target, "TSAN_OPTIONS": options}
    environment["CARGO_INCREMENTAL"] = "0"
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    counts = [(int(passed), int(failed)) for passed, failed in PASSED.findall(done.stdout)]
    races, failed = done.stdout.count(RACE), sum(failed for _, failed in counts)
    tests = sum(passed for passed, _ in counts)
    # Not built, ended in the middle, or not found by their names: that is a failure too.
    is_short = min(len(counts), tests) < least
    if races or failed or done.returncode or is_short:
        print(done.stdout)
        print(f"FAILED: python -m lab.threads, with {' '.join(chosen)}", file=sys.stderr)
    return {"tests": tests, "found": races + failed or int(done.returncode != 0 or is_short)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--test", action="append", help="a file of tests; may be given again")
    asked = parser.parse_args().test
    if asked and not set(TESTS).issuperset(asked):
        parser.error(f"the files of tests are {', '.join(TESTS)}")
    host = host_with_sources()
    if host is None:
        print("threads: left out: rustup toolchain install nightly --component rust-src", file=sys.stderr)
        print(json.dumps({"kind": "threads", "tests": 0, "found": 0}))
        return 0
    totals = run(host, asked or list(TESTS), [] if asked else list(UNITS))
    print(json.dumps({"kind": "threads", **totals}))
    return int(totals["found"] > 0)


if __name__ == "__main__":
    sys.exit(main())

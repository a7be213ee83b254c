"""The concurrent parts of Rust under ThreadSanitizer: a data race that happens is told of, whatever came of it.

    python -m lab.threads                the tests of engine and models that use threads
    python -m lab.threads --test engine  only this program of tests

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
# The programs of tests that use threads of their own, or of the store's, and which modules of them do; none: all do.
TESTS = {
    "io": ("disk_contract",),
    "engine": (
        *("altering", "commits_beside_flush", "full_disk", "hurried_appends", "keeping", "many_streams"),
        *("reading_beside", "recovery", "scrub"),
    ),
    "timelog": ("promises",),
    "table": ("columns", "files", "ingest", "rows"),
    "logs": (),
    "topic": ("consumers", "records", "syncs"),
    "graph": (),
}
# Asked for together, so that what they share is built once.
CRATES = tuple(f"timestrata-{name}" for name in TESTS)
# Tests within the crates that use threads, by their paths.
UNITS = ("wal::tests::concurrent", "adjacency::tests::readers")
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


def run(host: str, programs: list[str], units: tuple[str, ...]) -> dict[str, int]:
    calls = [(["--lib", "--", *units], len(units))] if units else []
    for program in programs:
        modules = [f"{module}::" for module in TESTS[program]]
        calls.append((["--test", program, "--", *modules], max(len(modules), 1)))
    totals = {"tests": 0, "found": 0}
    for chosen, least in calls:
        counts = run_once(host, chosen, least)
        totals = {what: totals[what] + counts[what] for what in totals}
    return totals


def run_once(host: str, chosen: list[str], least: int) -> dict[str, int]:
    """One call of cargo, in which at least so many tests have to run."""
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
    is_short = tests < least
    if races or failed or done.returncode or is_short:
        print(done.stdout)
        print(f"FAILED: python -m lab.threads, with {' '.join(chosen)}", file=sys.stderr)
    return {"tests": tests, "found": races + failed or int(done.returncode != 0 or is_short)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--test", action="append", help="a program of tests; may be given again")
    asked = parser.parse_args().test
    if asked and not set(TESTS).issuperset(asked):
        parser.error(f"the programs of tests are {', '.join(TESTS)}")
    host = host_with_sources()
    if host is None:
        print("threads: left out: rustup toolchain install nightly --component rust-src", file=sys.stderr)
        print(json.dumps({"kind": "threads", "tests": 0, "found": 0}))
        return 0
    totals = run(host, asked or list(TESTS), () if asked else UNITS)
    print(json.dumps({"kind": "threads", **totals}))
    return int(totals["found"] > 0)


if __name__ == "__main__":
    sys.exit(main())

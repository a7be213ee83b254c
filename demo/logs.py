"""Real logs of the machine that this runs on, where there are any, and the log of building this very
program: taken in by the command, searched and counted, and held against what plain Python counts in the same
files; and what Python's own logging says, while somebody follows it."""

from __future__ import annotations

import logging
import re
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import timestrata
import timestrata.logging

Tell = Callable[[str, str], None]
Verify = Callable[[bool, str], None]

# What Debian's tools write; elsewhere there is nothing of it.
SYSTEM_LOGS = (Path("/var/log/dpkg.log"), Path("/var/log/apt/term.log"))
WORDS = ("installed", "upgrade", "libc", "Compiling", "Finished", "nowhere")


def show_logs(command: Path | None, build_log: Path | None, tell: Tell, verify: Verify) -> None:
    with tempfile.TemporaryDirectory(prefix="timestrata-demo-") as name:
        store = Path(name) / "store"
        files = [path for path in (*SYSTEM_LOGS, build_log) if is_readable(path)]
        if command is None or not files:
            why = "the command (--command)" if files else "a log to read on this machine"
            tell("logs", f"searching files is left out: it takes {why}")
        else:
            show_files(command.resolve(), store, [path for path in files if path], tell, verify)
        show_a_handler(store, tell, verify)


def is_readable(path: Path | None) -> bool:
    try:
        return path is not None and path.is_file() and bool(path.read_bytes().strip())
    except OSError:
        return False


def show_files(
    command: Path, store: Path, files: list[Path], tell: Tell, verify: Verify
) -> None:
    for path in files:
        name = path.name.removesuffix(".log")
        # Carriage returns stand where a progress bar was drawn anew.
        lines = [line for line in path.read_bytes().split(b"\n") if line.strip(b"\r")]
        began = time.perf_counter()
        ingest = [command, "ingest", store, name, path, "--as", "logs", "--label", f"file={name}"]
        told = subprocess.run(ingest, capture_output=True, text=True, check=True).stderr
        took = time.perf_counter() - began
        guess = next((line for line in told.splitlines() if " of " in line), "")
        reading = guess.split(": ", 1)[-1]
        tell("logs", f"{path}: {len(lines):,} lines in {took:.2f} s; {reading}")
        text = [line.decode(errors="replace").lower() for line in lines]
        hits = []
        with timestrata.open(store, mode="r") as reader:
            log = reader.logs(name, create=False)
            verify(len(log) == len(lines), f"{path}: {len(log)} entries of {len(lines)} lines")
            for word in WORDS:
                expected = sum(1 for line in text if has_word(line, word))
                found = log.count(f"message:{word}")
                verify(found == expected, f"{path}: {found} lines with {word!r}, not {expected}")
                hits.append(f"{word} {found:,}")
        tell("search", ", ".join(hits))
    show_newest(command, store, files[0], tell, verify)


def has_word(line: str, word: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(word.lower())}(?!\w)", line) is not None


def show_newest(command: Path, store: Path, path: Path, tell: Tell, verify: Verify) -> None:
    name = path.name.removesuffix(".log")
    search = [command, "logs", "search", store, name, "--reverse", "--limit", "1"]
    printed = subprocess.run(search, capture_output=True, text=True, check=True).stdout
    last = [line for line in path.read_text(errors="replace").splitlines() if line.strip()][-1]
    tell("newest", printed.strip()[:150])
    verify(last.split()[-1] in printed, f"{path}: the last line is not the newest entry")


def show_a_handler(store: Path, tell: Tell, verify: Verify) -> None:
    with timestrata.open(store) as opened:
        log = opened.logs("demo")
        tail = log.tail()
        logger = logging.getLogger("timestrata.demo")
        logger.propagate = False
        logger.setLevel(logging.INFO)
        with_store = timestrata.logging.Handler(log, capacity=20_000)
        logger.addHandler(with_store)
        began = time.perf_counter()
        for number in range(10_000):
            logger.info("step %d is done", number, extra={"number": number})
        logger.error("one step failed")
        said = time.perf_counter() - began
        with_store.close()
        logger.removeHandler(with_store)
        verify(with_store.dropped == 0, f"{with_store.dropped} records were dropped")
        verify(log.count() == 10_001, f"the log has {log.count():,} entries of 10,001")
        followed = [next(tail).message for _ in range(10_001)]
        verify(followed[-1] == "one step failed", "the newest record is not what the tail gave last")
        worst = [entry.message for entry in log.search("level>=error")]
        verify(worst == ["one step failed"], f"the errors found are {worst}")
        number = log.count("number>=9000")
        verify(number == 1_000, f"{number} steps from 9,000 on")
        tell("handler", f"10,001 records of Python's logging in {said:.2f} s, each followed by a tail")

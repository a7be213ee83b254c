"""What logs are held against, each as its own documents tell to use it."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
from collections.abc import Sequence
from pathlib import Path

import duckdb

from bench.python.common.files import fresh

# DuckDB's.
THREADS = 2
# Whole lines: they are cut at a character that none of them has.
DUCK_LINES = """
    read_csv(?, columns = {'line': 'VARCHAR'}, delim = chr(1), quote = '', escape = '',
        header = false, auto_detect = false)
"""
# Words as ours: with underscores, and each accent a letter of its own.
FTS5_LINES = (
    "CREATE VIRTUAL TABLE lines USING "
    "fts5(line, tokenize = \"unicode61 remove_diacritics 0 tokenchars '_'\")"
)
# Bytes are letters: what both do is faster so.
IN_C = {**os.environ, "LC_ALL": "C"}


def output(command: Sequence[str | Path]) -> str:
    """What a program prints; one that fails is an error."""
    done = subprocess.run(command, capture_output=True, text=True, env=IN_C)
    # Both programs say so where they found nothing.
    if done.returncode not in (0, 1) or done.stderr:
        raise RuntimeError(f"{command[0]}: {done.stderr}")
    return done.stdout


def ripgrep(path: Path, *arguments: str) -> int:
    """How many lines of a text match."""
    return int(output(["rg", "--no-config", "-a", "-c", "--include-zero", *arguments, path]))


def grep(path: Path, *arguments: str) -> int:
    return int(output(["grep", "-a", "-c", *arguments, path]))


def ingest(command: Path, store: Path, text: Path, *options: str) -> int:
    """Lines that our command took into the log `app` of a new store."""
    words = [command, "ingest", fresh(store), "app", text, "--as", "logs", *options]
    done = subprocess.run(words, capture_output=True, text=True)
    told = re.search(r"^ingested ([\d,]+) entries", done.stderr, re.MULTILINE)
    if done.returncode or told is None:
        raise RuntimeError(done.stderr)
    return int(told[1].replace(",", ""))


def duck(path: Path) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(path)
    connection.execute(f"SET threads = {THREADS}; SET TimeZone = 'UTC'")
    return connection


def duck_of(path: Path, text: Path) -> duckdb.DuckDBPyConnection:
    """DuckDB with a table of the lines, in its file."""
    connection = duck(fresh(path))
    connection.execute(f"CREATE TABLE lines AS SELECT * FROM {DUCK_LINES}", [str(text)])
    connection.execute("CHECKPOINT")
    return connection


def counted(connection: duckdb.DuckDBPyConnection | sqlite3.Connection, where: str) -> int:
    """How many lines are as a condition says."""
    row = connection.execute(f"SELECT count(*) FROM lines WHERE {where}").fetchone()
    return int(row[0]) if row else 0


def fts5_of(path: Path, text: Path) -> sqlite3.Connection:
    """SQLite with an index of the lines, merged into one."""
    fresh(path)
    connection = sqlite3.connect(path)
    connection.executescript(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -262144;"
    )
    connection.execute(FTS5_LINES)
    with text.open(encoding="utf-8", newline="\n") as lines:
        rows = ((line.removesuffix("\n"),) for line in lines)
        connection.executemany("INSERT INTO lines VALUES (?)", rows)
    connection.execute("INSERT INTO lines(lines) VALUES ('optimize')")
    connection.commit()
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return connection

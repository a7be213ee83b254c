"""Access logs taken apart into what can be asked by field, durable at the end."""

from __future__ import annotations

from pathlib import Path

from bench.python.common.files import fresh
from bench.python.common.race import OURS, race
from bench.python.logs import sides
from bench.python.logs.bench import Bench

LINES, ROUNDS = 2_000_000, 3
TIME = "%d/%b/%Y:%H:%M:%S %z"
# A log as a file of columns with blanks between them, the way that DuckDB's users read one. The lines
# that it refuses are those with a quote that has no end, and the ones behind them; it tells which.
BY_BLANKS = f"""
    CREATE TABLE access AS
    SELECT client, ident, "user", strptime(day || ' ' || zone, '[{TIME}]') AS time,
        request, status, size, referrer, agent
    FROM read_csv(?, delim = ' ', quote = '"', escape = '\\', header = false, auto_detect = false,
        nullstr = '-', store_rejects = true, columns = {{
            'client': 'VARCHAR', 'ident': 'VARCHAR', 'user': 'VARCHAR', 'day': 'VARCHAR',
            'zone': 'VARCHAR', 'request': 'VARCHAR', 'status': 'INTEGER', 'size': 'BIGINT',
            'referrer': 'VARCHAR', 'agent': 'VARCHAR'}})
"""
REFUSED = """
    SELECT coalesce(sum(1 + length(csv_line) - length(replace(csv_line, chr(10), ''))), 0)
    FROM (SELECT DISTINCT line_byte_position, csv_line FROM reject_errors)
"""
# Every line, and of those that are flawed what there is.
QUOTED = r'"((?:[^"\\]|\\.)*)'
LINE = rf'^(\S+) (\S+) (\S+) \[([^\]]+)\] {QUOTED}" (\d+) (\S+) {QUOTED}" {QUOTED}'
BY_REGEX = f"""
    CREATE TABLE access AS
    SELECT part.client, part.ident, part."user", strptime(part.time, '{TIME}') AS time, part.request,
        part.status::INTEGER AS status, try_cast(part.size AS BIGINT) AS size, part.referrer, part.agent
    FROM (SELECT regexp_extract(line, '{LINE}', ['client', 'ident', 'user', 'time', 'request',
            'status', 'size', 'referrer', 'agent']) AS part
        FROM {sides.DUCK_LINES})
"""


def duck(path: Path, text: Path, query: str, refused: str | None = None) -> int:
    """Lines in a table of DuckDB, with those that it refused."""
    connection = sides.duck(fresh(path))
    connection.execute(query, [str(text)])
    connection.execute("CHECKPOINT")
    counts = ["SELECT count(*) FROM access", *([refused] if refused else [])]
    lines = sum(int(connection.execute(count).fetchall()[0][0]) for count in counts)
    connection.close()
    return lines


def ingest(bench: Bench) -> None:
    text = bench.access_lines(LINES)
    other = bench.dir / "ingest.duckdb"
    works = {
        # As a user does it: the start of the process is in the figure.
        OURS: lambda: sides.ingest(bench.command, bench.dir / "ingest.store", text.path),
        "ripgrep counting the lines": lambda: sides.ripgrep(text.path, ""),
        "DuckDB, read_csv by blanks": lambda: duck(other, text.path, BY_BLANKS, REFUSED),
        "DuckDB, regexp_extract": lambda: duck(other, text.path, BY_REGEX),
    }
    aims = {side: 0.5 if side.startswith("ripgrep") else 1.0 for side in works}
    note = f"{text}; a new store or file, durable at the end; DuckDB with {sides.THREADS} threads"
    race(bench, "access log", text.lines, works, aims, unit="lines/s", rounds=ROUNDS, note=note)

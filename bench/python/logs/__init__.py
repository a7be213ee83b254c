"""Logs beside ripgrep, grep, DuckDB and SQLite's FTS5: `python -m bench.python.logs --help`.

The model's own figures, without other programs, are those of `timestrata-bench logs`.
"""

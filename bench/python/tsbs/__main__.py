"""`python -m bench.python.tsbs [OPTIONS]`: runs the suite and writes its report."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial

from bench.python.common.arguments import parser_of
from bench.python.common.run import play
from bench.python.tsbs import hits, hosts, series
from bench.python.tsbs.bench import Bench
from bench.python.tsbs.data import Files
from bench.python.tsbs.sides import THREADS

GROUPS: dict[str, Callable[[Bench], None]] = {
    "400 hosts": hosts.day_of_400,
    "4,000 hosts": hosts.hours_of_4000,
    "just ingested": hosts.just_ingested,
    "size": hosts.size,
    "one series of 100,000": series.one_series,
    "hits": hits.hits,
}


def hold_to_processors() -> None:
    """As many processors as DuckDB has threads: ours and polars have no setting for it, and look how many there are."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:THREADS])


def main() -> int:
    asked = parser_of("tsbs", __doc__).parse_args()
    hold_to_processors()
    bench = Bench(files=Files(asked.dir / "files"), dir=asked.dir, quick=asked.quick)
    groups = [(name, partial(group, bench)) for name, group in GROUPS.items()]
    return play(bench, "tsbs", groups, asked.only, asked.out)


if __name__ == "__main__":
    sys.exit(main())

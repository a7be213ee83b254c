"""`python -m bench.python.table.child CSV STORE`: loads a file, prints the peak memory as JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import timestrata


def peak_bytes() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) << 10
    raise OSError("/proc/self/status has no VmHWM")


def main() -> None:
    csv, path = sys.argv[1:]
    with timestrata.open(path) as store:
        store.table("trades", time="timestamp").ingest(csv)
        store.sync()
    print(json.dumps({"peak_bytes": peak_bytes()}))


if __name__ == "__main__":
    main()

"""The peer's own demo in a process of its own: a scenario for each line of stdin, what it took on stdout.

`python -m bench.python.timelog.demo_child MODULE FOLDER DATA`, where MODULE is what the demo finds as `timelog`.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import json
import sys
import time
from typing import Any

# Scenarios that only read are repeated for so long, so often at most.
REPEAT_S, REPEATS_MAX = 0.1, 200


class Demo:
    """The demo's module, and its runner with the rows loaded."""

    def __init__(self, module: str, folder: str, data: str) -> None:
        # Before the demo looks beside itself for the sources of one that is not built.
        found = importlib.import_module(module)
        if module != "timelog":
            found.install_as_timelog()
        sys.path.insert(0, folder)
        self.demo: Any = importlib.import_module("timelog_demo")
        self.demo.CSV_MODE = "trusted"
        self.runner: Any = self.demo.DemoRunner(
            data, csv_mode="trusted", preload_csv=True, track_memory=False, track_gc=False
        )
        for path in (data, self.demo.paired_dataset_path(data)):
            self.demo.preload_csv(path)
        self.runner.log = self.demo.Timelog.for_streaming(time_unit="ns")
        self.runner.ensure_data_loaded()

    def run(self, code: str) -> dict[str, Any]:
        """What one run of a scenario took, of the processor and by the clock."""
        function = self.demo.FEATURES[code]["func"]
        is_repeated = code[0] in self.demo.REPEATABLE_CATEGORIES
        gc.collect()
        runs, result = 0, {}
        wall, cpu = time.perf_counter(), time.process_time()
        while True:
            result = function(self.runner)
            runs += 1
            spent = time.perf_counter() - wall
            if not is_repeated or spent >= REPEAT_S or runs >= REPEATS_MAX:
                break
        cpu = time.process_time() - cpu
        error = result.get("error") if isinstance(result, dict) else None
        return {"cpu": cpu / runs, "wall": spent / runs, "error": error}


def main() -> None:
    told = sys.stdout
    # What it prints for people.
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        demo = Demo(*sys.argv[1:4])
        print(json.dumps(sorted(demo.demo.FEATURES)), file=told, flush=True)
        for line in sys.stdin:
            try:
                result = demo.run(line.strip())
            except Exception as error:
                result = {"cpu": 0.0, "wall": 0.0, "error": repr(error)}
            shown.seek(0)
            shown.truncate()
            print(json.dumps(result), file=told, flush=True)


if __name__ == "__main__":
    main()

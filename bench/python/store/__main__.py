"""`python -m bench.python.store [OPTIONS]`: runs the suite and writes its report."""

from __future__ import annotations

import sys

from bench.python.common.arguments import parser_of
from bench.python.common.run import Run, play
from bench.python.store import commits, join, once, past


def main() -> int:
    asked = parser_of("store", __doc__).parse_args()
    run = Run(dir=asked.dir, quick=asked.quick)
    groups = [
        ("commits over five models", lambda: commits.of_five(run)),
        ("exactly once", lambda: once.loop(run)),
        ("a moment", lambda: past.moment(run)),
        ("followers", lambda: past.followed(run)),
        ("a join of models", lambda: join.of_four_models(run)),
    ]
    return play(run, "store-python", groups, asked.only, asked.out)


if __name__ == "__main__":
    sys.exit(main())

"""Writes the pages that are made of the real thing, and builds the site:

python -m tools.documents references      writes docs/reference/{cli,python*,settings}.md
python -m tools.documents site FOLDER     builds the site, into FOLDER/site
"""

from __future__ import annotations

import sys
from pathlib import Path

from tools.documents import references, site


def main(arguments: list[str]) -> int:
    match arguments:
        case ["references"]:
            for path in references.write():
                print(path)
        case ["site", folder]:
            print(f"the site is in {site.build(Path(folder))}")
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

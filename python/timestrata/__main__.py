"""``python -m timestrata``: the version, and what is in a store."""

from __future__ import annotations

import argparse
import sys

import timestrata


def main(arguments: list[str] | None = None) -> int:
    """Print the version, or, given a store's directory, its streams."""
    parser = argparse.ArgumentParser(
        prog="python -m timestrata",
        description="Show the version, or the streams of a store.",
        epilog="For everything else there is the command 'timestrata' (see 'timestrata --help').",
    )
    parser.add_argument("directory", nargs="?", help="a store's directory")
    parser.add_argument("--version", action="version", version=timestrata.__version__)
    options = parser.parse_args(arguments)
    if options.directory is None:
        print(f"timestrata {timestrata.__version__}, store format {timestrata.FORMAT_VERSION}")
        print("The command 'timestrata' works with stores; see 'timestrata --help'.")
        return 0
    try:
        with timestrata.open(options.directory, mode="r") as store:
            for name, figures in store.stats()["streams"].items():
                rows = figures["run_rows"] + figures["memtable_rows"]
                print(f"{name}\t{rows} rows\t{figures['run_bytes']} bytes in runs")
    except timestrata.TimestrataError as error:
        print(f"timestrata: {error}", file=sys.stderr)
        if error.hint:
            print(f"hint: {error.hint}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

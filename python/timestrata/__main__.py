"""The command ``timestrata``, and ``python -m timestrata``: see ``timestrata --help``."""

from __future__ import annotations

import os
import signal
import sys

from timestrata._timestrata import _run_command


def main() -> int:
    """Run the command with this process's arguments; return its exit code."""
    _open_what_is_closed()
    _end_by_ctrl_c()
    return _run_command(["timestrata", *sys.argv[1:]])


def _open_what_is_closed() -> None:
    # Else the next file that is opened, which may be the store's, would take what is written to stdout.
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _end_by_ctrl_c() -> None:
    # Python's own handler only takes a note, for an interpreter that isn't running meanwhile. Where
    # whoever started this process has it ignore Ctrl-C, it does.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


if __name__ == "__main__":
    sys.exit(main())

"""Python's ``logging`` into a log of a store.

Import it by its name, as ``logging.handlers`` is: ``import timestrata.logging``.

Examples
--------
>>> import logging
>>> import timestrata
>>> import timestrata.logging
>>> store = timestrata.open()  # give a path to keep it
>>> logs = store.logs("app")
>>> logger = logging.getLogger("example.doors")
>>> logger.propagate = False
>>> logger.addHandler(timestrata.logging.Handler(logs, labels={"service": "doors"}))
>>> logger.warning("door %d is open", 7, extra={"floor": 3})
>>> logger.handlers[0].flush()
>>> [entry] = logs.search("open")
>>> entry.level, entry.message, entry.labels
('warn', 'door 7 is open', {'service': 'doors'})
>>> entry.fields["logger"], entry.fields["floor"]
('example.doors', 3)
>>> logger.handlers[0].close()
>>> store.close()
"""

from __future__ import annotations

from timestrata.logging.handler import Handler

__all__ = ["Handler"]

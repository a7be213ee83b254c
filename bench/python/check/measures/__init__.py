"""What is measured: a module a model, and one for what all of them stand on.

Each measure is a function that opens both sides and yields them; its class, and with it its threshold, stands above it.
What ours is held against does work of the same kind on the same amount, so that a machine that is slower today is so for both.
"""

from bench.python.check.measure import Measure
from bench.python.check.measures import graph, logs, store, table, timelog, topic

MEASURES: tuple[Measure, ...] = (
    *timelog.MEASURES,
    *table.MEASURES,
    *logs.MEASURES,
    *topic.MEASURES,
    *graph.MEASURES,
    *store.MEASURES,
)
NAMES = tuple(each.name for each in MEASURES)

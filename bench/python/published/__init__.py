"""The reports that the five systems have published, row by row: their figure, ours and, where it runs here, theirs.

`bench/published` has a file a report, with the id of each row, what it measures and the figure that was published. What
is measured goes to `bench/results/report.json`, and `docs/report` is made of both.
"""

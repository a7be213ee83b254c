"""The page of results: what the suites have measured, as `docs/benchmarks.md` and a picture of five figures.

Rows, what they are held against and their aims come from the results alone, into which the suites put them.
"""

"""Tables beside DuckDB, polars, SQLite and DataFusion: `make bench SUITE=table`.

`README.md` in the folder above says what is measured and how. `__main__` lists the groups, one
module each; `data` makes the rows, `sides` opens the others, `bench.python.common.race` lets them all do the same.
"""

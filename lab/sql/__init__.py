"""Answers of SQL, held against DuckDB's.

`world`: tables of generated and of real rows, in stores of all states, and the same rows in DuckDB.
`expression`, `query`: random SQL that means the same in both. `answers`: what both say of it.
`shrink`: the least query that still shows a difference.

A query's number and the seed are all that it depends on, with its world's number, which follows from them.
"""

"""Tables on the data and queries of the Time Series Benchmark Suite: `make bench SUITE=tsbs`.

`README.md` in the folder above says what is measured and how. `__main__` lists the groups; `data` makes the rows,
`queries` has the words of the 15 queries, `hits_data` and `hits_queries` those of ClickBench, `answers` says when two
answers are the same.
"""

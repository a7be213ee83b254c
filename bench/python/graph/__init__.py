"""Graphs from Python beside rustworkx, networkx, SQLite and kuzu: `python -m bench.python.graph --help`.

The core's own figures, without Python, are those of `timestrata-bench-graph`.
"""

"""Files of others as tables: what packages carry is loaded, and held against pandas' and DuckDB's readings."""

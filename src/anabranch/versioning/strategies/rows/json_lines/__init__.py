"""JSON lines: `table` loads a file into DuckDB, `merge` and `comparison` join lines by key."""

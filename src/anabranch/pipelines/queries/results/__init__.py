"""Results of queries as files: CSV, JSON lines, Arrow and Parquet."""

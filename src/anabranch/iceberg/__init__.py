"""The Iceberg REST catalog: tables of branches for Spark, Trino, DuckDB, pyiceberg and others."""

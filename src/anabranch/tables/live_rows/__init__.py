"""Rows of tables of many files: live files without their deleted rows, with today's columns.

What Delta Lake and Iceberg share: addresses, columns by id or name, deletion vectors, and the
relation in DuckDB.
"""

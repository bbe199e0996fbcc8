"""The strategy `rows`: tables in single files are merged row by row, by key.

`columns` decides which columns the merge has, `join` compares the rows in DuckDB, `csv_files` and
`parquet_files` read and write the files, `strategy` puts them together.
"""

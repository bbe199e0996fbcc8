"""The strategy `rows`: tables in single files are merged row by row, by key.

`formats` tells the format of a file; `csv_table`, `parquet_table` and `json_lines_table` load files
into DuckDB and write them, `tables` loads several and finds their `row_key`. `columns` decides
which columns the merge has, `join` compares the rows of tables with columns, `json_lines_merge`
those of JSON lines. `strategy` puts them together. `differences` compares two versions, with the
modules named `…_comparison`.
"""

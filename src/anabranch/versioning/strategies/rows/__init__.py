"""The strategy `rows`: tables in single files are merged row by row, by key.

`formats` tells the format of a file; `parquet_format`, `arrow_format`, `delimited` and
`read_format` open files as columns of Arrow, which DuckDB scans in carriers (`scanned_sides`);
`json_lines` loads lines into DuckDB (`loaded_sides`). `merging` decides about rows and cells, and
takes them from the files. `strategy` puts them together. `differences` compares two versions, by
`column_comparison` or `whole_rows`.
"""

"""Tables: formats, readers, and the metadata of tables of many files.

One promise: a value that is shown, compared or merged is that of the file. `carriage` says how
DuckDB holds the values of each Arrow type, `widening` which type holds those of two,
`row_taking` takes rows of every type, and `parquet` reads and writes Parquet exactly.
"""

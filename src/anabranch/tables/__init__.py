"""Tables in files: formats, readers, and the metadata of tables of many files.

    open_table   the table in a file: `formats` finds its format by content, then by name;
                 `table` is what all have, for previews, SQL, checks, differences and merges
    readers/     Arrow, ORC, Avro and JSON, each with the file's own schema; parquet/: Parquet
    text/        CSV and others: encoding, dialect, types of columns
    json_values  the JSON form of values; `sql_columns`: how DuckDB holds them
    carriage     how DuckDB compares values of each Arrow type; `widening`: which holds those of two
    row_taking   takes rows of every type
    delta/, iceberg/, live_rows/  tables that are folders

A value that is shown, compared or merged is the value in the file, or the result says that it is
not.
"""

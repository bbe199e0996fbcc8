"""Parquet files, read and written so that their values, types and form are kept.

`parquet_table` reads a file as Arrow does, INT96 included; `form` is how a file is written,
`writer` writes in the form of another, `schema_elements` keeps annotations that Arrow does not
know, and `footers` the metadata of other programs.
"""

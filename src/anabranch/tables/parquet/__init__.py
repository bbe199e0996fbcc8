"""Parquet files, read and written so that their values, types and form are kept.

`parquet_table` reads a file as Arrow does, and INT96 in the unit that holds it (`int96`); `form` is
how a file is written, `writer` writes in the form of another, `schema_elements` keeps annotations
that Arrow does not know, and `footers` the metadata of other programs.
"""

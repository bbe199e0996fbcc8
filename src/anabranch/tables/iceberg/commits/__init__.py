"""How the metadata of Iceberg tables and views change: the requests of an Iceberg REST catalog as
functions from metadata to metadata.

`new_table.py`, `requirements.py` and `updates.py` are for tables, `views.py` and `view_updates.py`
for views; `encoded_metadata.py` reads and writes the files. Nothing here knows stores, and nothing
that is given is changed: results share what they keep with it. Integers are exact, fields that are
not known are kept.

Source: the Iceberg table specification, the Iceberg view specification, and the schemas of
`rest-catalog-open-api.yaml`. Where they leave a choice, the choice is that of the Java library,
which all engines of the JVM expect.
"""

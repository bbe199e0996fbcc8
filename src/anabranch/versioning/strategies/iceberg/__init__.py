"""The strategy `iceberg`: merges the metadata of Iceberg tables.

The destination's snapshots stay as they are. One more is added, with the changes of the source.
"""

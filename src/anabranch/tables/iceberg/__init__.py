"""Iceberg: the metadata of a table, its schemas, snapshots, manifests and live files.

Source: the Iceberg table specification.
"""

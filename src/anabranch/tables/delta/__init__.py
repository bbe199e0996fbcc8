"""Delta Lake: the transaction log of a table, its schema and its live files.

Source: the Delta transaction log protocol.
"""

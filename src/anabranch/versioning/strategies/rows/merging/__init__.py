"""Merges of tables with columns: `pairs` are the rows that belong together, `cell_decisions` says
what becomes of each row and cell, `merged_rows` takes them from the files.
"""

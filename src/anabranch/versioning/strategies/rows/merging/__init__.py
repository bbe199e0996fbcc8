"""Merges of tables with columns: `pairs` are the rows that belong together, `cell_decisions` says
what becomes of each row and cell by `cell_rules`, `merged_rows` takes them from the files. Of rows
in conflict, `row_choices` are what a caller chooses, `chosen_rows` what that makes of them.
"""

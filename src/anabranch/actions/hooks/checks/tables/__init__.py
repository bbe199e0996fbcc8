"""The content of tables, read in the process of a check, in which `table_checks` is the hook.

Tables are read in batches of rows; only the columns that rules name are.
"""

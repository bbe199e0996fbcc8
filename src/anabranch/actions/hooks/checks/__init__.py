"""Checks: rules about changed files and tables that an action file declares, without code.

`check` is the hook; `file_rules`, `formats` and `commit_metadata` are what it looks at itself. The
content of tables is read in a process of its own, by `tables/`.
"""

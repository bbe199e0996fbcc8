"""Patterns of names and paths, each in the syntax of what it is compatible with: lakeFS's globs,
Go's `path.Match`, DuckDB's, git's, and the wildcards of policies. None is slow for any text.
"""

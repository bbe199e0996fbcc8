"""Actions: hooks that run when a repository changes, and their runs.

Files under `_lakefs_actions/` declare which hooks run on which events. `hooks/` holds the types of
hooks and knows nothing about how they are declared, scheduled or recorded.
"""

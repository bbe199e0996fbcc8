"""Faults that tests cause: killed processes, broken connections, lost power."""

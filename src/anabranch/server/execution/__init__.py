"""Execution: where the work of a request runs."""

"""Purges: the removal of the data of deleted repositories."""

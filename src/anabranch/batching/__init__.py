"""Calls that wait for the same resource, performed together."""

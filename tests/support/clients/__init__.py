"""Clients and requests for tests of the wire."""

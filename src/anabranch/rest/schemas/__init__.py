"""Schemas that several operations of the REST API share."""

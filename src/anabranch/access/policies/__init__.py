"""Policies: their documents, permissions and resources, and what they decide about a request."""

"""Servers and repositories with hooks, and webhooks that answer them."""

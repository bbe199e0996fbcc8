"""Notifications of a repository: its addresses, and how what has happened is sent to them."""

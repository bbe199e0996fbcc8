"""Notifications: the addresses of each repository, and the outbox of what is to be sent."""

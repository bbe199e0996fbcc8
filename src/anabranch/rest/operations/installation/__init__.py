"""The server itself: setup, configuration, health, counters of usage, audit log."""

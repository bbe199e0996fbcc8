"""The server: connections, the dispatcher of requests, settings, stores and processes."""

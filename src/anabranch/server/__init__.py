"""The server: settings, composition and the edge between ASGI and calls."""

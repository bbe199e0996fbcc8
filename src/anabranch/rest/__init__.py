"""The REST API: bytes to model and back, errors to status codes."""

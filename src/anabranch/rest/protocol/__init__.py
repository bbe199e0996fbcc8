"""Handling of every REST operation: declaration, decoding, permissions, responses, errors."""

"""Multipart uploads, and the checksums of uploaded objects."""

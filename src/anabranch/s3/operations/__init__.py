"""The S3 operations; each file holds handlers and their declarations."""

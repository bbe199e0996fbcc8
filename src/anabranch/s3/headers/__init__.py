"""Request and response headers of objects, shared by S3 operations."""

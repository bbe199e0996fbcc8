"""Use cases of objects: reading, writing, staging, multipart uploads."""

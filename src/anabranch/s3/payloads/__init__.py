"""Request bodies in every S3 encoding; `payload` yields the bytes of the object."""

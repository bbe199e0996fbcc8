"""Use cases of presigned URLs, both of the object store and of this server."""

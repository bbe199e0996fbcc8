"""The S3 protocol: a repository is a bucket, and `branch/path` is a key.

What proves who sends a request: `verifier` finds the signature, `signature_v4`, `presigned_v4` and
`signature_v2` check it. What a body must be: `payload` yields an object's bytes and raises where
they are not what the request said. `sign` is the other side of both.
"""

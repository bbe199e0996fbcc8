"""The S3 protocol: a repository is a bucket, and `branch/path` is a key.

`gateway` handles a request and `table` selects its operation. `signatures` verifies who sent the
request. `payloads` yields an object's bytes and raises if they differ from what the request
declares. `headers` reads and writes the headers of objects, `protocol` holds what every operation
uses, and `operations` holds the operations, one file per group.
"""

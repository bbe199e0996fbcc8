"""The S3 protocol: a repository is a bucket, and `branch/path` is a key.

`door` lets requests in and `table` finds what they ask for. `signatures` proves who sends a
request, and makes the signatures of requests of our own; `payloads` yields an object's bytes and
raises where they are not what the request said; `operations` holds what S3 can be asked for, one
file per group.
"""

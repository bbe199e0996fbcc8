"""The S3 protocol that all operations share: addressing, responses, CORS, XML, errors."""

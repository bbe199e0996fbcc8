"""Block store on S3 and S3-compatible object storage."""

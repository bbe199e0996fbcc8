"""Settings by which Spark reaches a server: S3A, and branches as catalogs of Iceberg tables."""

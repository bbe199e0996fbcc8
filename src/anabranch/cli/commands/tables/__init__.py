"""`table`: tables of the Iceberg catalog on branches, tags and commits."""

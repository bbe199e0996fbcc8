"""The operations of the Iceberg REST catalog, by what they are about."""

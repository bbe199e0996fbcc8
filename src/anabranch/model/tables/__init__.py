"""Tables of the Iceberg catalog: their records on branches, and the areas of their files."""

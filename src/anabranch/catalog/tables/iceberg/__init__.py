"""Tables, views and namespaces of the Iceberg REST catalog, as records on branches."""

"""Migration of a lakeFS database: a survey of its records, and a copy to another database."""

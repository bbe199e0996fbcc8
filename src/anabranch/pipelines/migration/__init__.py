"""Migration of a lakeFS database: a survey of what it holds, and a copy into another database."""

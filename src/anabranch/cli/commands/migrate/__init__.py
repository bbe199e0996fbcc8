"""`migrate`: prepares shared databases, and takes over those of lakeFS."""

"""Tables: formats, readers, and the metadata of tables of many files."""

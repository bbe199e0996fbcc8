"""DataFrames of objects, differences, prefixes and listings."""
